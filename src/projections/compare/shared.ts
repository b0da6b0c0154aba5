/** Several runs of one task: the calls that all of them share, and the places where they part (RR-2). Pure. */
import type { CallAlignment, CallRef, Parting, Spread } from '../../model/comparison.ts';
import { PROJECTION_LIMITS } from '../limits.ts';
import type { CallFacts } from './call-facts.ts';

/** The reference's calls, and those of the other runs, each with its alignment with the reference. */
export interface Aligned {
  runs: readonly (readonly CallFacts[])[];
  reference: number;
  alignments: readonly ({ run: number } & Pick<CallAlignment, 'calls'>)[];
}

export function sharedOf({ runs, reference, alignments }: Aligned): {
  shared: CallRef[];
  partings: Parting[];
} {
  const base = runs[reference] ?? [];
  /** By number in the reference: the index in each run. Moved calls are not in the same order. */
  const places = base.map((_, at) => new Map([[reference, at]]));
  for (const { run, calls } of alignments)
    for (const { mark, a, b } of calls)
      if (a !== null && b !== null && mark !== 'moved')
        places[a.number - 1]?.set(run, b.number - 1);
  const shared = places.filter(({ size }) => size === runs.length);
  const partings: Parting[] = [];
  const next = runs.map(() => 0);
  for (let after = 0; after <= shared.length; after++) {
    const between = runs.map((calls, run) => {
      const end = shared[after]?.get(run) ?? calls.length;
      const some = calls.slice(next[run], end);
      next[run] = end + 1;
      return some;
    });
    if (between.some((calls) => calls.length > 0)) partings.push({ after, ways: waysOf(between) });
  }
  return {
    shared: shared.map((at) => (base[at.get(reference) as number] as CallFacts).call),
    partings,
  };
}

function waysOf(between: readonly (readonly CallFacts[])[]): Parting['ways'] {
  const runs = between.map((calls, run) => ({ calls, run }));
  const groups = Map.groupBy(runs, ({ calls }) => calls.map(({ key }) => key).join('\n'));
  return [...groups.values()].map((group) => {
    const calls = group[0]?.calls ?? [];
    const listed = calls.slice(0, PROJECTION_LIMITS.parting_calls_max).map(({ call }) => call);
    return { runs: group.map(({ run }) => run), count: calls.length, calls: listed };
  });
}

/** Quartiles by linear interpolation between the closest values. */
export function spreadOf(figures: readonly (number | null)[]): Spread {
  const known = figures.filter((figure) => figure !== null).sort((a, b) => a - b);
  const at = (share: number): number | null => {
    if (known.length === 0) return null;
    const place = share * (known.length - 1);
    const low = known[Math.floor(place)] as number;
    const high = known[Math.ceil(place)] as number;
    return low + (high - low) * (place - Math.floor(place));
  };
  return {
    known: known.length,
    unknown: figures.length - known.length,
    ...{ min: at(0), q1: at(0.25), median: at(0.5), q3: at(0.75), max: at(1) },
  };
}
