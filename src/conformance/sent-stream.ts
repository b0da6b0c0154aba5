/**
 * The stream as it was sent, to hold the received one against: deep equality by session and number (criterion 2.1).
 * Of each message only hashes are kept, of its data and of the rest: 12 bytes.
 */
import { LIMITS } from '../lib/limits.ts';
import { canonical, fnv1a, mixed } from './hash.ts';
import type { Message, Place } from './types.ts';

export interface Against {
  add(message: Message): void;
  /** What differs; null: nothing. `unknown`: it cannot be compared, for a limit. */
  compare(message: Message): string | null | 'unknown';
  /** What was sent and never compared, at most `count` of it, and how much there is. */
  missing(count: number): { first: Place[]; all: number };
  readonly over_limit: number;
}

interface Sent {
  /** Three for each number: two of the data, one of the rest. */
  hashes: Uint32Array;
  /** 0: not sent; 1: sent; 2: also received. */
  states: Uint8Array;
  last: number;
}

const EXTRA = ['received_at'];

function hashesOf(message: Message): [number, number, number] {
  const { data, ...rest } = message as Message & Record<string, unknown>;
  for (const name of EXTRA) delete rest[name];
  const text = canonical(data);
  const envelope = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
  return [fnv1a(text), mixed(fnv1a(text, 0x2f0b4a27)), fnv1a(canonical(envelope))];
}

export function createAgainst(): Against {
  const sessions = new Map<string, Sent>();
  let count = 0;
  let over_limit = 0;

  function roomFor(sent: Sent, seq: number): void {
    if (seq < sent.states.length) return;
    const size = Math.max(seq + 1, sent.states.length * 2);
    const states = new Uint8Array(size);
    states.set(sent.states);
    const hashes = new Uint32Array(size * 3);
    hashes.set(sent.hashes);
    sent.states = states;
    sent.hashes = hashes;
  }

  return {
    get over_limit() {
      return over_limit;
    },
    add(message) {
      const { session_id, seq } = message;
      if (session_id == null || seq == null || seq < 1) return;
      let sent = sessions.get(session_id);
      // A number far ahead would ask for room that no message fills.
      const jump = seq - (sent?.last ?? 0);
      if (count >= LIMITS.conformance_against_max || jump > LIMITS.conformance_against_max / 10) {
        over_limit += 1;
        return;
      }
      if (sent === undefined) {
        sent = { hashes: new Uint32Array(48), states: new Uint8Array(16), last: 0 };
        sessions.set(session_id, sent);
      }
      roomFor(sent, seq);
      // Sent again: the first counts.
      if (sent.states[seq] !== 0) return;
      count += 1;
      sent.last = Math.max(sent.last, seq);
      sent.states[seq] = 1;
      sent.hashes.set(hashesOf(message), seq * 3);
    },
    compare(message) {
      const { session_id, seq } = message;
      if (session_id == null || seq == null || seq < 1) return 'unknown';
      const sent = sessions.get(session_id);
      if (sent === undefined || !sent.states[seq])
        return over_limit > 0 ? 'unknown' : 'it was never sent';
      sent.states[seq] = 2;
      const [a, b, c] = hashesOf(message);
      const { hashes } = sent;
      if (hashes[seq * 3] !== a || hashes[seq * 3 + 1] !== b) return 'data is not what was sent';
      return hashes[seq * 3 + 2] === c ? null : 'the fields beside data are not what was sent';
    },
    missing(most) {
      const first: Place[] = [];
      let all = 0;
      for (const [session_id, { states, last }] of sessions) {
        for (let seq = 1; seq <= last; seq++) {
          if (states[seq] !== 1) continue;
          all += 1;
          if (first.length < most) first.push({ line: null, session_id, seq });
        }
      }
      return { first, all };
    },
  };
}
