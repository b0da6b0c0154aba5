/** Before runs are read, the index is completed from the journal: it may have been lost, or its writer killed. */
import { bytesText, plural } from '../../lib/figures.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { unclosed } from '../../store/index/segment-book.ts';
import { closeEnded, type FoundSegment } from '../../store/index/watch-segments.ts';
import { listSegments, segmentBytes } from '../../store/journal/scan.ts';
import { mayGrow } from '../../store/journal/segment.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { tryStoreLock } from '../../store/store-lock.ts';
import { APP_LIMITS } from '../limits.ts';

export type Say = (text: string) => void;

/**
 * Sizes of the segments with unsettled content. If no run is listed, nothing counts as settled: someone may have
 * emptied the list. A segment that a running tacho writes is left to that process, which saves its outcomes itself.
 */
export function settleable(state: StateDir, index: Index): Map<string, number> {
  const { journal } = state;
  const none = index.runIds(1).length === 0;
  const segments = none
    ? listSegments(journal)
    : [...unclosed(journal, index.book), ...index.unsettled()].sort();
  const found = new Map<string, number>();
  const done: FoundSegment[] = [];
  for (const segment of segments) {
    const bytes = segmentBytes(journal, segment);
    const settled = none ? 0 : index.settledBytes(segment);
    if (bytes <= settled) done.push({ segment, bytes });
    else if (!mayGrow(journal, segment)) found.set(segment, bytes);
  }
  closeEnded(journal, index.book, done);
  return found;
}

/** Adds missing runs and reports them. */
export async function catchUp(state: StateDir, index: Index, say: Say): Promise<void> {
  const moved_to = index.moved_to;
  const found = settleable(state, index);
  if (moved_to !== null)
    say(`warning: the index was damaged and is now ${forTerminal(moved_to)}; it is rebuilt`);
  if (found.size === 0) return;
  const release = tryStoreLock(state);
  if (release === null) {
    say('note: another command is changing the store; the list may be incomplete');
    return;
  }
  try {
    const bytes = [...found.values()].reduce((sum, one) => sum + one, 0);
    if (bytes > APP_LIMITS.catch_up_quiet_bytes)
      say(`note: the index lacks part of the journal; reading ${bytesText(bytes)}`);
    // Loaded here: usually the index is complete and needs none of this.
    const { settle } = await import('./settle.ts');
    const { added, foreign, report } = await settle(state, index, found);
    if (added.length > 0)
      say(`note: ${plural(added.length, 'run')} missing from the index, added from the journal`);
    if (report.unreadable > 0)
      say(
        `warning: ${plural(report.unreadable, 'segment')} of the journal cannot be read; runs in them are not listed`,
      );
    if (foreign > 0)
      say(`warning: ${plural(foreign, 'run')} with damaged entries: see tacho runs verify`);
  } finally {
    release();
  }
}

/** Makes the index of a state folder complete, for commands that read runs. */
export async function catchUpState(state: StateDir, say: Say): Promise<void> {
  using index = openIndex(state);
  await catchUp(state, index, say);
}
