/** Assigns expected steps to calls: the best assignment, not the first possible one. */

export interface Sides {
  steps: readonly unknown[];
  calls: readonly unknown[];
  /** Points of a step for a call; 0 if they do not match. */
  points(step: number, call: number): number;
  /** The maximum points of a step. */
  full(step: number): number;
}

/** Step → call, or -1. */
export type Assignment = Int32Array;

const none = (steps: number): Assignment => new Int32Array(steps).fill(-1);

/** In order, with gaps: the assignment with the most points. */
export const matchInOrder = (sides: Sides): Assignment => firstFit(sides) ?? bestFit(sides);

/** Every step at its first call with full points, if there is one: nothing can be better. */
function firstFit({ steps: { length: steps }, calls, points, full }: Sides): Assignment | null {
  const found = none(steps);
  let call = 0;
  for (let step = 0; step < steps; step++) {
    while (call < calls.length && points(step, call) < full(step)) call += 1;
    if (call === calls.length) return null;
    found[step] = call;
    call += 1;
  }
  return found;
}

function bestFit({
  steps: { length: steps },
  calls: { length: calls },
  points,
}: Sides): Assignment {
  const width = calls + 1;
  // best[step * width + call]: the most points of the steps from `step` with the calls from `call`.
  const best = new Uint32Array((steps + 1) * width);
  const at = (step: number, call: number) => best[step * width + call] as number;
  for (let step = steps - 1; step >= 0; step--) {
    for (let call = calls - 1; call >= 0; call--) {
      const own = points(step, call);
      const taken = own === 0 ? 0 : own + at(step + 1, call + 1);
      best[step * width + call] = Math.max(at(step + 1, call), at(step, call + 1), taken);
    }
  }
  const found = none(steps);
  for (let step = 0, call = 0; step < steps && call < calls; ) {
    const own = points(step, call);
    if (own > 0 && at(step, call) === own + at(step + 1, call + 1)) found[step++] = call++;
    else if (at(step, call) === at(step + 1, call)) step += 1;
    else call += 1;
  }
  return found;
}

/** In any order, each call for one step: as many steps as possible, those with full points first. */
export function matchAnyOrder(sides: Sides): Assignment {
  const { points, full } = sides;
  const [steps, calls] = [sides.steps.length, sides.calls.length];
  const found = none(steps);
  const taken = none(calls);
  const fitting = (least: (step: number) => number) =>
    Array.from({ length: steps }, (_, step) => {
      const list: number[] = [];
      for (let call = 0; call < calls; call++) {
        if (points(step, call) >= least(step)) list.push(call);
      }
      return list;
    });
  const assign = (lists: readonly (readonly number[])[]) => {
    for (let step = 0; step < steps; step++) {
      if (found[step] === -1) makeRoom(step, lists, { found, taken, seen: new Set() });
    }
  };
  assign(fitting(full));
  if (found.includes(-1)) assign(fitting(() => 1));
  return found;
}

interface Matching {
  found: Assignment;
  taken: Int32Array;
  seen: Set<number>;
}

/** Assigns a call to the step, moving other steps to another call if that helps. */
function makeRoom(step: number, lists: readonly (readonly number[])[], matching: Matching) {
  const { found, taken, seen } = matching;
  for (const call of lists[step] as readonly number[]) {
    if (seen.has(call)) continue;
    seen.add(call);
    const holder = taken[call] as number;
    if (holder !== -1 && !makeRoom(holder, lists, matching)) continue;
    taken[call] = step;
    found[step] = call;
    return true;
  }
  return false;
}
