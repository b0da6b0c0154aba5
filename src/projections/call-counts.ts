/** Counts the calls of a run that failed or were denied. Later updates of a call count too. Memory is bounded. */
import { LIMITS } from '../lib/limits.ts';
import type { Event } from '../model/event.ts';
import type { CallStatus } from '../model/words.ts';

type Bad = 'failed' | 'denied';

const BAD: Partial<Record<CallStatus, Bad>> = {
  error: 'failed',
  timeout: 'failed',
  denied: 'denied',
};

export class CallCounts {
  failed = 0;
  denied = 0;
  readonly #bad = new Map<string, Bad>();

  push(event: Event): void {
    if (event.kind === 'call_finished') this.#set(event.data.call_id, event.data.status);
    else if (event.kind === 'call_updated' && event.data.status !== null)
      this.#set(event.data.call_id, event.data.status);
  }

  #set(call_id: string, status: CallStatus): void {
    const before = this.#bad.get(call_id);
    if (before !== undefined) this[before] -= 1;
    const now = Object.hasOwn(BAD, status) ? BAD[status] : undefined;
    if (now === undefined) this.#bad.delete(call_id);
    else {
      this[now] += 1;
      if (this.#bad.size < LIMITS.open_calls_max) this.#bad.set(call_id, now);
    }
  }
}
