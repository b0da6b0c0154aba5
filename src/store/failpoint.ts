/** Places where a crash test ends this process: `TACHO_FAIL_AT=<place>:<nth>`. Nothing is done when it is not set. */
export type FailPlace =
  | 'before_write'
  | 'mid_write'
  | 'after_write'
  | 'after_sync'
  /** The new index is complete beside the old one. */
  | 'before_merge'
  /** A segment is to be removed: what is kept of it was written again. */
  | 'before_remove'
  /** The runs are in the journal, and not visible yet. */
  | 'before_visible'
  /** A session is in the journal again, and its earlier imports are there too. */
  | 'before_replace'
  /** The same; the earlier ones are written down as deleted. */
  | 'after_bury'
  /** A segment is packed, in part, under a name that is not its own. */
  | 'mid_pack'
  /** The same, all of it. */
  | 'before_packed'
  /** The packed segment has its name, and the plain one is still there. */
  | 'after_packed';

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
