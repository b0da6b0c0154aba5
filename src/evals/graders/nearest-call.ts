/** Describes an expected call that was not found: the nearest actual call and the differences. */
import { isMap } from '../../lib/own.ts';
import { PATH_FIELDS, shortestPath } from '../../lib/paths.ts';
import { fieldName } from '../../lib/schema/mistakes.ts';
import type { TranscriptCall } from '../../model/transcript.ts';
import { type Difference, valueAt } from './args-match.ts';

const SHOWN_MAX = 3;
const VALUE_CHARS_MAX = 60;
/** For a long text that begins as expected, the part around the first difference is shown. */
const CONTEXT_CHARS = 20;

function around(text: string, other: string): string {
  let same = 0;
  while (same < text.length && text[same] === other[same]) same += 1;
  const start = same > VALUE_CHARS_MAX - CONTEXT_CHARS ? same - CONTEXT_CHARS : 0;
  const end = start + VALUE_CHARS_MAX;
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
}

const textOf = (value: unknown) =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));

/** `other`: the value that this one differs from. */
function shown(value: unknown, other: unknown): string {
  const cut = around(textOf(value), textOf(other));
  return typeof value === 'string' ? JSON.stringify(cut) : cut;
}

const FIELDS_MAX = 8;

/** The fields that a call has instead of the expected one. */
function namesText(input: unknown): string {
  const names = isMap(input) ? Object.keys(input).slice(0, FIELDS_MAX) : [];
  return names.length === 0 ? '' : ` (it has ${names.map((name) => fieldName([name])).join(', ')})`;
}

type SafeCall = Pick<TranscriptCall, 'input' | 'status'>;

function differenceText(
  { at, kind, expected }: Difference,
  { input, status }: SafeCall,
  roots: readonly string[],
): string {
  const name = fieldName(at);
  if (kind === 'status') return `status is ${status}, expected ${expected}`;
  if (kind === 'missing') return `has no ${name}${at.length === 1 ? namesText(input) : ''}`;
  if (kind === 'extra') return `also has ${name}`;
  const found = valueAt(input, at);
  const is_path = PATH_FIELDS.has(String(at.at(-1))) && typeof found === 'string';
  const value = is_path ? shortestPath(found, roots) : found;
  return `${name === '' ? 'input' : name} is ${shown(value, expected)}, expected ${shown(expected, value)}`;
}

/** `call`: safe to show. */
export function differencesText(
  list: readonly Difference[],
  call: SafeCall,
  roots: readonly string[],
): string {
  const texts = list.slice(0, SHOWN_MAX).map((one) => differenceText(one, call, roots));
  const more = list.length > SHOWN_MAX ? [`${list.length - SHOWN_MAX} more`] : [];
  return [...texts, ...more].join('; ');
}

const NAMES_MAX = 6;

/** `Read, Bash (3 times)` */
export function calledText(names: readonly string[]): string {
  const counts = [...Map.groupBy(names, (name) => name)].map(([name, all]) =>
    all.length === 1 ? name : `${name} (${all.length} times)`,
  );
  const more = counts.length > NAMES_MAX ? ` and ${counts.length - NAMES_MAX} more` : '';
  return `${counts.slice(0, NAMES_MAX).join(', ')}${more}`;
}

/** Whether an expected value contains a pattern, at any depth. */
export function hasPattern(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasPattern);
  if (!isMap(value)) return false;
  return 'regex' in value || 'glob' in value || Object.values(value).some(hasPattern);
}
