/**
 * Long series of problems and of stderr lines on one channel, even with records in between. The first ones of a run
 * become one event each. After those, problems are only counted, in one event at the end, and lines of stderr are
 * combined into events of many lines.
 * Contract: independent of the chunking. A recovery rebuilds a series from its lines if it was not returned yet.
 */

import type { Draft, DraftOf } from '../model/draft.ts';
import type { Event, Raw } from '../model/event.ts';
import { keptDetail } from './decode.ts';
import { CAPTURE_LIMITS } from './limits.ts';

interface Pending {
  first: Raw;
  last: Raw;
  bytes: number;
  /** Problems by stage and code. */
  problems: Map<string, { draft: DraftOf<'problem'>; count: number }>;
  text: string[];
}

export interface Given {
  draft: Draft;
  /** Null if it does not mark how far the channel was read. */
  raw: Raw | null;
}

/**
 * Whether an event ends the series of its channel and its whole raw line, so that a recovery does not read them
 * again.
 */
export function closesLine(event: Event): boolean {
  if (event.kind === 'problem')
    return event.data.code === 'spool_truncated' || event.data.count !== undefined;
  return event.kind === 'notice' && event.data.lines !== undefined;
}

export class Series {
  #seen = 0;
  /**
   * Problems that were returned at least once, by their stored form. A new problem is always returned, no matter how many there
   * are.
   */
  readonly #known = new Set<string>();
  #pending: Pending | null = null;
  /** The last line seen, of any kind. */
  #last: Raw | null = null;

  /**
   * The drafts of a line that become events now; the others are kept. `given`: a killed recorder has journalled them.
   */
  take(drafts: readonly Draft[], raw: Raw, bytes: number, given: boolean): readonly Draft[] {
    this.#last = raw;
    if (!drafts.some(isNoise)) return drafts;
    const now: Draft[] = [];
    const later: Draft[] = [];
    for (const draft of drafts) (this.#isLater(draft) ? later : now).push(draft);
    if (later.length > 0 && !given) this.#add(later, raw, bytes);
    return now;
  }

  #isLater(draft: Draft): boolean {
    if (!isNoise(draft)) return false;
    this.#seen += 1;
    return !this.#isNew(draft) && this.#seen > CAPTURE_LIMITS.series_lines_max;
  }

  #isNew({ kind, data }: Draft): boolean {
    if (kind !== 'problem' || this.#known.size >= CAPTURE_LIMITS.series_lines_max) return false;
    const { code, detail } = data as DraftOf<'problem'>['data'];
    const before = this.#known.size;
    return this.#known.add(`${code} ${keptDetail(detail)}`).size > before;
  }

  #add(drafts: readonly Draft[], raw: Raw, bytes: number): void {
    this.#pending ??= { first: raw, last: raw, bytes: 0, problems: new Map(), text: [] };
    const pending = this.#pending;
    pending.last = raw;
    pending.bytes += bytes;
    for (const draft of drafts) {
      if (draft.kind === 'notice') pending.text.push(draft.data.text ?? '');
      else if (draft.kind === 'problem') {
        const { stage, code } = draft.data;
        const known = pending.problems.get(`${stage} ${code}`);
        if (known === undefined) pending.problems.set(`${stage} ${code}`, { draft, count: 1 });
        else known.count += 1;
      }
    }
  }

  /** Whether drafts are kept for a later event. */
  get open(): boolean {
    return this.#pending !== null;
  }

  /** Whether there is enough text for an event. */
  get full(): boolean {
    return (
      this.#pending !== null &&
      this.#pending.text.length > 0 &&
      this.#pending.bytes >= CAPTURE_LIMITS.series_text_bytes
    );
  }

  /** Whether text is pending that a reader may be waiting for. */
  get hasText(): boolean {
    return this.#pending !== null && this.#pending.text.length > 0;
  }

  /** Ends the series. */
  end(): Given[] {
    const pending = this.#pending;
    if (pending === null) return [];
    this.#pending = null;
    const { text } = pending;
    const raw = this.#last;
    const counted = summary(pending);
    if (text.length === 0) return counted === null ? [] : [{ draft: counted, raw }];
    const data = { code: 'stderr', text: text.join('\n'), lines: text.length };
    const said: Given = { draft: { kind: 'notice', data }, raw };
    // Only the last event names the last line: if the recorder is killed between the two, the text must not be lost.
    return counted === null ? [said] : [{ draft: counted, raw: null }, said];
  }
}

/** Whether a draft may belong to a series. */
function isNoise(draft: Draft): boolean {
  return draft.kind === 'problem' || (draft.kind === 'notice' && draft.data.code === 'stderr');
}

function summary({ first, last, bytes, problems }: Pending): DraftOf<'problem'> | null {
  const kinds = [...problems.values()];
  const most = kinds.reduce<(typeof kinds)[number] | null>(
    (best, one) => (best === null || one.count > best.count ? one : best),
    null,
  );
  if (most === null) return null;
  const count = kinds.reduce((sum, one) => sum + one.count, 0);
  const { stage, code } = most.draft.data;
  const each = kinds.map((one) => `${one.draft.data.code}: ${one.count}`).join(', ');
  const detail = `more of these, only counted (${each}): line ${first.line} (byte ${first.offset}) to line ${last.line} (byte ${last.offset}) of ${first.channel}`;
  const size = bytes === 0 ? null : bytes;
  const data = { stage, code, detail, bytes: size, sha256: null, excerpt: null, count };
  return { kind: 'problem', data };
}
