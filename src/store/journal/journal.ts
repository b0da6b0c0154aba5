/**
 * The journal: append-only, durable, idempotent by session, source and number; the source of truth from which everything
 * else is rebuilt.
 * Contract: an append resolves only after its entries are synced. A session's source has one writer at a time;
 * different sessions may be written by different processes concurrently (ST-6).
 */
import { type Clock, systemClock } from '../../lib/clock.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { type RandomSource, systemRandom } from '../../lib/ids.ts';
import { type Catalogue, createCatalogue, createRanges } from '../index/catalogue.ts';
import { memoryIndex } from '../index/memory-index.ts';
import type { PositionIndex } from '../index/position-index.ts';
import { STORE_LIMITS } from '../limits.ts';
import { Appending, Job, type OnPlaced } from './appending.ts';
import { checkEntry, type Group, refusal } from './group.ts';
import type { JournalEntry } from './line.ts';
import { createSegment, type SegmentWriter, segmentName } from './segment.ts';
import { loadSession, Sessions } from './session-state.ts';
import type { AppendResult } from './state.ts';

export type { JournalEntry } from './line.ts';

export interface JournalOptions {
  /** The positions of sessions, so that known segments need not be read again. */
  index?: PositionIndex;
  /** A refreshed catalogue of the same index: later writes by others are not looked up. */
  catalogue?: Catalogue;
  clock?: Clock;
  random?: RandomSource;
  segment_bytes_max?: number;
}

export type Journal = ReturnType<typeof openJournal>;

export function openJournal(dir: string, options: JournalOptions = {}) {
  const out = createOutput(dir, options);
  const catalogue =
    options.catalogue === undefined
      ? createCatalogue(dir, out.index, out.inHand)
      : { ...options.catalogue, refresh: async () => [] };
  const { own } = out;
  const sessions = new Sessions((session) => loadSession({ dir, catalogue, session, own }));
  const appending = new Appending(sessions, {
    write: out.write,
    failed(cause) {
      const path = out.path();
      out.leave(cause instanceof TachoError);
      return fileError(cause, path, 'journal');
    },
  });
  let closed = false;

  /** Null if `bytes` more can be queued. */
  function refused(bytes: number): TachoError | null {
    if (closed) return refusal('it is closed');
    const { queued_bytes } = appending;
    const full = queued_bytes > 0 && queued_bytes + bytes > STORE_LIMITS.journal_queue_bytes_max;
    return full ? busy() : null;
  }

  return {
    /** Starts a session that cannot be in the journal yet, such as a new run: nothing is looked up for it. */
    begin: (session: string) => sessions.begin(session),
    async append(entries: readonly JournalEntry[]): Promise<AppendResult[]> {
      const sizes = entries.map(checkEntry);
      const error = refused(sizes.reduce((sum, size) => sum + size, 0));
      if (error !== null) throw error;
      if (entries.length === 0) return [];
      const job = new Job();
      const answer = appending.add(job);
      for (const [i, entry] of entries.entries()) appending.put(job, entry, sizes[i] as number);
      return answer;
    },
    /**
     * The same one by one: all entries put in the same tick are acknowledged together. The bytes of an entry may
     * change once `onPlaced` was called for it.
     */
    batch<E extends JournalEntry>(onPlaced: OnPlaced<E>) {
      const job = new Job(onPlaced as OnPlaced<JournalEntry>);
      const error = refused(0);
      return {
        answer: error === null ? appending.add(job) : Promise.reject(error),
        put(entry: E): void {
          if (error === null) appending.put(job, entry, checkEntry(entry));
        },
      };
    },
    /** The last stored number of a source. 0 if there is none. */
    async lastSeq(session: string, source: string): Promise<number> {
      // After everything queued now, but not after later appends of others.
      if (appending.working !== null) await appending.add(new Job()).catch(() => {});
      return (await sessions.load(session)).get(source)?.committed ?? 0;
    },
    /** Other processes may have added entries to sessions that this journal has written. */
    forget: () => sessions.forget(),
    /** Throws unless everything that this journal wrote is still in place. */
    check: out.check,
    /** Waits for queued entries, and for the packing of finished segments. */
    async close(): Promise<void> {
      closed = true;
      while (appending.working !== null) await appending.working;
      out.leave();
      await out.packed();
    },
  };
}

/** The current segment: created when first needed, finished when it is full or has failed. */
function createOutput(dir: string, options: JournalOptions) {
  const { clock = systemClock, random = systemRandom, index = memoryIndex() } = options;
  const bytes_max = options.segment_bytes_max ?? STORE_LIMITS.segment_bytes_max;
  const own = new Set<string>();
  let segment: SegmentWriter | null = null;
  const written: SegmentWriter[] = [];
  let ranges = createRanges('');
  /** One at a time, so that appends to the next segment have the rest of the machine. */
  let packing = Promise.resolve();

  /** `lost`: the segment must not be indexed. */
  function leave(lost = false): void {
    if (segment === null) return;
    const left = segment;
    left.close();
    segment = null;
    if (lost) return;
    try {
      index.cover(left.name, left.bytes, ranges.all);
    } catch {
      // The index can be rebuilt from the segments; a durable entry must not fail because of it.
    }
    packing = packing.then(left.pack);
  }

  function current(more: number): SegmentWriter {
    if (segment !== null && segment.bytes + more > bytes_max) leave();
    if (segment === null) {
      segment = createSegment(dir, segmentName(clock.now(), random));
      ranges = createRanges(segment.name);
      own.add(segment.name);
      written.push(segment);
    }
    return segment;
  }

  return {
    index,
    own,
    path: () => segment?.path ?? dir,
    inHand: () => (segment === null ? null : ranges),
    check() {
      for (const one of written) one.check();
    },
    async write(group: Group): Promise<void> {
      const writer = current(group.fill);
      const base = writer.bytes;
      await writer.write(group.bytes.subarray(0, group.fill));
      for (const run of group.runs) ranges.addRun({ ...run, offset: base + run.offset });
    },
    leave,
    /** Resolves once all finished segments are packed, or left unchanged. */
    packed: () => packing,
  };
}

function busy(): TachoError {
  const text = 'journal: too many bytes wait for the disk: wait for earlier appends';
  return new TachoError('busy', text, { stage: 'journal', retryable: true });
}
