/**
 * The stream as it was sent, for comparison with the received one: deep equality by session and number (criterion 2.1).
 * Only hashes of each message are kept, of its data and of the envelope: 12 bytes.
 */

import { canonical, fnv1a, mixed } from '../lib/hash.ts';
import { CONFORMANCE_LIMITS } from './limits.ts';
import type { Message, Place } from './types.ts';

interface Sent {
  /** Three per number: two of the data, one of the envelope. */
  hashes: Uint32Array;
  /** 0: not sent; 1: sent; 2: sent and received. */
  states: Uint8Array;
  last: number;
}

function hashesOf(message: Message): [number, number, number] {
  const { data, received_at: _, ...rest } = message as Message & { received_at?: unknown };
  const text = canonical(data);
  const envelope = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
  return [fnv1a(text), mixed(fnv1a(text, 0x2f0b4a27)), fnv1a(canonical(envelope))];
}

function roomFor(sent: Sent, seq: number): void {
  if (seq < sent.states.length) return;
  const { states, hashes } = sent;
  const size = Math.max(seq + 1, states.length * 2);
  sent.states = new Uint8Array(size);
  sent.states.set(states);
  sent.hashes = new Uint32Array(size * 3);
  sent.hashes.set(hashes);
}

export class SentStream {
  readonly #sessions = new Map<string, Sent>();
  #count = 0;
  #over_limit = 0;

  add(message: Message): void {
    const { session_id, seq } = message;
    if (session_id == null || seq == null || seq < 1) return;
    const known = this.#sessions.get(session_id);
    const { against_max } = CONFORMANCE_LIMITS;
    // A number far ahead would allocate memory that no message fills.
    if (this.#count >= against_max || seq - (known?.last ?? 0) > against_max / 10) {
      this.#over_limit += 1;
      return;
    }
    const sent = known ?? { hashes: new Uint32Array(48), states: new Uint8Array(16), last: 0 };
    if (known === undefined) this.#sessions.set(session_id, sent);
    roomFor(sent, seq);
    // A resend: the first one counts.
    if (sent.states[seq] !== 0) return;
    this.#count += 1;
    sent.last = Math.max(sent.last, seq);
    sent.states[seq] = 1;
    sent.hashes.set(hashesOf(message), seq * 3);
  }

  /** The difference; null when there is none. `unknown` when it cannot be compared because of a limit. */
  compare(message: Message): string | null | 'unknown' {
    const { session_id, seq } = message;
    if (session_id == null || seq == null || seq < 1) return 'unknown';
    const sent = this.#sessions.get(session_id);
    if (!sent?.states[seq]) return this.#over_limit > 0 ? 'unknown' : 'the message was never sent';
    sent.states[seq] = 2;
    const [a, b, c] = hashesOf(message);
    const { hashes } = sent;
    if (hashes[seq * 3] !== a || hashes[seq * 3 + 1] !== b)
      return 'data differs from what was sent';
    return hashes[seq * 3 + 2] === c ? null : 'fields other than data differ from what was sent';
  }

  /** The messages that were sent and not received: the first `most` of them, and the number of all. */
  missing(most: number): { first: Place[]; all: number } {
    const first: Place[] = [];
    let all = 0;
    for (const [session_id, { states, last }] of this.#sessions) {
      for (let seq = 1; seq <= last; seq++) {
        if (states[seq] !== 1) continue;
        all += 1;
        if (first.length < most) first.push({ line: null, session_id, seq });
      }
    }
    return { first, all };
  }
}
