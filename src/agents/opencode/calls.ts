/**
 * Tool parts → calls. A part is updated many times (pending → running → completed or error) and is one call: its state is
 * kept by part id, and each fact becomes a draft once (RO-3).
 */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { CallStatus } from '../../model/words.ts';
import type { Drafts, Time } from '../kit/drafts.ts';
import { codeOf, idOf, isNative, momentOf, nativeOf, textOf } from '../kit/native.ts';
import { changesOf } from './files.ts';
import { type Part, REMEMBERED_MAX, type ToolState } from './forms.ts';
import { namesOf } from './tools.ts';

/** A call that nothing has happened to. */
const NEW = {
  requested: false,
  started: false,
  input: null as unknown,
  /** The output of the running command so far. */
  output: '',
  /** From a `command.executed` of earlier versions. */
  exit_code: null as number | null,
  /** Whether the session of its sub-agent is known. */
  adopted: false,
};

type Call = typeof NEW & {
  readonly call_id: string;
  readonly native_id: string;
  native_tool: string;
  readonly parent: string | null;
  /** When it was first seen. */
  readonly at_ms: Time;
  /** From the bus, where more may follow; lines of the CLI and stored rows are final. */
  readonly live: boolean;
};

/** How refusals begin, and who refuses. */
const REFUSALS = [
  ['The user rejected permission to use this specific tool call', 'user'],
  ['The user has specified a rule which prevents you from using this specific tool call', 'rule'],
  ['The user dismissed this question', 'user'],
] as const;
/** After a refusal with advice the run continues, as after a rule; the others end it. */
const ADVICE = 'with the following feedback';
const ABORTED = 'Tool execution aborted';
/** The shell tool adds this to the output of a command that it ended itself. */
const ENDED_BY_TOOL = /<(?:bash|shell)_metadata>\n([^<]*)<\/(?:bash|shell)_metadata>\s*$/;
const SHELLS: ReadonlySet<string> = new Set(['bash', 'shell']);
const METADATA_CHARS = 1_000;

export class Calls {
  readonly #to: Drafts;
  /** By the part's id; the same calls by their own, and those that started a sub-agent of no known session. */
  readonly #open = new Map<string, Call>();
  readonly #open_ids = new Map<string, Call>();
  readonly #free_tasks = new Set<Call>();
  /** Of each native id: the number of open calls, and the last number that one of them has. */
  readonly #uses = new Map<string, { open: number; last: number }>();
  readonly #done = new RecentSet<string>(REMEMBERED_MAX);
  /** Sub-agents' sessions → the call that started them. */
  readonly #parents = new RecentMap<string, string>(LIMITS.open_calls_max);
  /** Commands without an exit code → their call, for `command.executed`. */
  readonly #commands = new Map<string, string>();
  /** Paths that calls have changed. */
  readonly changed_paths = new RecentSet<string>(LIMITS.artifacts_max);

  constructor(to: Drafts) {
    this.#to = to;
  }

  parentOf(session_id: string): string | null {
    return this.#parents.get(session_id) ?? null;
  }

  /** A sub-agent's session that its call did not name: the only open task without a session is meant. */
  claim(session_id: string): void {
    if (this.#parents.has(session_id)) return;
    const [only] = this.#free_tasks;
    if (only !== undefined && this.#free_tasks.size === 1) this.#adopt(session_id, only);
  }

  #adopt(session_id: string, call: Call): void {
    this.#parents.set(session_id, call.call_id);
    call.adopted = true;
    this.#free_tasks.delete(call);
  }

  /** Whether the part is a refusal that ends the run. */
  part(part: Part, live: boolean): boolean {
    const native_tool = idOf(part.tool);
    const native_id = idOf(part.callID) ?? idOf(part.id);
    if (native_tool === null || native_id === null) {
      this.#to.bad('a tool part without tool or id');
      return false;
    }
    const key = idOf(part.id) ?? native_id;
    if (this.#done.has(key)) return false;
    const state: ToolState = nativeOf(part.state) ?? {};
    const call = this.#open.get(key) ?? this.#newCall(key, native_id, native_tool, live);
    // A tool that does not exist is renamed while its call is open.
    if (!call.requested) this.#name(call, native_tool);
    const input = state.input ?? null;
    if (call.input === null || !isEmpty(input)) call.input = input;
    const child = idOf(nativeOf(state.metadata)?.sessionId);
    if (native_tool === 'task' && child !== null) this.#adopt(child, call);
    switch (state.status) {
      case 'pending':
        // On the bus the input comes with the next state.
        if (!live || !isEmpty(input)) this.#request(call);
        return false;
      case 'running':
        this.#running(call, state);
        return false;
      case 'completed':
      case 'error':
        return this.#finish(key, call, state);
      default:
        this.#to.problem('unknown_record', `tool state ${textOf(state.status) ?? 'no type'}`);
        this.#request(call);
        return false;
    }
  }

  #newCall(key: string, native_id: string, native_tool: string, live: boolean): Call {
    // Open calls of one id are kept apart as the correlator does with an id used again.
    const uses = this.#uses.get(native_id) ?? { open: 0, last: 0 };
    const last = uses.last + 1;
    const { parent, at_ms } = this.#to;
    const call_id = last === 1 ? native_id : `${native_id}#${last}`;
    const call: Call = { ...NEW, call_id, native_id, native_tool, parent, at_ms, live };
    if (this.#open.size >= LIMITS.open_calls_max) return call;
    this.#open.set(key, call);
    this.#open_ids.set(call_id, call);
    this.#uses.set(native_id, { open: uses.open + 1, last });
    return call;
  }

  #name(call: Call, native_tool: string): void {
    call.native_tool = native_tool;
    const task = native_tool === 'task' && !call.adopted;
    if (task && this.#open_ids.get(call.call_id) === call) this.#free_tasks.add(call);
    else this.#free_tasks.delete(call);
  }

  #forget(key: string, call: Call): void {
    if (!this.#open.delete(key)) return;
    if (this.#open_ids.get(call.call_id) === call) this.#open_ids.delete(call.call_id);
    this.#free_tasks.delete(call);
    const uses = this.#uses.get(call.native_id);
    if (uses === undefined || uses.open === 1) this.#uses.delete(call.native_id);
    else uses.open -= 1;
  }

  #request(call: Call, at_ms = this.#to.at_ms): void {
    if (call.requested) return;
    call.requested = true;
    const { call_id, native_tool, input, parent: parent_call_id } = call;
    const data = { call_id, native_tool, input, parent_call_id, ...namesOf(native_tool, input) };
    this.#to.put('call_requested', data, at_ms);
  }

  #running(call: Call, state: ToolState): void {
    this.#request(call, momentOf(nativeOf(state.time)?.start));
    this.#expectCode(call);
    const metadata = nativeOf(state.metadata);
    // The state is `running` while the permission is still asked for; only metadata of the tool shows that it runs.
    if (metadata === null) return;
    this.#start(call);
    const output = textOf(metadata.output);
    if (output === null || output === call.output) return;
    const text = output.startsWith(call.output) ? output.slice(call.output.length) : output;
    call.output = output;
    this.#to.progress(call.call_id, text);
  }

  #start(call: Call): void {
    if (call.started) return;
    call.started = true;
    this.#to.put('call_started', { call_id: call.call_id });
  }

  #finish(key: string, call: Call, state: ToolState): boolean {
    const to = this.#to;
    const { call_id } = call;
    const time = nativeOf(state.time);
    const start_ms = momentOf(time?.start);
    const end_ms = momentOf(time?.end) ?? call.at_ms;
    this.#request(call, start_ms ?? call.at_ms);
    to.at_ms = end_ms;
    const { status, exit_code, output, refused_by } = resultOf(call, state);
    if (refused_by !== null) to.decided(call_id, 'deny', output, refused_by);
    const known = start_ms !== undefined && end_ms !== undefined;
    const duration_ms = known ? Math.max(0, end_ms - start_ms) : null;
    to.finished({ call_id, status, exit_code, output, duration_ms });
    if (status === 'ok') this.#changes(call, state);
    this.#forget(key, call);
    this.#done.add(key);
    if (exit_code === null) this.#expectCode(call);
    return refused_by === 'user' && !(output ?? '').includes(ADVICE);
  }

  #changes({ call_id, native_tool, input }: Call, state: ToolState): void {
    for (const change of changesOf(native_tool, nativeOf(input), nativeOf(state.metadata))) {
      this.changed_paths.add(change.path);
      this.#to.put('file_changed', { ...change, call_id, source: 'tool' });
    }
  }

  #expectCode({ call_id, native_tool, input, live }: Call): void {
    const command = live && SHELLS.has(native_tool) ? textOf(nativeOf(input)?.command) : null;
    if (command === null || this.#commands.size >= LIMITS.open_calls_max) return;
    this.#commands.set(command, call_id);
  }

  /** `command.executed` of earlier versions repeats a shell call: it is no call, but it may have the exit code. */
  executed(command: string, exit_code: number): void {
    const call_id = this.#commands.get(command);
    if (call_id === undefined) return;
    this.#commands.delete(command);
    const open = this.#open_ids.get(call_id);
    if (open !== undefined) open.exit_code = exit_code;
    else this.#to.updated(call_id, exit_code === 0 ? null : 'error', exit_code);
  }

  /** The question whether the call may run was answered. */
  decide(call_id: string, allowed: boolean): void {
    const call = this.#open_ids.get(call_id);
    if (call === undefined || !call.requested) return;
    this.#to.decided(call_id, allowed ? 'allow' : 'deny', null, 'user');
    if (allowed) this.#start(call);
  }

  /** Calls that were announced and never got their input are calls too. */
  end(): void {
    for (const [key, call] of this.#open) {
      this.#request(call, call.at_ms);
      this.#forget(key, call);
    }
  }
}

function isEmpty(input: unknown): boolean {
  return input === null || (isNative(input) && Object.keys(input).length === 0);
}

function resultOf({ native_tool, exit_code: executed }: Call, state: ToolState) {
  const metadata = nativeOf(state.metadata);
  let status: CallStatus = 'ok';
  let exit_code: number | null = null;
  if (state.status === 'error') {
    const output = textOf(state.error);
    const refused_by = REFUSALS.find(([words]) => output?.startsWith(words))?.[1] ?? null;
    const cancelled = output === ABORTED || metadata?.interrupted === true;
    status = refused_by !== null ? 'denied' : cancelled ? 'cancelled' : 'error';
    return { status, exit_code, output, refused_by };
  }
  const output = textOf(state.output);
  if (native_tool === 'invalid') status = 'error';
  if (SHELLS.has(native_tool)) {
    exit_code = codeOf(metadata?.exit) ?? executed;
    const note = ENDED_BY_TOOL.exec(output?.slice(-METADATA_CHARS) ?? '')?.[1] ?? '';
    if (note.includes('exceeding timeout')) status = 'timeout';
    else if (note.includes('aborted the command')) status = 'cancelled';
    else if (exit_code !== null && exit_code !== 0) status = 'error';
  }
  return { status, exit_code, output, refused_by: null };
}
