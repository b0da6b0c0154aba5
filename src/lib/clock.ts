/** Time as a parameter. `now` is wall time in ms; `elapsed` never goes back. */
export interface Clock {
  now(): number;
  elapsed(): number;
}

export const systemClock: Clock = { now: Date.now, elapsed: () => performance.now() };

/** A clock that does not move, for byte-identical output (RE-19). */
export function fixedClock(at_ms: number): Clock {
  return { now: () => at_ms, elapsed: () => 0 };
}
