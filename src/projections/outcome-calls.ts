/** The calls of an outcome: pairs each call's events, in the order of first appearance, in bounded memory. */
import { LIMITS } from '../lib/limits.ts';
import type { DataOf, Event } from '../model/event.ts';
import type { OutcomeCall } from '../model/outcome.ts';
import type { CallStatus } from '../model/words.ts';

/** What became known of a call after it was handed over; null: unchanged. */
export interface CallPatch {
  status: CallStatus | null;
  exit_code: number | null;
}

export interface OutcomeOptions {
  /** Takes each call as it ends, with its place in the order of first appearance; `tool_calls` then stays empty. */
  onCall?: (call: OutcomeCall, index: number) => void;
  /** Whether calls carry `inputs` and `outputs`. */
  keepIo: boolean;
}

interface OpenCall {
  index: number;
  call: OutcomeCall;
  /** Told before the end. */
  exit_code: number | null;
}

export class CallFold {
  readonly patches = new Map<number, CallPatch>();
  /** Calls seen. */
  count = 0;
  /** Updates of calls that are not known, or not any more. */
  missed = 0;
  /** Calls beyond those that the list has room for. */
  unlisted = 0;
  readonly #options: OutcomeOptions;
  readonly #open = new Map<string, OpenCall>();
  /** Index by call id, so that late updates find their call. Two generations: dropping the older one is forgetting. */
  #settled = new Map<string, number>();
  #settledBefore = new Map<string, number>();
  readonly #done: OutcomeCall[] = [];

  constructor(options: OutcomeOptions) {
    this.#options = options;
  }

  push(event: Event): void {
    if (event.kind === 'call_requested') this.#requested(event.data);
    else if (event.kind === 'call_finished') this.#finished(event.data);
    else if (event.kind === 'call_updated') this.#updated(event.data);
  }

  closeOpen(status: CallStatus): void {
    for (const [call_id, entry] of [...this.#open]) {
      entry.call.status = status;
      entry.call.exit_code = entry.exit_code;
      if (this.#options.keepIo) entry.call.outputs = null;
      this.#settle(call_id, entry);
    }
  }

  list(): OutcomeCall[] {
    return [...this.#done];
  }

  #requested(data: DataOf<'call_requested'>): void {
    // Ids of calls are unique within a run.
    if (this.#open.has(data.call_id)) return;
    const parent = data.parent_call_id;
    const call = bareCall(data);
    call.id = data.native_call_id;
    call.native_name = data.native_tool;
    call.parent_id = parent === null ? null : (this.#open.get(parent)?.call.id ?? parent);
    if (this.#options.keepIo) call.inputs = data.input;
    this.#begin(data.call_id, call);
  }

  #begin(call_id: string, call: OutcomeCall): OpenCall {
    const entry = { index: this.count, call, exit_code: null };
    this.count += 1;
    this.#open.set(call_id, entry);
    return entry;
  }

  #finished(data: DataOf<'call_finished'>): void {
    let entry = this.#open.get(data.call_id);
    if (entry === undefined) {
      if (this.#indexOf(data.call_id) !== undefined) return;
      entry = this.#begin(data.call_id, bareCall(data));
    }
    entry.call.status = data.status;
    entry.call.exit_code = data.exit_code ?? entry.exit_code;
    entry.call.duration_ms = data.duration_ms;
    if (this.#options.keepIo) entry.call.outputs = data.output;
    this.#settle(data.call_id, entry);
  }

  #settle(call_id: string, { index, call }: OpenCall): void {
    this.#open.delete(call_id);
    this.#settled.set(call_id, index);
    if (this.#options.onCall !== undefined) this.#options.onCall(call, index);
    else if (index < LIMITS.outcome_calls_max) this.#done[index] = call;
    else this.unlisted += 1;
    // As long as all are listed, all stay known.
    if (this.#options.onCall === undefined && this.unlisted === 0) return;
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
      call.status = status ?? call.status;
      call.exit_code = exit_code ?? call.exit_code;
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
