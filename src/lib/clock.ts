/** Time as a parameter. `now` is wall time in ms; `elapsed` never goes back. */
export interface Clock {
  now(): number;
  elapsed(): number;
}

/** By the clock that Node has anyway: the first use of `performance` loads a module of 1 ms. */
function elapsed(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

export const systemClock: Clock = { now: Date.now, elapsed };

/** A clock that does not move, for byte-identical output (RE-19). */
export function fixedClock(at_ms: number): Clock {
  return { now: () => at_ms, elapsed: () => 0 };
}
