/** Tool parts → calls. A part is updated many times but is one call: each fact becomes one draft (RO-3). */
import { RecentMap, RecentSet } from '../../../lib/bounded.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { type Drafts, type Time, Writer } from '../drafts.ts';
import { idOf, isNative, momentOf, nativeOf, textOf } from '../native.ts';
import { type Part, REMEMBERED_MAX, type ToolState } from './native.ts';
import { changesOf, resultOf, SHELLS } from './results.ts';
import type { NamesOf } from './tools.ts';

/** The initial state of a call. */
const NEW = {
  requested: false,
  started: false,
  input: null as unknown,
  /** The output of the running command so far. */
  output: '',
  /** From `command.executed` of earlier versions. */
  exit_code: null as number | null,
  /** Whether the sub-agent's session is known. */
  adopted: false,
  error: null as string | null,
};

type Call = typeof NEW & {
  readonly call_id: string;
  readonly native_id: string;
  native_tool: string;
  readonly parent: string | null;
  /** When the call was first seen. */
  readonly at_ms: Time;
  /** From the bus, where updates may follow. Lines of the CLI and stored rows are final. */
  readonly live: boolean;
};

export class Calls extends Writer {
  /** Open calls by part id, by call id, and those that started a sub-agent without a known session. */
  readonly #open = new Map<string, Call>();
  readonly #open_ids = new Map<string, Call>();
  readonly #free_tasks = new Set<Call>();
  /** Per native id: the number of open calls, and the last number given to one of them. */
  readonly #uses = new Map<string, { open: number; last: number }>();
  readonly #done = new RecentSet<string>(REMEMBERED_MAX);
  /** Sub-agents' sessions → the call that started them. */
  readonly #parents = new RecentMap<string, string>(LIMITS.open_calls_max);
  /** Commands without an exit code → their call, for `command.executed`. */
  readonly #commands = new Map<string, string>();
  readonly changed_paths = new RecentSet<string>(LIMITS.artifacts_max);

  readonly #namesOf: NamesOf;

  constructor(to: Drafts, namesOf: NamesOf) {
    super(to);
    this.#namesOf = namesOf;
  }

  parentOf(session_id: string): string | null {
    return this.#parents.get(session_id) ?? null;
  }

  /** A sub-agent's session that no call named. If only one open task has no session, the session belongs to it. */
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

  /** Returns whether the part is a refusal that ends the run. */
  part(part: Part, live: boolean): boolean {
    const native_tool = idOf(part.tool);
    const native_id = idOf(part.callID) ?? idOf(part.id);
    if (native_tool === null || native_id === null) {
      this.to.bad('a tool part without tool or id');
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
    const { status } = state;
    call.error = textOf(state.error);
    const pending = status === 'pending';
    if (status === 'completed' || status === 'error') return this.#finish(key, call, state);
    if (status === 'running') this.#running(call, state);
    else {
      if (!pending) this.to.problem('unknown_record', `tool state ${textOf(status) ?? 'no type'}`);
      // The input follows with the next state.
      if (!pending || !isEmpty(input)) this.#request(call);
    }
    return false;
  }

  #newCall(key: string, native_id: string, native_tool: string, live: boolean): Call {
    // Open calls with the same id are numbered, as the correlator does for a reused id.
    const uses = this.#uses.get(native_id) ?? { open: 0, last: 0 };
    const last = uses.last + 1;
    const { parent, at_ms } = this.to;
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

  #request(call: Call, at_ms = this.to.at_ms): void {
    if (call.requested) return;
    call.requested = true;
    const { call_id, native_tool, input, parent: parent_call_id } = call;
    const data = {
      call_id,
      native_tool,
      input,
      parent_call_id,
      ...this.#namesOf(native_tool, input, call.error),
    };
    this.to.put('call_requested', data, at_ms);
  }

  #running(call: Call, state: ToolState): void {
    this.#request(call, momentOf(nativeOf(state.time)?.start));
    this.#expectCode(call);
    const metadata = nativeOf(state.metadata);
    // The state is `running` even while permission is asked for. Only metadata of the tool shows that it runs.
    if (metadata === null) return;
    this.#start(call);
    const output = textOf(metadata.output);
    if (output === null || output === call.output) return;
    const text = output.startsWith(call.output) ? output.slice(call.output.length) : output;
    call.output = output;
    this.to.progress(call.call_id, text);
  }

  #start(call: Call): void {
    if (call.started) return;
    call.started = true;
    this.to.put('call_started', { call_id: call.call_id });
  }

  #finish(key: string, call: Call, state: ToolState): boolean {
    const { to } = this;
    const { call_id } = call;
    const time = nativeOf(state.time);
    const start_ms = momentOf(time?.start);
    const end_ms = momentOf(time?.end) ?? call.at_ms;
    this.#request(call, start_ms ?? call.at_ms);
    to.at_ms = end_ms;
    const { status, exit_code, output, refused_by, ends_run } = resultOf(call, state);
    if (refused_by !== null) to.decided(call_id, 'deny', output, refused_by);
    const known = start_ms !== undefined && end_ms !== undefined;
    const duration_ms = known ? Math.max(0, end_ms - start_ms) : null;
    to.finished({ call_id, status, exit_code, output, duration_ms });
    if (status === 'ok') this.#changes(call, state);
    this.#forget(key, call);
    this.#done.add(key);
    if (exit_code === null) this.#expectCode(call);
    return ends_run;
  }

  #changes({ call_id, native_tool, input }: Call, state: ToolState): void {
    for (const change of changesOf(native_tool, nativeOf(input), nativeOf(state.metadata))) {
      this.changed_paths.add(change.path);
      this.to.put('file_changed', { ...change, call_id, source: 'tool' });
    }
  }

  #expectCode({ call_id, native_tool, input, live }: Call): void {
    const command = live && SHELLS.has(native_tool) ? textOf(nativeOf(input)?.command) : null;
    if (command === null || this.#commands.size >= LIMITS.open_calls_max) return;
    this.#commands.set(command, call_id);
  }

  /** `command.executed` of earlier versions repeats a shell call. It is not a call, but may have the exit code. */
  executed(command: string, exit_code: number): void {
    const call_id = this.#commands.get(command);
    if (call_id === undefined) return;
    this.#commands.delete(command);
    const open = this.#open_ids.get(call_id);
    if (open !== undefined) open.exit_code = exit_code;
    else this.to.updated(call_id, exit_code === 0 ? null : 'error', exit_code);
  }

  /** The permission request of a call was answered. */
  decide(call_id: string, allowed: boolean): void {
    const call = this.#open_ids.get(call_id);
    if (call === undefined || !call.requested) return;
    this.to.decided(call_id, allowed ? 'allow' : 'deny', null, 'user');
    if (allowed) this.#start(call);
  }

  /** Calls that were announced and never got their input still count as calls. */
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
