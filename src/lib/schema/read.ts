/** Reads foreign data according to tables of fields. Every mistake is reported with its position, and reading continues. */
import { isMap } from '../own.ts';
import { type Place, quoted } from './mistakes.ts';

/** Returns a value of the expected type; after a mistake, a default of that type. Only missing fields are omitted. */
export type Read<T = unknown> = (value: unknown, place: Place) => T;

/** A plain Read is an optional field. */
type Field<T = unknown> =
  | Read<T>
  | {
      read: Read<T>;
      required?: true;
      /** Other spellings. */
      also?: readonly string[];
    };
export type Fields = Readonly<Record<string, Field>>;

type Value<F> =
  F extends Read<infer T>
    ? T | undefined
    : F extends { read: Read<infer T>; required: true }
      ? T
      : F extends { read: Read<infer T> }
        ? T | undefined
        : never;
export type Values<F extends Fields> = { readonly [K in keyof F]: Value<F[K]> };

export const required = <T>(read: Read<T>, ...also: string[]) => ({
  read,
  also,
  required: true as const,
});
export const optional = <T>(read: Read<T>, ...also: string[]) => ({ read, also });

interface Known {
  name: string;
  read: Read;
  required: boolean;
}

/** Spelling → field. The same table reads thousands of maps. */
const tables = new WeakMap<Fields, ReadonlyMap<string, Known>>();

function tableOf(fields: Fields): ReadonlyMap<string, Known> {
  const made = tables.get(fields);
  if (made !== undefined) return made;
  const table = new Map(
    Object.entries(fields).flatMap(([name, field]) => {
      const full = typeof field === 'function' ? { read: field } : field;
      const known = { name, read: full.read, required: full.required ?? false };
      return [name, ...(full.also ?? [])].map((spelling) => [spelling, known] as const);
    }),
  );
  tables.set(fields, table);
  return table;
}

const snake = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

interface MapOptions {
  /** Fields that are not in the table are skipped instead of reported. */
  open?: boolean;
  /** The word for a field in messages. */
  called?: string;
}

/** Unknown fields that are compared with a missing one. */
const MISSPELT_MAX = 10;

/** The fields of a map by their names in the table; null if the value is not a map. */
export function readMap<F extends Fields>(
  value: unknown,
  fields: F,
  place: Place,
  { open = false, called = 'field' }: MapOptions = {},
): Values<F> | null {
  if (!isMap(value)) {
    const empty = value === null && place.at.length === 0;
    place.mistake(empty ? 'the file is empty' : 'must be a map');
    return null;
  }
  const { loose } = place.report;
  const table = tableOf(fields);
  const values: Record<string, unknown> = {};
  const names = Object.keys(fields);
  const unknown: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    const known = table.get(key) ?? (loose ? table.get(snake(key)) : undefined);
    const here = place.inside(key);
    // Only a program passes undefined: an option that it omits.
    if (item === undefined) continue;
    if (known === undefined) {
      if (open) continue;
      unknown.push(key);
      here.mistake(() => `unknown ${called}; ${hint(nearestWord(key, names), names)}`, ': ');
    } else if (Object.hasOwn(values, known.name))
      here.mistake('is already given under another name');
    else if (item !== null || known.required || !loose) values[known.name] = known.read(item, here);
  }
  // A misspelt field is not reported as missing as well.
  const isMeant = (name: string) =>
    unknown.slice(0, MISSPELT_MAX).some((key) => nearestWord(key, names) === name);
  for (const { name, required } of new Set(table.values()))
    if (required && !Object.hasOwn(values, name) && !isMeant(name))
      place.mistake(`lacks the ${called} ${name}`);
  return values as Values<F>;
}

export const mapOf =
  <F extends Fields>(fields: F, options?: MapOptions): Read<Values<F>> =>
  (value, place) =>
    readMap(value, fields, place, options) ?? ({} as Values<F>);

const hint = (near: string | undefined, known: readonly string[]) =>
  near === undefined ? `expected one of: ${known.join(', ')}` : `did you mean ${near}?`;

/** For example `unknown agent "demmo"; did you mean demo?`. `what` names the kind of word. */
export const unknownWord = (what: string, word: string, known: readonly string[], edits = 2) =>
  `unknown ${what} ${quoted(word)}; ${hint(nearestWord(word, known, edits), known)}`;

/** The known word that a mistyped word may have meant: at most `edits` away, or beginning with it. */
export const nearestWord = (
  word: string,
  known: readonly string[],
  edits = 2,
): string | undefined =>
  closest(word, known, edits) ??
  known.find((name) => word.length >= PREFIX_CHARS_MIN && plain(name).startsWith(plain(word)));

/** The first of those with the fewest edits. */
function closest(word: string, known: readonly string[], edits: number): string | undefined {
  const far = known.map((name) => distance(plain(name), plain(word)));
  const least = Math.min(...far);
  return least <= edits ? known[far.indexOf(least)] : undefined;
}

/** Shorter prefixes match too many words. */
const PREFIX_CHARS_MIN = 4;

/** The same word in snake_case, kebab-case and camelCase. */
const plain = (word: string) => word.replace(/[-_]/g, '').toLowerCase();

/** Longer words are not compared: they cannot match a known word, and the comparison is slow. */
const WORD_CHARS_MAX = 64;

/** The edit distance between a known word and another word. */
function distance(a: string, b: string): number {
  if (b.length > WORD_CHARS_MAX) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}

const rule =
  <T>(holds: (value: unknown) => boolean, why: string, instead: T): Read<T> =>
  (value, place) => {
    if (holds(value)) return value as T;
    place.mistake(why);
    return instead;
  };

export const anything: Read = (value) => value;
export const flag = rule((value) => typeof value === 'boolean', 'must be true or false', false);
export const map = rule<Record<string, unknown>>(isMap, 'must be a map', {});
/** A text that may be empty. */
export const anyText = rule((value) => typeof value === 'string', 'must be a string', '');
export const text: Read<string> = (value, place) => {
  if (value === '') place.mistake('must not be empty');
  return anyText(value, place);
};

/** Numbers and booleans are converted to text. */
export const written =
  (read: Read<string>): Read<string> =>
  (value, place) =>
    read(typeof value === 'number' || typeof value === 'boolean' ? String(value) : value, place);

const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);
const range = (least: number, most: number) =>
  most >= Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;

export const figure = (least: number, most = Number.POSITIVE_INFINITY) =>
  rule(
    (value) => isNumber(value) && value >= least && value <= most,
    `must be a number ${range(least, most)}`,
    least,
  );
export const whole = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  rule(
    (value) => isNumber(value) && Number.isInteger(value) && value >= least && value <= most,
    `must be a whole number ${range(least, most)}`,
    least,
  );
export const ratio = figure(0, 1);
export const over0 = (what = 'a number') =>
  rule((value) => isNumber(value) && value > 0, `must be ${what} greater than 0`, 1);

/** `more`: further allowed values, for the message. */
export const oneOf = <const T>(words: readonly T[], more = ''): Read<T> =>
  rule(
    (value) => (words as readonly unknown[]).includes(value),
    `must be ${words.length === 1 ? words[0] : `one of ${words.join(', ')}`}${more}`,
    words[0] as T,
  );

export const orNull =
  <T>(read: Read<T>): Read<T | null> =>
  (value, place) =>
    value === null ? null : read(value, place);

/** Uses the first reader for values that pass the test, otherwise the second. */
export const when =
  <T, U>(test: (value: unknown) => boolean, first: Read<T>, second: Read<U>): Read<T | U> =>
  (value, place) =>
    test(value) ? first(value, place) : second(value, place);

export const listOf =
  <T>(read: Read<T>, why = 'must be a list'): Read<T[]> =>
  (value, place) => {
    if (Array.isArray(value)) return value.map((item, i) => read(item, place.inside(i)));
    place.mistake(why);
    return [];
  };

/** A list that is not empty. */
export const filled =
  <T>(read: Read<T[]>): Read<T[]> =>
  (value, place) => {
    if (Array.isArray(value) && value.length === 0) place.mistake('must not be empty');
    return read(value, place);
  };

export const texts = listOf(anyText, 'must be a list of strings');

/** A map with arbitrary keys. */
export const named =
  <T>(read: Read<T>, why = 'must be a map'): Read<Record<string, T>> =>
  (value, place) => {
    if (!isMap(value)) place.mistake(why);
    const entries = isMap(value) ? Object.entries(value) : [];
    return Object.fromEntries(entries.map(([key, item]) => [key, read(item, place.inside(key))]));
  };

/** For a known field without effect. */
export const unused =
  (why: string): Read =>
  (value, place) => {
    place.note(why);
    return value;
  };
