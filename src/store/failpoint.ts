/** Places where a crash test ends this process: `TACHO_FAIL_AT=<place>:<nth>`. Nothing is done when it is not set. */
export type FailPlace = 'before_write' | 'mid_write' | 'after_write' | 'after_sync';

const [place, nth] = (process.env.TACHO_FAIL_AT ?? '').split(':');
let left = place ? Number(nth ?? 1) : 0;

/** Whether this is the place and the time to fail. */
export function failsAt(here: FailPlace): boolean {
  if (left === 0 || here !== place) return false;
  left -= 1;
  return left === 0;
}

/** Ends the process as a power cut would: no handler runs, nothing is flushed. */
export function dieHere(): void {
  process.kill(process.pid, 'SIGKILL');
}
