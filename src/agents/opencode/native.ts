/** Readers over records as they come: every field may be missing or of another type. Only fields we read are named anywhere. */
import type { Draft } from '../../model/draft.ts';
import type { ProblemCode } from '../../model/words.ts';

export type Native = { readonly [key: string]: unknown };

export function isNative(value: unknown): value is Native {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function nativeOf(value: unknown): Native | null {
  return isNative(value) ? value : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A non-empty string, as ids must be. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A whole number that is not negative. */
export function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

export function amountOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** A time in epoch ms. */
export function msOf(value: unknown): number | undefined {
  return countOf(value) ?? undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Columns of the database hold JSON as text. */
export function parsedOf(value: unknown): Native | null {
  if (typeof value !== 'string') return nativeOf(value);
  try {
    return nativeOf(JSON.parse(value));
  } catch {
    return null;
  }
}

export function problem(code: ProblemCode, detail: string): Draft {
  return {
    kind: 'problem',
    data: { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null },
  };
}

/** A name for a problem's detail, cut. */
export function nameOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 60) : 'no type';
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
