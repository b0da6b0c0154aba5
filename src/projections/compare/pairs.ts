/**
 * Pairs the calls of two runs, in order. Contract: pure, deterministic; at most every call with `compared_window_calls`
 * calls on either side. Long lists are split at calls that occur once in both, which is what keeps the window on the
 * right place.
 */
import { PROJECTION_LIMITS } from '../limits.ts';
import { alignNear } from './band.ts';
import { type CallFacts, likeness } from './call-facts.ts';

const EQUAL_GAIN = 2;
/** Fewer calls to split at may be accidents: a single moved call would separate everything else. */
const ANCHORS_MIN_SHARE = 1 / 16;
const SPLITS_MAX = 8;

/** From 0 to 1. Half of it is the command or path, half the whole input. Below the minimum, it is 0. */
export function similarityOf(a: CallFacts, b: CallFacts): number {
  if (a.call.tool !== b.call.tool) return 0;
  return a.key === b.key ? 1 : likeness(a, b);
}

/** Numbers instead of texts: most of the work is to compare them. */
interface Numbered {
  calls: readonly CallFacts[];
  keys: Int32Array;
  tools: Int32Array;
}

function numbering() {
  const numbers = new Map<string, number>();
  const numberOf = (text: string) => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  };
  return (calls: readonly CallFacts[]): Numbered => ({
    calls,
    keys: Int32Array.from(calls, ({ key }) => numberOf(key)),
    tools: Int32Array.from(calls, ({ call }) => numberOf(`\n${call.tool}`)),
  });
}

type Pair = [a: number, b: number];

/** A part of both lists, up to the ends. */
interface Range {
  a: number;
  b: number;
  a_end: number;
  b_end: number;
}

/** Pairs of indices, both ascending. */
export function pairCalls(left: readonly CallFacts[], right: readonly CallFacts[]): Pair[] {
  const pairs: Pair[] = [];
  const numbered = numbering();
  const [a, b] = [numbered(left), numbered(right)];
  pairRange(a, b, { a: 0, b: 0, a_end: left.length, b_end: right.length }, { pairs, splits: 0 });
  return pairs;
}

interface Work {
  pairs: Pair[];
  splits: number;
}

function pairRange(a: Numbered, b: Numbered, given: Range, { pairs, splits }: Work): void {
  const range = { ...given };
  const same = (i: number, j: number) => a.keys[i] === b.keys[j];
  while (range.a < range.a_end && range.b < range.b_end && same(range.a, range.b))
    pairs.push([range.a++, range.b++]);
  const ends: Pair[] = [];
  while (range.a < range.a_end && range.b < range.b_end && same(range.a_end - 1, range.b_end - 1))
    ends.push([--range.a_end, --range.b_end]);
  const rows = range.a_end - range.a;
  const columns = range.b_end - range.b;
  const small = rows * columns <= PROJECTION_LIMITS.compared_pairs_max;
  const anchors = small || splits >= SPLITS_MAX ? [] : anchorsIn(a, b, range);
  if (anchors.length <= Math.min(rows, columns) * ANCHORS_MIN_SHARE)
    for (const [i, j] of pairsNear(a, b, range, small)) pairs.push([i, j]);
  else {
    for (const [i, j] of [...anchors, [range.a_end, range.b_end] as Pair]) {
      pairRange(a, b, { ...range, a_end: i, b_end: j }, { pairs, splits: splits + 1 });
      if (i < range.a_end) pairs.push([i, j]);
      range.a = i + 1;
      range.b = j + 1;
    }
  }
  for (const pair of ends.reverse()) pairs.push(pair);
}

function pairsNear(a: Numbered, b: Numbered, range: Range, small: boolean): Pair[] {
  const rows = range.a_end - range.a;
  const columns = range.b_end - range.b;
  const gain = (row: number, column: number) => {
    const i = range.a + row;
    const j = range.b + column;
    if (a.tools[i] !== b.tools[j]) return 0;
    if (a.keys[i] === b.keys[j]) return EQUAL_GAIN;
    return likeness(a.calls[i] as CallFacts, b.calls[j] as CallFacts);
  };
  const window = small ? Math.min(rows, columns) : PROJECTION_LIMITS.compared_window_calls;
  const found =
    rows >= columns
      ? alignNear({ rows, columns, gain }, window)
      : alignNear({ rows: columns, columns: rows, gain: (i, j) => gain(j, i) }, window).map(
          ([j, i]): Pair => [i, j],
        );
  return found.map(([i, j]) => [range.a + i, range.b + j]);
}

/** The longest ascending series of equal calls that occur exactly once in both parts. */
function anchorsIn(a: Numbered, b: Numbered, range: Range): Pair[] {
  const onceIn = ({ keys }: Numbered, from: number, to: number) => {
    const places = new Map<number, number>();
    for (let at = from; at < to; at++) {
      const key = keys[at] as number;
      places.set(key, places.has(key) ? -1 : at);
    }
    return places;
  };
  const in_b = onceIn(b, range.b, range.b_end);
  const common: Pair[] = [];
  for (const [key, i] of onceIn(a, range.a, range.a_end)) {
    const j = in_b.get(key) ?? -1;
    if (i >= 0 && j >= 0) common.push([i, j]);
  }
  return ascending(common.sort((x, y) => x[0] - y[0]));
}

/** The longest series of pairs in which both numbers ascend; the first numbers are in order. */
function ascending(pairs: readonly Pair[]): Pair[] {
  /** The index of the pair with the smallest end of a series of each length. */
  const ends: number[] = [];
  const before = new Int32Array(pairs.length).fill(-1);
  for (const [at, [, value]] of pairs.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] as number] as Pair)[1] < value) low = middle + 1;
      else high = middle;
    }
    if (low > 0) before[at] = ends[low - 1] as number;
    ends[low] = at;
  }
  const series: Pair[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] as number)
    series.push(pairs[at] as Pair);
  return series.reverse();
}
