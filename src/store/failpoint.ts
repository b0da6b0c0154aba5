/**
 * Points at which a crash test kills this process: `TACHO_FAIL_AT=<place>:<nth>`. Without the variable, nothing happens.
 */
export type FailPlace =
  | 'before_write'
  | 'mid_write'
  | 'after_write'
  | 'after_sync'
  /** The new index is complete, in a file next to the old one. */
  | 'before_merge'
  /** A segment is about to be removed; the part to keep was rewritten. */
  | 'before_remove'
  /** The runs are in the journal, but not visible yet. */
  | 'before_visible'
  /** A session is in the journal again, and so are its earlier imports. */
  | 'before_replace'
  | 'before_row'
  /** Imported sessions have their rows; how far their files were read is not stored yet. */
  | 'before_places'
  /** The same, and the earlier imports are recorded as deleted. */
  | 'after_bury'
  /** A segment is partly packed, under a temporary name. */
  | 'mid_pack'
  /** A segment is fully packed, under a temporary name. */
  | 'before_packed'
  /** The packed segment has its final name; the plain one still exists. */
  | 'after_packed';

const [place, nth] = (process.env.TACHO_FAIL_AT ?? '').split(':');
let left = place ? Number(nth ?? 1) : 0;

/** Whether to fail at this point. */
export function failsAt(here: FailPlace): boolean {
  if (left === 0 || here !== place) return false;
  left -= 1;
  return left === 0;
}

/** Kills the process as a power failure would: no handler runs, nothing is flushed. */
export function dieHere(): void {
  process.kill(process.pid, 'SIGKILL');
}
