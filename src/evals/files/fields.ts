/** Reading hand-written data by tables of fields: every mistake is told with its place, and reading goes on. */

export type Path = readonly (string | number)[];

/** A function: it takes time to say, and only the first mistakes are kept. */
export type Why = string | (() => string);

export interface Place {
  at: Path;
  mistake(at: Path, why: Why): void;
  /** A field that is known and has no effect. */
  note(at: Path, why: string): void;
}

/** The value in its right form; after a mistake anything, for the file is not used then. */
export type Read = (value: unknown, place: Place) => unknown;

export interface Field {
  read: Read;
  required?: true;
  /** Other spellings; camelCase of any name is one already. */
  also?: readonly string[];
}
export type Fields = Readonly<Record<string, Field>>;

export const inside = (place: Place, ...more: Path): Place => ({
  ...place,
  at: [...place.at, ...more],
});

const snake = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Spelling → name. A table is read by for thousands of tests. */
const spellings = new WeakMap<Fields, ReadonlyMap<string, string>>();

function spellingsOf(fields: Fields): ReadonlyMap<string, string> {
  const known = spellings.get(fields);
  if (known !== undefined) return known;
  const names = new Map(
    Object.entries(fields).flatMap(([name, { also = [] }]) =>
      [name, ...also].map((spelling) => [spelling, name] as const),
    ),
  );
  spellings.set(fields, names);
  return names;
}

/** The fields of a map by their first names; null when it is none. */
export function readMap(
  value: unknown,
  fields: Fields,
  place: Place,
): Record<string, unknown> | null {
  if (!isMap(value)) {
    place.mistake(place.at, 'must be a map');
    return null;
  }
  const names = spellingsOf(fields);
  const found: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const name = names.get(key) ?? names.get(snake(key));
    const here = inside(place, key);
    if (name === undefined) here.mistake(here.at, () => unknownField(key, Object.keys(fields)));
    else if (Object.hasOwn(found, name)) here.mistake(here.at, `is there already, as ${name}`);
    else if (item === null && fields[name]?.required !== true) continue;
    else found[name] = (fields[name] as Field).read(item, here);
  }
  for (const [name, field] of Object.entries(fields)) {
    if (field.required && !Object.hasOwn(found, name))
      place.mistake(place.at, `lacks the field ${name}`);
  }
  return found;
}

function unknownField(key: string, known: readonly string[]): string {
  const near = known.find((name) => distance(name, key) <= 2);
  return near === undefined
    ? `is no known field; known are ${known.join(', ')}`
    : `is no known field; did you mean ${near}?`;
}

/** A longer word is like none of ours, and comparing it would take long. */
const WORD_CHARS_MAX = 64;

/** Edits between a word of ours and another one. */
export function distance(a: string, b: string): number {
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
  (holds: (value: unknown) => boolean, why: string): Read =>
  (value, place) => {
    if (!holds(value)) place.mistake(place.at, why);
    return value;
  };

const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);

export const anything: Read = (value) => value;
export const text = rule((value) => typeof value === 'string' && value !== '', 'must be a text');
export const flag = rule((value) => typeof value === 'boolean', 'must be true or false');
export const figure = rule((value) => isNumber(value) && value >= 0, 'must be a number from 0 up');
export const seconds = rule((value) => isNumber(value) && value > 0, 'must be a number over 0');
export const ratio = rule(
  (value) => isNumber(value) && value >= 0 && value <= 1,
  'must be a number from 0 to 1',
);
export const whole = rule(
  (value) => Number.isInteger(value) && (value as number) >= 1,
  'must be a whole number from 1 up',
);
export const texts = rule(
  (value) =>
    Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string'),
  'must be a list of texts',
);
export const map = rule(isMap, 'must be a map');

/** A text; a number or a truth value is read as it is written. */
export const scalar: Read = (value, place) => {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return text(value, place);
};

/** A program with its arguments; a text is a line for the shell. */
export const command: Read = (value, place) => {
  if (typeof value === 'string' && value.trim() !== '') return ['sh', '-c', value];
  const list = Array.isArray(value) && value.length > 0 && value.every((item) => item !== '');
  if (!list || !value.every((item) => typeof item === 'string' || typeof item === 'number'))
    place.mistake(place.at, 'must be a list of texts, or a text for the shell');
  return list ? value.map(String) : [];
};

export const oneOf = (words: readonly string[]): Read =>
  rule(
    (value) => (words as readonly unknown[]).includes(value),
    `must be one of ${words.join(', ')}`,
  );

export const either =
  (first: Read, second: Read, why: string): Read =>
  (value, place) => {
    for (const read of [first, second]) {
      let wrong = false;
      const mistake = () => {
        wrong = true;
      };
      const result = read(value, { ...place, mistake });
      if (!wrong) return result;
    }
    place.mistake(place.at, why);
    return value;
  };

export const listOf =
  (read: Read): Read =>
  (value, place) => {
    if (Array.isArray(value)) return value.map((item, i) => read(item, inside(place, i)));
    place.mistake(place.at, 'must be a list');
    return [];
  };

export const mapOf =
  (fields: Fields): Read =>
  (value, place) =>
    readMap(value, fields, place) ?? {};

export const named =
  (read: Read): Read =>
  (value, place) => {
    map(value, place);
    const entries = isMap(value) ? Object.entries(value) : [];
    return Object.fromEntries(entries.map(([key, item]) => [key, read(item, inside(place, key))]));
  };

export const unused =
  (why: string): Read =>
  (value, place) => {
    place.note(place.at, why);
    return value;
  };
