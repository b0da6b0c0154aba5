/** Two runs call by call: equal, changed, moved, added and removed calls, and the first divergence. Pure. */
import type { AlignedCall, CallAlignment } from '../../model/comparison.ts';
import type { CallMark } from '../../model/words.ts';
import type { CallFacts } from './call-facts.ts';
import { pairCalls, similarityOf } from './pairs.ts';

/** Options of `alignCalls`. */
export interface AlignOptions {
  /** Compare only status and exit code of results, not outputs. Default: false. */
  ignoreOutputs?: boolean | undefined;
}

/** A moved call is in both runs, but not in the same order. */
const MOVED_WEIGHT = 0.5;

function resultOf(a: CallFacts, b: CallFacts, outputs: boolean): 'equal' | 'changed' | null {
  const [one, other] = [a.call, b.call];
  if (one.status === 'unknown' || other.status === 'unknown') return null;
  if (one.status !== other.status) return 'changed';
  const codes = one.exit_code !== null && other.exit_code !== null;
  if (codes && one.exit_code !== other.exit_code) return 'changed';
  const differ = a.output !== null && b.output !== null && a.output !== b.output;
  return outputs && differ ? 'changed' : 'equal';
}

/** By index of `a`: the equal call of `b` that no order of calls pairs with it. */
function movesOf(a: readonly CallFacts[], b: readonly CallFacts[], paired: Paired) {
  const free = new Map<string, number[]>();
  for (const [j, { key }] of b.entries()) {
    if (paired.b.has(j)) continue;
    const list = free.get(key);
    if (list === undefined) free.set(key, [j]);
    else list.push(j);
  }
  // The first is taken first: the lists are read from their ends.
  for (const list of free.values()) list.reverse();
  const moves = new Map<number, number>();
  for (const [i, { key }] of a.entries()) {
    if (paired.a.has(i)) continue;
    const j = free.get(key)?.pop();
    if (j !== undefined) moves.set(j, i);
  }
  return moves;
}

interface Paired {
  a: ReadonlySet<number>;
  b: ReadonlySet<number>;
}

/**
 * Aligns the calls of two runs. Two calls are the same if their tools are equal and their inputs are equal or similar.
 * The result is the same for the same calls, and the work grows with the number of calls, not with its square.
 */
export function alignCalls(
  a: readonly CallFacts[],
  b: readonly CallFacts[],
  { ignoreOutputs = false }: AlignOptions = {},
): CallAlignment {
  const pairs = pairCalls(a, b);
  const paired = { a: new Set(pairs.map(([i]) => i)), b: new Set(pairs.map(([, j]) => j)) };
  const moves = movesOf(a, b, paired);
  const moved = new Set(moves.values());
  const calls: AlignedCall[] = [];
  let common = 0;
  const both = (i: number, j: number, mark: CallMark | null) => {
    const [one, other] = [a[i] as CallFacts, b[j] as CallFacts];
    const input = one.key === other.key ? 'equal' : 'changed';
    const result = resultOf(one, other, !ignoreOutputs);
    const same = input === 'equal' && result !== 'changed';
    common += mark === null ? similarityOf(one, other) : MOVED_WEIGHT;
    calls.push({
      ...{ mark: mark ?? (same ? 'equal' : 'changed'), a: one.call, b: other.call },
      ...{ input, result },
    });
  };
  const nothing = { input: null, result: null };
  let i = 0;
  let j = 0;
  for (const [to_i, to_j] of [...pairs, [a.length, b.length] as const]) {
    for (; i < to_i; i++)
      if (!moved.has(i))
        calls.push({ mark: 'removed', a: (a[i] as CallFacts).call, b: null, ...nothing });
    for (; j < to_j; j++) {
      const from = moves.get(j);
      if (from !== undefined) both(from, j, 'moved');
      else calls.push({ mark: 'added', a: null, b: (b[j] as CallFacts).call, ...nothing });
    }
    if (to_i < a.length || to_j < b.length) both(i++, j++, null);
  }
  const first = calls.findIndex(({ mark }) => mark !== 'equal');
  const all = a.length + b.length;
  return {
    calls,
    counts: countsOf(calls),
    first_divergence: first < 0 ? null : first,
    distance: all === 0 ? 0 : Math.max(0, 1 - (2 * common) / all),
  };
}

function countsOf(calls: readonly AlignedCall[]): CallAlignment['counts'] {
  const counts = { equal: 0, changed: 0, moved: 0, added: 0, removed: 0 };
  for (const { mark } of calls) counts[mark] += 1;
  return counts;
}
