/**
 * Tool parts → calls. A part is updated many times (pending → running → completed or error) and is one call: its state is
 * kept by part id, and each fact becomes a draft once (RO-3).
 */
import { LIMITS } from '../../lib/limits.ts';
import type { CallRequestedDraft, Draft } from '../../model/draft.ts';
import type { CallStatus } from '../../model/words.ts';
import { changesOf, onlyAdds } from './files.ts';
import {
  codeOf,
  idOf,
  isNative,
  momentOf,
  type Native,
  nameOf,
  nativeOf,
  problem,
  Recent,
  textOf,
} from './native.ts';
import { mcpOf } from './tools.ts';

/** Who speaks: the root agent, or the sub-agent that a call started. */
export interface Speaker {
  root: boolean;
  /** Null for the root agent, and where a sub-agent's call is not known. */
  parent: string | null;
}

/** How a record came: as the CLI's line or a stored row, which are final, or from the bus, where more may follow. */
export interface Heard {
  speaker: Speaker;
  at_ms: number | undefined;
  live: boolean;
}

interface OpenCall {
  call_id: string;
  native_id: string;
  native_tool: string;
  requested: boolean;
  started: boolean;
  heard: Heard;
  input: unknown;
  /** What the running command had printed when it was last heard of. */
  output: string;
  /** Exit code that a `command.executed` of earlier versions told. */
  exit_code: number | null;
  /** Whether the session of its sub-agent is known. */
  adopted: boolean;
}

type Request = CallRequestedDraft;
type Names = Pick<Request, 'tool' | 'looked_up_as' | 'mcp'>;

interface Refusal {
  words: string;
  source: string;
}
const REFUSALS: readonly Refusal[] = [
  { words: 'The user rejected permission to use this specific tool call', source: 'user' },
  {
    words: 'The user has specified a rule which prevents you from using this specific tool call',
    source: 'rule',
  },
  { words: 'The user dismissed this question', source: 'user' },
];
/** A refusal with advice lets the run go on, as a rule does; the others end it. */
const ADVICE = 'with the following feedback';
const ABORTED = 'Tool execution aborted';
/** What the shell tool adds to the output of a command that it ended itself. */
const ENDED_BY_TOOL = /<(?:bash|shell)_metadata>\n([^<]*)<\/(?:bash|shell)_metadata>\s*$/;
const SHELLS: ReadonlySet<string> = new Set(['bash', 'shell']);
const PATCHES: ReadonlySet<string> = new Set(['apply_patch', 'patch']);
const METADATA_CHARS = 1_000;

interface Result {
  status: CallStatus;
  exit_code: number | null;
  output: string | null;
  refusal: Refusal | null;
}

export class Calls {
  /** By the part's id; the same calls by their own, and those that started a sub-agent of no known session. */
  readonly #open = new Map<string, OpenCall>();
  readonly #open_ids = new Map<string, OpenCall>();
  readonly #free_tasks = new Set<OpenCall>();
  /** Of each native id: how many calls are open, and the last number that one of them has. */
  readonly #uses = new Map<string, { open: number; last: number }>();
  readonly #done = new Recent(LIMITS.calls_remembered_max);
  /** Sub-agents' sessions → the call that started them. */
  readonly #parents = new Map<string, string>();
  /** Commands without an exit code → their call, for `command.executed`. */
  readonly #commands = new Map<string, string>();
  /** Paths that a call told of. */
  readonly told_paths = new Recent(LIMITS.artifacts_max);

  parentOf(session_id: string): string | null {
    return this.#parents.get(session_id) ?? null;
  }

  /** A sub-agent's session whose call did not name it: the only open task without a session is meant. */
  claim(session_id: string): void {
    if (this.#parents.has(session_id)) return;
    const [only] = this.#free_tasks;
    if (only !== undefined && this.#free_tasks.size === 1) this.#adopt(session_id, only);
  }

  #adopt(session_id: string, call: OpenCall): void {
    if (this.#parents.size >= LIMITS.open_calls_max) return;
    this.#parents.set(session_id, call.call_id);
    call.adopted = true;
    this.#free_tasks.delete(call);
  }

  /** Whether the part is a refusal that ends the run. */
  part(part: Native, heard: Heard, out: Draft[]): boolean {
    const native_tool = idOf(part.tool);
    const native_id = idOf(part.callID) ?? idOf(part.id);
    if (native_tool === null || native_id === null) {
      out.push(problem('bad_record', 'a tool part without tool or id'));
      return false;
    }
    const key = idOf(part.id) ?? native_id;
    if (this.#done.has(key)) return false;
    const state = nativeOf(part.state) ?? {};
    const call = this.#callOf(key, native_id, native_tool, heard);
    const input = state.input ?? null;
    if (call.input === null || !isEmpty(input)) call.input = input;
    const child = idOf(nativeOf(state.metadata)?.sessionId);
    if (native_tool === 'task' && child !== null) this.#adopt(child, call);
    switch (state.status) {
      case 'pending':
        // On the bus the input comes with the next state.
        if (!heard.live || !isEmpty(input)) request(call, heard.at_ms, out);
        return false;
      case 'running':
        this.#running(call, state, heard, out);
        return false;
      case 'completed':
      case 'error':
        return this.#finish(key, call, state, out);
      default:
        out.push(problem('unknown_record', `tool state ${nameOf(state.status)}`));
        request(call, heard.at_ms, out);
        return false;
    }
  }

  #callOf(key: string, native_id: string, native_tool: string, heard: Heard): OpenCall {
    const known = this.#open.get(key);
    if (known !== undefined) {
      // A tool that does not exist is renamed while its call is open.
      if (!known.requested) this.#name(known, native_tool);
      return known;
    }
    // Open calls of one id are kept apart as the correlator does with an id used again.
    const number = (this.#uses.get(native_id)?.last ?? 0) + 1;
    const call: OpenCall = {
      call_id: number === 1 ? native_id : `${native_id}#${number}`,
      native_id,
      native_tool,
      requested: false,
      started: false,
      heard,
      input: null,
      output: '',
      exit_code: null,
      adopted: false,
    };
    if (this.#open.size < LIMITS.open_calls_max) this.#keep(key, call, number);
    return call;
  }

  #keep(key: string, call: OpenCall, last: number): void {
    this.#open.set(key, call);
    this.#open_ids.set(call.call_id, call);
    const { open } = this.#uses.get(call.native_id) ?? { open: 0 };
    this.#uses.set(call.native_id, { open: open + 1, last });
    this.#name(call, call.native_tool);
  }

  #name(call: OpenCall, native_tool: string): void {
    call.native_tool = native_tool;
    if (native_tool === 'task' && !call.adopted) this.#free_tasks.add(call);
    else this.#free_tasks.delete(call);
  }

  #forget(key: string, call: OpenCall): void {
    if (!this.#open.delete(key)) return;
    if (this.#open_ids.get(call.call_id) === call) this.#open_ids.delete(call.call_id);
    this.#free_tasks.delete(call);
    const uses = this.#uses.get(call.native_id);
    if (uses === undefined || uses.open === 1) this.#uses.delete(call.native_id);
    else uses.open -= 1;
  }

  #running(call: OpenCall, state: Native, heard: Heard, out: Draft[]): void {
    request(call, momentOf(nativeOf(state.time)?.start) ?? heard.at_ms, out);
    this.#expectCode(call);
    const metadata = nativeOf(state.metadata);
    // The state is `running` while the permission is still asked for; only what the tool adds shows that it runs.
    if (metadata === null) return;
    this.#start(call, heard.at_ms, out);
    const output = textOf(metadata.output);
    if (output === null || output === call.output) return;
    const text = output.startsWith(call.output) ? output.slice(call.output.length) : output;
    call.output = output;
    const data = { call_id: call.call_id, text, elapsed_ms: null, stream: null };
    out.push({ kind: 'call_progress', at_ms: heard.at_ms, data });
  }

  #start(call: OpenCall, at_ms: number | undefined, out: Draft[]): void {
    if (call.started) return;
    call.started = true;
    out.push({ kind: 'call_started', at_ms, data: { call_id: call.call_id } });
  }

  #finish(key: string, call: OpenCall, state: Native, out: Draft[]): boolean {
    const time = nativeOf(state.time);
    const start_ms = momentOf(time?.start);
    const end_ms = momentOf(time?.end) ?? call.heard.at_ms;
    request(call, start_ms ?? call.heard.at_ms, out);
    const { status, exit_code, output, refusal } = resultOf(call, state);
    const { call_id } = call;
    if (refusal !== null) {
      const data = { call_id, decision: 'deny' as const, reason: output, source: refusal.source };
      out.push({ kind: 'call_decided', at_ms: end_ms, data });
    }
    const known = start_ms !== undefined && end_ms !== undefined;
    const duration_ms = known ? Math.max(0, end_ms - start_ms) : null;
    const end = { call_id, status, exit_code, output, duration_ms };
    out.push({ kind: 'call_finished', at_ms: end_ms, data: end });
    if (status === 'ok') this.#changes(call, nativeOf(state.metadata), end_ms, out);
    this.#forget(key, call);
    this.#done.add(key);
    if (exit_code === null) this.#expectCode(call);
    return refusal?.source === 'user' && !(output ?? '').includes(ADVICE);
  }

  #changes(call: OpenCall, metadata: Native | null, at_ms: number | undefined, out: Draft[]): void {
    for (const change of changesOf(call.native_tool, nativeOf(call.input), metadata)) {
      this.told_paths.add(change.path);
      const data = { ...change, call_id: call.call_id, source: 'tool' as const };
      out.push({ kind: 'file_changed', at_ms, data });
    }
  }

  #expectCode(call: OpenCall): void {
    const command = textOf(nativeOf(call.input)?.command);
    if (command === null || !call.heard.live || !SHELLS.has(call.native_tool)) return;
    if (this.#commands.size < LIMITS.open_calls_max) this.#commands.set(command, call.call_id);
  }

  /** `command.executed` of earlier versions repeats a shell call: it is no call, but it may tell the exit code. */
  executed(command: string, exit_code: number, out: Draft[]): void {
    const call_id = this.#commands.get(command);
    if (call_id === undefined) return;
    this.#commands.delete(command);
    const open = this.#open_ids.get(call_id);
    if (open !== undefined) open.exit_code = exit_code;
    else {
      const status = exit_code === 0 ? null : ('error' as const);
      out.push({ kind: 'call_updated', data: { call_id, status, exit_code } });
    }
  }

  /** Somebody has answered the question whether the call may run. */
  decide(call_id: string, allowed: boolean, at_ms: number | undefined, out: Draft[]): void {
    const call = this.#open_ids.get(call_id);
    if (call === undefined || !call.requested) return;
    const decision = allowed ? ('allow' as const) : ('deny' as const);
    const data = { call_id, decision, reason: null, source: 'user' };
    out.push({ kind: 'call_decided', at_ms, data });
    if (allowed) this.#start(call, at_ms, out);
  }

  /** Calls that were announced and never got their input are calls too. */
  end(out: Draft[]): void {
    for (const [key, call] of this.#open) {
      request(call, call.heard.at_ms, out);
      this.#forget(key, call);
    }
  }
}

function isEmpty(input: unknown): boolean {
  return input === null || (isNative(input) && Object.keys(input).length === 0);
}

function request(call: OpenCall, at_ms: number | undefined, out: Draft[]): void {
  if (call.requested) return;
  call.requested = true;
  const { call_id, native_tool, input } = call;
  const parent_call_id = call.heard.speaker.parent;
  const data: Request = { call_id, native_tool, input, parent_call_id, ...namesOf(call) };
  out.push({ kind: 'call_requested', at_ms, data });
}

/** `invalid` stands for the tool that the model asked for; what a patch is depends on what it does. */
function namesOf({ native_tool, input }: OpenCall): Names {
  const fields = nativeOf(input);
  if (PATCHES.has(native_tool)) return onlyAdds(fields?.patchText) ? { tool: 'Write' } : {};
  const asked = native_tool === 'invalid' ? idOf(fields?.tool) : null;
  const exists = asked === null || !(textOf(fields?.error) ?? '').includes('unavailable tool');
  const mcp = exists ? mcpOf(asked ?? native_tool) : null;
  if (mcp !== null) return { mcp };
  return asked === null ? {} : { looked_up_as: asked };
}

function resultOf(call: OpenCall, state: Native): Result {
  const metadata = nativeOf(state.metadata);
  if (state.status === 'error') {
    const output = textOf(state.error);
    const refusal = REFUSALS.find(({ words }) => output?.startsWith(words)) ?? null;
    const cancelled = output === ABORTED || metadata?.interrupted === true;
    const status = refusal ? 'denied' : cancelled ? 'cancelled' : 'error';
    return { status, exit_code: null, output, refusal };
  }
  const output = textOf(state.output);
  const plain = { output, refusal: null };
  if (call.native_tool === 'invalid') return { ...plain, status: 'error', exit_code: null };
  if (!SHELLS.has(call.native_tool)) return { ...plain, status: 'ok', exit_code: null };
  const exit_code = codeOf(metadata?.exit) ?? call.exit_code;
  const note = ENDED_BY_TOOL.exec(output?.slice(-METADATA_CHARS) ?? '')?.[1] ?? '';
  if (note.includes('exceeding timeout')) return { ...plain, status: 'timeout', exit_code };
  if (note.includes('aborted the command')) return { ...plain, status: 'cancelled', exit_code };
  return { ...plain, status: exit_code === null || exit_code === 0 ? 'ok' : 'error', exit_code };
}
