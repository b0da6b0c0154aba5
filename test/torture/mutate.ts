/** Mutations of a recording: its bytes, lines, and record values. The same seed gives the same mutations. */
import type { Random } from './random.ts';

/** Property names of plain objects, and words with a meaning elsewhere. */
const WORDS = [
  ...[
    'constructor',
    '__proto__',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '__defineGetter__',
  ],
  ...['NaN', 'Infinity', '-Infinity', 'null', 'undefined', 'true', '', ' ', '0', '-1', '1e999'],
  ...[
    '../../etc/passwd',
    '/dev/stdout',
    'a\0b',
    '::error::x',
    '##[error]x',
    '<script>',
    '%00',
    '$(x)',
    '{{x}}',
  ],
];
const CONTROLS = [
  ...[
    '\u0000',
    '\u0007',
    '\u001b[2J',
    '\u001b]52;c;eA==\u0007',
    '\u009b31m',
    '\u007f',
    '\r',
    '\t',
    '\n',
    '\b',
  ],
  ...['\u202e', '\u2066', '\u200f', '\u2028', '\u2029', '\ufeff', '\ufffd', '\ufffe'],
];
const NUMBERS = [
  ...[0, -0, -1, 1, 0.1, -0.5, 255, 65_536, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53, 2 ** 53 + 2],
  ...[-(2 ** 53), 1e21, 1e300, -1e300, 5e-324, 8_640_000_000_000_001, -62_198_755_200_001],
];
/** Not JSON.stringify: a lone surrogate as an escape. */
const LONE = '\\ud800';

const nested = (depth: number): unknown => {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

type MakeValue = (random: Random) => unknown;

const VALUES: readonly MakeValue[] = [
  (random) => random.pick(WORDS),
  (random) => random.pick(CONTROLS) + random.pick(WORDS) + random.pick(CONTROLS),
  (random) => random.pick(NUMBERS),
  (random) => -random.below(1_000_000),
  (random) => String(random.pick(NUMBERS)),
  (random) => 'x'.repeat(random.pick([100, 4_095, 4_096, 4_097, 70_000])),
  (random) => '😀é'.repeat(random.pick([10, 1_365, 20_000])),
  (random) => nested(random.pick([3, 30, 199, 201, 900])),
  () => null,
  () => true,
  () => [],
  () => ({}),
  () => [null, [], {}],
  () => ({ type: 'constructor', status: '__proto__', id: null }),
  (random) => ({ [random.pick(WORDS)]: random.pick(NUMBERS) }),
  () => 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789',
  (random) => `${LONE}${random.pick(WORDS)}`,
  () => '2026-13-45T99:99:99Z',
  () => '9999-12-31T23:59:59.999Z',
];

type Change = (bytes: Buffer, random: Random, other: Buffer) => Buffer;

const splice = (bytes: Buffer, from: number, to: number, middle: Buffer) =>
  Buffer.concat([bytes.subarray(0, from), middle, bytes.subarray(to)]);

const linesOf = (bytes: Buffer) => bytes.toString('latin1').split(/(?<=\n)/);
const joined = (lines: readonly string[]) => Buffer.from(lines.join(''), 'latin1');

const BAD_BYTES = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
  [0],
];

/** Mutations of any bytes. */
export const BYTE_CHANGES: readonly Change[] = [
  (bytes, random) => {
    const at = random.below(bytes.length);
    return splice(bytes, at, at + 1, Buffer.from([(bytes[at] ?? 0) ^ (1 << random.below(8))]));
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return splice(bytes, at, at, Buffer.from(random.pick(BAD_BYTES)));
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return splice(
      bytes,
      at,
      at,
      Buffer.from(random.pick(['"', '{', '}', ',', '\n', '\\', 'null'])),
    );
  },
  (bytes, random) => {
    const at = random.below(bytes.length);
    return splice(bytes, at, at + 1 + random.below(20), Buffer.alloc(0));
  },
  (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  (bytes, random) => bytes.subarray(random.below(bytes.length)),
  (bytes, random) => {
    const at = random.below(bytes.length);
    return splice(bytes, at, at + random.below(300), Buffer.alloc(random.below(300)));
  },
];

/** Mutations of lines. */
const LINE_CHANGES: readonly Change[] = [
  (bytes, random) => {
    const lines = linesOf(bytes);
    const at = random.below(lines.length);
    const line = lines[at] as string;
    lines.splice(random.below(lines.length), 0, ...Array(1 + random.below(3)).fill(line));
    return joined(lines);
  },
  (bytes, random) => {
    const lines = linesOf(bytes);
    lines.splice(random.below(lines.length), 1 + random.below(3));
    return joined(lines);
  },
  (bytes, random) => {
    const lines = linesOf(bytes);
    const [a, b] = [random.below(lines.length), random.below(lines.length)];
    [lines[a], lines[b]] = [lines[b] as string, lines[a] as string];
    return joined(lines);
  },
  (bytes, random) => {
    const lines = linesOf(bytes);
    const at = random.below(lines.length);
    const line = lines[at] as string;
    lines[at] = `${line.slice(0, random.below(line.length + 1))}\n`;
    return joined(lines);
  },
  (bytes, random) => joined(random.shuffled(linesOf(bytes))),
  (bytes, random, other) => {
    const [mine, theirs] = [linesOf(bytes), linesOf(other)];
    const at = random.below(mine.length + 1);
    const from = random.below(theirs.length);
    mine.splice(at, random.below(4), ...theirs.slice(from, from + 1 + random.below(20)));
    return joined(mine);
  },
];

type Container = Record<string | number, unknown>;

/** Every value in a record, with its place. */
function placesIn(value: unknown, found: [Container, string | number][] = []) {
  if (typeof value !== 'object' || value === null) return found;
  const holder = value as Container;
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    found.push([holder, key]);
    placesIn(holder[key], found);
  }
  return found;
}

function changeRecord(record: unknown, random: Random): void {
  const places = placesIn(record);
  if (places.length === 0) return;
  const [holder, key] = random.pick(places);
  const way = random.below(10);
  if (way === 0 && !Array.isArray(holder)) delete holder[key];
  else if (way === 1 && !Array.isArray(holder)) {
    Object.defineProperty(holder, random.pick(WORDS), {
      value: holder[key],
      enumerable: true,
      configurable: true,
    });
  } else if (way === 2) {
    const [from, other] = random.pick(places);
    holder[key] = structuredClone(from[other]);
  } else if (way <= 4) {
    // A word of the agent's vocabulary becomes a property name of every object.
    const words = places.filter(([from, at]) => isWord(from[at]));
    const [from, at] = words.length === 0 ? ([holder, key] as const) : random.pick(words);
    from[at] = random.pick(WORDS);
  } else holder[key] = random.pick(VALUES)(random);
}

const isWord = (value: unknown) => typeof value === 'string' && /^[\w-]{1,24}$/.test(value);

/** Mutations of the values of a record in one of the lines. */
const changeValue: Change = (bytes, random) => {
  const lines = bytes.toString('utf8').split(/(?<=\n)/);
  const at = random.below(lines.length);
  try {
    const record: unknown = JSON.parse(lines[at] as string);
    for (let times = 1 + random.below(3); times > 0; times--) changeRecord(record, random);
    // The escape of a lone surrogate becomes a lone surrogate in the text.
    lines[at] = `${JSON.stringify(record).replaceAll(`\\${LONE}`, LONE)}\n`;
  } catch {
    return bytes;
  }
  return Buffer.from(lines.join(''));
};

/** Several mutations, most of them of values: those reach furthest. */
export function mutate(bytes: Buffer, random: Random, other: Buffer): Buffer {
  let changed = bytes;
  for (let times = 1 + random.below(6); times > 0; times--) {
    if (changed.length === 0) break;
    const way = random.next();
    if (way < 0.6) changed = changeValue(changed, random, other);
    else if (way < 0.85) changed = random.pick(LINE_CHANGES)(changed, random, other);
    else changed = random.pick(BYTE_CHANGES)(changed, random, other);
  }
  return changed;
}

/** Mutations of text that is not JSON: bytes, lines, and hostile words in place of some words. */
export function mutateText(bytes: Buffer, random: Random): Buffer {
  let changed = bytes;
  for (let times = 1 + random.below(5); times > 0; times--) {
    if (changed.length === 0) break;
    const way = random.next();
    if (way < 0.5) changed = changeWord(changed, random);
    else if (way < 0.8) changed = random.pick(LINE_CHANGES)(changed, random, bytes);
    else changed = random.pick(BYTE_CHANGES)(changed, random, bytes);
  }
  return changed;
}

function changeWord(bytes: Buffer, random: Random): Buffer {
  const text = bytes.toString('utf8');
  const words = [...text.matchAll(/[\w./-]+/g)];
  if (words.length === 0) return bytes;
  const word = random.pick(words);
  const value = random.pick(VALUES)(random);
  const other = typeof value === 'string' && random.is(0.5) ? value : JSON.stringify(value);
  return Buffer.from(text.slice(0, word.index) + other + text.slice(word.index + word[0].length));
}
