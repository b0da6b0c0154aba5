/** The calls of an outcome: pairs each call's events, in the order of first appearance, in bounded memory. */

import { LIMITS } from '../lib/limits.ts';
import type { DataOf, Event } from '../model/event.ts';
import type { OutcomeCall } from '../model/outcome.ts';
import { OpenCalls } from '../model/run-fold.ts';
import type { CallStatus } from '../model/words.ts';
import { PROJECTION_LIMITS } from './limits.ts';

/** Late changes of a call after it was passed to `onCall`; null for unchanged fields. */
export interface CallPatch {
  status: CallStatus | null;
  exit_code: number | null;
}

export interface OutcomeOptions {
  /** Takes each call as it ends, with its index in the order of first appearance; `tool_calls` then stays empty. */
  onCall?: (call: OutcomeCall, index: number, open: OpenCall) => void;
  /** Whether calls carry `inputs` and `outputs`. */
  keepIo: boolean;
  /** Events hold byte text (lib/byte-text), and so does the outcome. */
  byte_text?: boolean;
}

export interface OpenCall {
  index: number;
  call_id: string;
  call: OutcomeCall;
  /** As reported before the end. */
  exit_code: number | null;
  started_ms: number | null;
  /** Kept with the input. */
  reads: string[];
}

export class CallFold {
  patches = new Map<number, CallPatch>();
  /** Updates of calls that are unknown or forgotten. */
  missed = 0;
  readonly #options: OutcomeOptions;
  #open = new OpenCalls((event) => this.#requested(event.data));
  /** Index by call id for late updates. The older of two generations is dropped to forget calls. */
  #settled = new Map<string, number>();
  #settledBefore = new Map<string, number>();
  #done: OutcomeCall[] = [];

  constructor(options: OutcomeOptions) {
    this.#options = options;
  }

  /** A copy that continues separately. Calls that have ended are shared. */
  fork(): CallFold {
    const copy = new CallFold(this.#options);
    const own = (open: OpenCall) => ({ ...open, call: { ...open.call } });
    copy.#open = this.#open.fork((event) => copy.#requested(event.data), own);
    copy.patches = new Map(this.patches);
    copy.missed = this.missed;
    copy.#settled = new Map(this.#settled);
    copy.#settledBefore = this.#settledBefore;
    copy.#done = [...this.#done];
    return copy;
  }

  /** Number of calls seen. */
  get count(): number {
    return this.#open.count;
  }

  /** Calls beyond the limit of the list. */
  get unlisted(): number {
    return this.#options.onCall ? 0 : Math.max(0, this.count - PROJECTION_LIMITS.outcome_calls_max);
  }

  push(event: Event): void {
    if (event.kind === 'call_requested') this.#open.push(event);
    else if (event.kind === 'call_started') {
      const open = this.#open.push(event);
      if (open !== undefined) open.started_ms = event.at_ms;
    } else if (event.kind === 'call_finished') {
      this.#finished(this.#open.push(event) ?? this.#orphan(event.data), event.data);
    } else if (event.kind === 'call_updated') this.#updated(event.data);
  }

  /** All listed calls; calls without an end get this status. With `onCall`, they are passed to it. */
  finish(status: CallStatus): OutcomeCall[] {
    const { onCall, keepIo } = this.#options;
    const list = [...this.#done];
    for (const open of [...this.#open.values()]) {
      const call = { ...open.call, status, exit_code: open.exit_code };
      if (keepIo) call.outputs = null;
      if (onCall !== undefined) {
        this.#open.delete(open.call_id);
        this.#settle(open, call);
      } else if (open.index < PROJECTION_LIMITS.outcome_calls_max) list[open.index] = call;
    }
    return list;
  }

  #requested(data: DataOf<'call_requested'>): OpenCall {
    const { keepIo } = this.#options;
    const parent = data.parent_call_id;
    const call = bareCall(data);
    call.id = data.native_call_id;
    call.native_name = data.native_tool;
    call.parent_id = parent === null ? null : (this.#open.get(parent)?.call.id ?? parent);
    if (keepIo) call.inputs = data.input;
    return this.#opened(data.call_id, call, keepIo ? data.reads : []);
  }

  #opened(call_id: string, call: OutcomeCall, reads: string[]): OpenCall {
    return { index: this.#open.count, call_id, call, exit_code: null, started_ms: null, reads };
  }

  /** A call that is known only by its end; null if it has already ended. */
  #orphan(data: DataOf<'call_finished'>): OpenCall | null {
    if (this.#indexOf(data.call_id) !== undefined) return null;
    const open = this.#opened(data.call_id, bareCall(data), []);
    this.#open.count += 1;
    return open;
  }

  #finished(open: OpenCall | null, data: DataOf<'call_finished'>): void {
    if (open === null) return;
    const { call } = open;
    call.status = data.status;
    call.exit_code = data.exit_code ?? open.exit_code;
    call.duration_ms = data.duration_ms;
    if (this.#options.keepIo) call.outputs = data.output;
    this.#settle(open, call);
  }

  #settle(open: OpenCall, call: OutcomeCall): void {
    const { index, call_id } = open;
    const { onCall } = this.#options;
    this.#settled.set(call_id, index);
    if (onCall !== undefined) onCall(call, index, open);
    else if (index < PROJECTION_LIMITS.outcome_calls_max) this.#done[index] = call;
    // Calls are forgotten only after the list is full.
    if (onCall === undefined && this.unlisted === 0) return;
    if (this.#settled.size >= LIMITS.settled_calls_max / 2) {
      this.#settledBefore = this.#settled;
      this.#settled = new Map();
    }
  }

  #indexOf(call_id: string): number | undefined {
    return this.#settled.get(call_id) ?? this.#settledBefore.get(call_id);
  }

  #updated({ call_id, status, exit_code }: DataOf<'call_updated'>): void {
    const early = this.#open.get(call_id);
    if (early !== undefined) {
      early.exit_code = exit_code ?? early.exit_code;
      return;
    }
    const index = this.#indexOf(call_id);
    if (index === undefined) {
      this.missed += 1;
      return;
    }
    const call = this.#done[index];
    if (call !== undefined) {
      const changed = { status: status ?? call.status, exit_code: exit_code ?? call.exit_code };
      // It may be shared with a copy.
      this.#done[index] = { ...call, ...changed };
      return;
    }
    const earlier = this.patches.get(index);
    this.patches.set(index, {
      status: status ?? earlier?.status ?? null,
      exit_code: exit_code ?? earlier?.exit_code ?? null,
    });
  }
}

function bareCall({ call_id, tool }: { call_id: string; tool: string }): OutcomeCall {
  return {
    id: call_id,
    name: tool,
    native_name: tool,
    status: 'unknown',
    exit_code: null,
    duration_ms: null,
    parent_id: null,
  };
}
