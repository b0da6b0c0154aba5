/** Ids that sort by time, and file names for foreign ids. */
import { createHash, randomBytes } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const RUN_ID = /^r_[0-9a-hjkmnp-tv-z]{26}$/;

/** Returns `count` random bytes. */
export type RandomSource = (count: number) => Uint8Array;

export const systemRandom: RandomSource = (count) => randomBytes(count);

/** Deterministic: the seed determines the sequence of bytes. */
export function seededRandom(seed: string): RandomSource {
  let turn = 0;
  return (count) => {
    turn += 1;
    return createHash('sha512').update(`${seed}:${turn}`).digest().subarray(0, count);
  };
}

function base32(bytes: Uint8Array, length: number): string {
  let bits = 0;
  let held = 0;
  let text = '';
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5 && text.length < length) {
      bits -= 5;
      text += ALPHABET[(held >> bits) & 31];
      held &= (1 << bits) - 1;
    }
  }
  return text;
}

/** `r_` and 26 characters: 10 for the time, 16 random. */
export function newRunId(now_ms: number, random: RandomSource): string {
  let time = '';
  for (let rest = now_ms, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) {
    time = ALPHABET[rest % 32] + time;
  }
  return `r_${time}${base32(random(10), 16)}`;
}

/** A random UUID (version 4). */
export function newUuid(random: RandomSource): string {
  const bytes = Buffer.from(random(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const SHORT_LENGTH = 10;

/** A run id as shown in lists: without `r_`, shortened. Every run selector accepts it. */
export function shortRunId(run_id: string, length = SHORT_LENGTH): string {
  return run_id.replace(/^r_/, '').slice(0, length);
}

/** The same for all rows of one list: longer where several ids begin with the same characters. */
export function shortRunIds(run_ids: readonly string[]): string[] {
  const sorted = [...new Set(run_ids)].sort();
  const lengths = new Map<string, number>();
  for (const [at, run_id] of sorted.entries()) {
    const own = shortRunId(run_id, run_id.length);
    const shared = [sorted[at - 1], sorted[at + 1]].map((other = '') => {
      const text = shortRunId(other, other.length);
      let same = 0;
      while (same < own.length && own[same] === text[same]) same += 1;
      return same;
    });
    lengths.set(run_id, Math.max(SHORT_LENGTH, ...shared.map((same) => same + 1)));
  }
  return run_ids.map((run_id) => shortRunId(run_id, lengths.get(run_id)));
}

/** How live commands show a session: the session of a run by its short run id, any other by its whole id. */
export const sessionName = (session_id: string): string =>
  isRunId(session_id) ? shortRunId(session_id) : session_id;

/** Whether a run has this id, or an id that begins so; `r_` may be omitted. */
export const isNamed = (run_id: string, name: string): boolean =>
  run_id.startsWith(name.startsWith('r_') ? name : `r_${name}`);

export function isRunId(text: string): boolean {
  return RUN_ID.test(text);
}

/** The only way to turn a foreign id into a file name: its hash, never the id (ST-8). */
export function fileFor(kind: string, id: string): string {
  return `${kind}-${base32(createHash('sha256').update(id).digest(), 26)}`;
}
