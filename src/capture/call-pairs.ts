/**
 * Pairs calls of two channels that use different ids: calls about the same thing with the same result are matched in
 * order. A call is held until its end is known, because a refused command may be retried successfully.
 */
import type { DraftOf } from '../model/draft.ts';
import type { CallStatus } from '../model/words.ts';
import type { CallState } from './call-states.ts';

export type Request = DraftOf<'call_requested'>;

interface Live {
  readonly id: string;
  /** Null if the stream did not show its end. */
  readonly status: CallStatus | null;
}

export class CallPairs {
  readonly #keyOf: (request: Request) => string | null;
  readonly #live = new Map<string, Live[]>();
  readonly #held = new Map<string, { request: Request; key: string }>();

  constructor(calls: Iterable<CallState>, keyOf: (request: Request) => string | null) {
    this.#keyOf = keyOf;
    for (const { key, native_call_id: id, status } of calls) {
      if (key === null) continue;
      const alike = this.#live.get(key) ?? [];
      alike.push({ id, status });
      this.#live.set(key, alike);
    }
  }

  /** A call with the same id in both channels is not paired with another call. */
  drop({ key, native_call_id }: CallState): void {
    const alike = key === null ? undefined : this.#live.get(key);
    const at = alike?.findIndex(({ id }) => id === native_call_id) ?? -1;
    if (at >= 0) alike?.splice(at, 1);
  }

  /** False for a call that the stream cannot have shown. */
  hold(request: Request): boolean {
    const { data } = request;
    const key = data.parent_call_id === null ? this.#keyOf(request) : null;
    if (key === null || !this.#live.has(key)) return false;
    this.#held.set(data.call_id, { request, key });
    return true;
  }

  /**
   * The stream's id of a held call that has ended, or null if the stream did not show it. Undefined if it is not
   * held.
   */
  end(
    call_id: string,
    status: CallStatus,
  ): { request: Request; live_id: string | null } | undefined {
    const held = this.#held.get(call_id);
    if (held === undefined) return undefined;
    this.#held.delete(call_id);
    return { request: held.request, live_id: this.#take(held.key, status) };
  }

  /** Held calls that never ended and that the stream did not show. */
  rest(): Request[] {
    return [...this.#held.values()]
      .filter(({ key }) => this.#take(key, null) === null)
      .map(({ request }) => request);
  }

  #take(key: string, status: CallStatus | null): string | null {
    const alike = this.#live.get(key) ?? [];
    let at = alike.findIndex((call) => call.status === status);
    if (at < 0) at = alike.findIndex((call) => call.status === null || call.status === 'unknown');
    return at < 0 ? null : (alike.splice(at, 1)[0]?.id ?? null);
  }
}
