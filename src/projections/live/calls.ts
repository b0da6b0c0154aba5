/**
 * Open calls: their ids on the wire, and their due statuses and timeouts (LP-4, LP-6).
 * Contract: memory is bounded; due entries are returned in the order of time.
 */
import { LastSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { PROJECTION_LIMITS } from '../limits.ts';
import type { Args } from './data.ts';

export interface OpenCall {
  /** The id on the wire; differs from the event's only when an id is reused or too long. */
  id: string;
  call_id: string;
  native_call_id: string;
  tool: string;
  native_tool: string | null;
  args: Args;
  requested_ms: number;
  /** Time of the last event of the call, or of a sub-agent that it started. */
  alive_ms: number;
  status_due_ms: number;
  made_statuses: number;
  /** The reason of a refusal. */
  reason: string | null;
}

type Due = { at_ms: number; call: OpenCall } & (
  | { what: 'status'; last: boolean }
  | { what: 'timeout' | 'abandoned' }
);

export interface CallTimes {
  call_timeout_ms: number | null;
  abandoned_ms: number | null;
}

export class LiveCalls {
  readonly #times: CallTimes;
  readonly #open = new Map<string, OpenCall>();
  /** By the agent's own id: some records have only that. */
  readonly #natives = new Map<string, OpenCall>();
  /** Recently answered calls, with the id on the wire. */
  readonly #answered = new LastSet<string, string>(LIMITS.calls_remembered_max);
  /** Calls that tacho answered: the agent's own answer may still arrive. */
  readonly #given_up = new LastSet<string, string>(LIMITS.live_open_calls_max);
  /** The earliest time at which something is due; may be too early, never too late. */
  #due_ms = Infinity;
  /** Due statuses that were not made. */
  left_out = 0;

  constructor(times: CallTimes) {
    this.#times = times;
  }

  get size(): number {
    return this.#open.size;
  }

  get due_ms(): number | null {
    return this.#open.size === 0 || this.#due_ms === Infinity ? null : this.#due_ms;
  }

  all(): OpenCall[] {
    return [...this.#open.values()];
  }

  /** The oldest open call. */
  first(): OpenCall | undefined {
    return this.#open.values().next().value;
  }

  get(call_id: string): OpenCall | undefined {
    return this.#open.get(call_id);
  }

  find(call_id: string): OpenCall | undefined {
    return this.#open.get(call_id) ?? this.#natives.get(call_id);
  }

  /** The id on the wire of an answered call. */
  answered(call_id: string): string | undefined {
    return this.#given_up.get(call_id) ?? this.#answered.get(call_id);
  }

  /** A reused id gets a suffix. */
  newId(call_id: string): string {
    const earlier = this.answered(call_id);
    if (earlier === undefined) return call_id === '' ? '(none)' : shortId(call_id);
    const match = /^(.*)#(\d+)$/s.exec(earlier);
    return match === null ? `${earlier}#2` : `${match[1]}#${Number(match[2]) + 1}`;
  }

  add(call: OpenCall): void {
    this.#given_up.delete(call.call_id);
    this.#open.set(call.call_id, call);
    this.#natives.set(call.native_call_id, call);
    this.#due_ms = Math.min(this.#due_ms, this.#dueOf(call));
  }

  /** Notes activity of a call; `sent`: a message about it was sent. */
  alive(call: OpenCall, at_ms: number, sent: boolean): void {
    call.alive_ms = at_ms;
    const first_ms = call.requested_ms + LIMITS.live_status_first_ms;
    if (sent && at_ms >= first_ms) call.status_due_ms = at_ms + LIMITS.live_status_every_ms;
  }

  /** `by_us`: tacho answered it instead of the agent. */
  close(call: OpenCall, by_us: boolean): void {
    this.#open.delete(call.call_id);
    if (this.#natives.get(call.native_call_id) === call) this.#natives.delete(call.native_call_id);
    (by_us ? this.#given_up : this.#answered).set(call.call_id, call.id);
  }

  /** The agent's own answer arrived after ours: returns the id on the wire. */
  late(call_id: string): string | undefined {
    const id = this.#given_up.get(call_id);
    if (id === undefined) return undefined;
    this.#given_up.delete(call_id);
    this.#answered.set(call_id, id);
    return id;
  }

  /** The entries that are due by now, in order. A call that has timed out is still open. */
  take(now_ms: number): Due[] {
    if (now_ms < this.#due_ms) return [];
    const due: Due[] = [];
    this.#due_ms = Infinity;
    for (const call of this.#open.values()) {
      const end = this.#endOf(call);
      const over = end.at_ms <= now_ms;
      const until_ms = over ? end.at_ms - 1 : now_ms;
      this.#statuses(call, until_ms, due);
      if (over) due.push({ ...end, call });
      else this.#due_ms = Math.min(this.#due_ms, this.#dueOf(call));
    }
    return due.sort((a, b) => a.at_ms - b.at_ms);
  }

  #statuses(call: OpenCall, until_ms: number, due: Due[]): void {
    while (call.status_due_ms <= until_ms) {
      if (due.length >= PROJECTION_LIMITS.live_statuses_at_once_max) {
        const rest = Math.floor((until_ms - call.status_due_ms) / LIMITS.live_status_every_ms) + 1;
        this.left_out += rest;
        call.status_due_ms += rest * LIMITS.live_status_every_ms;
        return;
      }
      call.made_statuses += 1;
      const last = call.made_statuses >= PROJECTION_LIMITS.live_made_statuses_max;
      due.push({ at_ms: call.status_due_ms, call, what: 'status', last });
      call.status_due_ms = last ? Infinity : call.status_due_ms + LIMITS.live_status_every_ms;
    }
  }

  /** The time at which the call is given up; Infinity without a limit. */
  #endOf(call: OpenCall): { at_ms: number; what: 'timeout' | 'abandoned' } {
    const { call_timeout_ms, abandoned_ms } = this.#times;
    const timeout = call.requested_ms + (call_timeout_ms ?? Infinity);
    const abandoned = call.alive_ms + (abandoned_ms ?? Infinity);
    return timeout <= abandoned
      ? { at_ms: timeout, what: 'timeout' }
      : { at_ms: abandoned, what: 'abandoned' };
  }

  #dueOf(call: OpenCall): number {
    return Math.min(call.status_due_ms, this.#endOf(call).at_ms);
  }
}

/** Must fit into a correlation id together with the session id. A long id keeps both ends and its length. */
function shortId(id: string): string {
  const half = Math.floor(LIMITS.live_id_chars_max / 4);
  if (id.length <= half * 2) return id;
  return `${id.slice(0, half)}(${id.length})${id.slice(-half)}`.toWellFormed();
}
