/** Readers of foreign records: every field may be missing or of another type. */
import { createHash } from 'node:crypto';
import type { DraftOf } from '../model/draft.ts';
import type { ProblemCode } from '../model/words.ts';
import { decodedEncoding, isAscii, isLonger } from './byte-text.ts';
import { isoTime } from './iso-time.ts';
import { LIMITS } from './limits.ts';
import { isMap } from './own.ts';
import { processWide } from './process-wide.ts';

export type Native = { readonly [key: string]: unknown };

export const isNative: (value: unknown) => value is Native = isMap;

export function nativeOf(value: unknown): Native | null {
  return isNative(value) ? value : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A word to look up; '' for other types. `String` throws for an object with a field named toString. */
export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A path or a text that is not empty. */
export function filledOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** An id or a name: a non-empty string of bounded length. */
export function idOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? keptName(value) : null;
}

const shortened = processWide('shortened_names', () => ({ count: 0 }));

/** An id or a name as it is stored: hashed if it is too long, because a part of it could be part of a secret. */
export function keptName(text: string): string {
  if (!isLonger(text, LIMITS.name_chars_max)) return text;
  shortened.count += 1;
  return `sha256:${createHash('sha256').update(text, decodedEncoding()).digest('hex')}`;
}

/** A problem about names that were hashed since the last call; null if there are none. */
export function shortenedNames(): DraftOf<'problem'> | null {
  if (shortened.count === 0) return null;
  shortened.count = 0;
  return problem(
    'truncated_value',
    `an id or a name is longer than ${LIMITS.name_chars_max} characters; its hash was kept`,
  );
}

/** Figures refused since the last report. All readers share one list, because decoding is synchronous. */
const refused = processWide<string[]>('refused_figures', () => []);
const REFUSED_MAX = 10;

/** An impossible figure becomes unknown, and `refusedFigures` reports it. All readers below use this. */
function figureOf(value: unknown, least: number, most: number, whole = true): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && value >= least && value <= most) {
    if (!whole || Number.isInteger(value)) return value;
  }
  // A part of a foreign text could be part of a secret, so only its type is reported.
  const shown = typeof value === 'number' ? String(value) : `of type ${typeof value}`;
  if (refused.length < REFUSED_MAX && !refused.includes(shown)) refused.push(shown);
  return null;
}

/** A non-negative integer. */
export function countOf(value: unknown): number | null {
  return figureOf(value, 0, Number.MAX_SAFE_INTEGER);
}

export function tokensOf(value: unknown): number | null {
  return figureOf(value, 0, LIMITS.tokens_max);
}

/** A cost in USD. */
export function costOf(value: unknown): number | null {
  return figureOf(value, 0, LIMITS.cost_usd_max, false);
}

/** An exit code or error code: a signed 32-bit integer (-1: killed). */
export function codeOf(value: unknown): number | null {
  return figureOf(value, -(2 ** 31), 2 ** 32 - 1);
}

/** A provider's status code. Some providers send a word instead, which is not a figure. */
export function statusOf(value: unknown): number | null {
  const word = typeof value === 'string' && (!isAscii(value) || Number.isNaN(Number(value)));
  return word ? null : figureOf(value, 0, 2 ** 32 - 1);
}

/** A duration or delay, rounded to whole ms. `unit_ms`: the length of its unit. */
export function durationOf(value: unknown, unit_ms = 1): number | null {
  const units = figureOf(value, 0, LIMITS.call_ms_max / unit_ms, false);
  return units === null ? null : Math.round(units * unit_ms);
}

/** A time in epoch ms, from a number or an ISO text (`Date.parse` alone would parse "7" as July 2001). */
export function momentOf(value: unknown): number | undefined {
  const time = typeof value === 'string' && value[4] === '-' ? (isoTime(value) ?? value) : value;
  return figureOf(time, LIMITS.time_ms_min, LIMITS.time_ms_max) ?? undefined;
}

/** A record's `timestamp`. */
export function timeOf(record: Native): number | undefined {
  return momentOf(record.timestamp);
}

/** A problem about figures that were refused since the last call; null if there are none. */
export function refusedFigures(): DraftOf<'problem'> | null {
  if (refused.length === 0) return null;
  const detail = `no possible figures, taken as unknown: ${refused.join(', ')}`;
  refused.length = 0;
  return problem('figure_invalid', detail);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function namesOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null;
  return value.filter((item): item is string => typeof item === 'string');
}

export function problem(code: ProblemCode, detail: string): DraftOf<'problem'> {
  return {
    kind: 'problem',
    data: { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null },
  };
}
