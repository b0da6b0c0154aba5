/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import { type Native, nativeOf } from '../../lib/foreign.ts';

export * from '../../lib/foreign.ts';

/** Columns of the database hold JSON as text. */
export function parsedOf(value: unknown): Native | null {
  if (typeof value !== 'string') return nativeOf(value);
  try {
    return nativeOf(JSON.parse(value));
  } catch {
    return null;
  }
}

/** A name for a problem's detail. */
export function nameOf(value: unknown): string {
  return typeof value === 'string' ? value : 'no type';
}

const WRAP_MS = 2 ** 36;
const EVENT_ID = /^evt_([0-9a-f]{12})/;

/** An event id carries its time in ms modulo 2^36; a time known from elsewhere tells the rest. */
export function eventTime(id: unknown, near_ms: number | undefined): number | undefined {
  const match = typeof id === 'string' && near_ms !== undefined ? EVENT_ID.exec(id) : null;
  if (match === null || near_ms === undefined) return undefined;
  const low = Math.floor(Number.parseInt(match[1] ?? '', 16) / 4096);
  const at_ms = near_ms - (near_ms % WRAP_MS) + low;
  if (at_ms - near_ms > WRAP_MS / 2) return at_ms - WRAP_MS;
  return near_ms - at_ms > WRAP_MS / 2 ? at_ms + WRAP_MS : at_ms;
}

/** Ids seen lately: at least the last `most`, at most twice as many. */
export class Recent {
  #now = new Set<string>();
  #before = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  has(id: string): boolean {
    return this.#now.has(id) || this.#before.has(id);
  }

  /** False when it was there already. */
  add(id: string): boolean {
    if (this.has(id)) return false;
    if (this.#now.size >= this.#most) {
      this.#before = this.#now;
      this.#now = new Set();
    }
    this.#now.add(id);
    return true;
  }
}
