/** The calls of a run as part of its state: a pure fold over its events. */
import { charsOf } from '../lib/chars-of.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Event, EventOf } from '../model/event.ts';
import { OpenCalls } from '../model/run-fold.ts';
import type { CallStatus } from '../model/words.ts';
import { CAPTURE_LIMITS } from './limits.ts';

export interface CallState {
  call_id: string;
  native_call_id: string;
  tool: string;
  native_tool: string;
  /** Null once the call has ended, or if the input is too large to keep. */
  input: unknown;
  input_chars: number;
  parent_call_id: string | null;
  requested_at_ms: number;
  /** Whether the agent itself reported the time. In a recording, only the agent's times count. */
  requested_native: boolean;
  decided: boolean;
  started: boolean;
  /** Null while the call is open. */
  status: CallStatus | null;
  exit_code: number | null;
  /** The subject of the call, if the session file uses another id for it. */
  key: string | null;
}

export type KeyOf = (call: { tool: string; native_tool: string; input: unknown }) => string | null;

/** The last call for each of the agent's own ids: all open ones, and the most recently finished ones. */
export class CallStates extends Map<string, CallState> {
  readonly keyOf: KeyOf | null;
  open = new OpenCalls((event) => this.#request(event));
  /** By unique id: calls with an id that differs from the agent's, and earlier calls of a reused id. */
  readonly marked = new Map<string, CallState>();
  /** Total characters of the inputs of open calls. */
  #input_chars = 0;

  constructor(keyOf: KeyOf | null) {
    super();
    this.keyOf = keyOf;
  }

  /** A copy that continues separately. Calls that have ended are shared. */
  fork(): CallStates {
    const copy = new CallStates(this.keyOf);
    const own = new Map<CallState, CallState>();
    const ownOf = (call: CallState): CallState => {
      if (call.status !== null) return call;
      const known = own.get(call) ?? { ...call };
      own.set(call, known);
      return known;
    };
    copy.open = this.open.fork((event) => copy.#request(event), ownOf);
    for (const [key, call] of this) copy.set(key, ownOf(call));
    for (const [key, call] of this.marked) copy.marked.set(key, ownOf(call));
    copy.#input_chars = this.#input_chars;
    return copy;
  }

  /** By unique id. */
  find(call_id: string): CallState | undefined {
    const call = this.get(call_id);
    return call?.call_id === call_id ? call : this.marked.get(call_id);
  }

  push(event: Event): void {
    const call = this.open.push(event);
    if (event.kind === 'call_updated') this.#update(event);
    if (call === undefined) return;
    if (event.kind === 'call_decided') call.decided = true;
    else if (event.kind === 'call_started') call.started = true;
    else if (event.kind === 'call_finished') this.#finish(call, event);
  }

  #request({ data, at_ms, at_source }: EventOf<'call_requested'>): CallState {
    const { call_id, native_call_id, tool, native_tool, parent_call_id } = data;
    const call: CallState = {
      call_id,
      native_call_id,
      tool,
      native_tool,
      input: null,
      input_chars: 0,
      parent_call_id,
      requested_at_ms: at_ms,
      requested_native: at_source !== 'observed',
      decided: false,
      started: false,
      status: null,
      exit_code: null,
      key: this.keyOf === null ? null : this.keyOf(data),
    };
    if (call_id !== native_call_id) this.#mark(call);
    this.set(native_call_id, call);
    this.#keepInput(call, data.input);
    return call;
  }

  /** Few agents reuse an id. */
  #mark(call: CallState): void {
    const earlier = this.get(call.native_call_id);
    if (earlier !== undefined) this.marked.set(earlier.call_id, earlier);
    this.marked.set(call.call_id, call);
    // Deleted first to keep the map in order of age.
    this.delete(call.native_call_id);
  }

  #keepInput(call: CallState, input: unknown): void {
    const { open_input_chars_max, open_inputs_chars_max } = CAPTURE_LIMITS;
    const most = Math.min(open_input_chars_max, open_inputs_chars_max - this.#input_chars);
    const chars = charsOf(input, most);
    if (chars > most) return;
    this.#input_chars += chars;
    call.input_chars = chars;
    call.input = input;
  }

  #update({ data }: EventOf<'call_updated'>): void {
    const call = this.find(data.call_id);
    if (call === undefined) return;
    const exit_code = data.exit_code ?? call.exit_code;
    // Only the end event closes a call.
    if (call.status === null) call.exit_code = exit_code;
    else this.#replace(call, { ...call, status: data.status ?? call.status, exit_code });
  }

  /** A call that has ended may be shared with a copy. */
  #replace(call: CallState, changed: CallState): void {
    if (this.get(call.native_call_id) === call) this.set(call.native_call_id, changed);
    if (this.marked.get(call.call_id) === call) this.marked.set(call.call_id, changed);
  }

  #finish(call: CallState, { data }: EventOf<'call_finished'>): void {
    call.status = data.status;
    call.exit_code = data.exit_code;
    this.#input_chars -= call.input_chars;
    call.input_chars = 0;
    call.input = null;
    const most = LIMITS.calls_remembered_max + this.open.size;
    forgetOld(this, most);
    forgetOld(this.marked, most);
  }
}

/** Deletes in rare, large batches: iterating over the map costs more than the deletions. */
function forgetOld(calls: Map<string, CallState>, most: number): void {
  if (calls.size <= most * 2) return;
  for (const [key, call] of calls) {
    if (calls.size <= most) return;
    if (call.status !== null) calls.delete(key);
  }
}
