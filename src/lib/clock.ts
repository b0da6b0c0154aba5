/** An injectable clock. `now` is wall time in ms; `elapsed` never decreases. */
export interface Clock {
  /** Wall time, in milliseconds since 1970. */
  now(): number;
  /** Milliseconds since any fixed moment. Never decreases. */
  elapsed(): number;
}

/** Uses `process.hrtime`, which is always loaded: the first use of `performance` loads a module in 1 ms. */
function elapsed(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

export const systemClock: Clock = { now: Date.now, elapsed };

/** A clock that does not move, for byte-identical output (RE-19). */
export function fixedClock(at_ms: number): Clock {
  return { now: () => at_ms, elapsed: () => 0 };
}
