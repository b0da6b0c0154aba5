/**
 * The journal: append-only, durable, idempotent by session, source and number; the truth that all else is rebuilt from.
 * Contract: an append resolves only after its entries are synced. Of a session's source there is one writer at a time;
 * different sessions may be written by different processes at once (ST-6).
 */
import { type Clock, systemClock } from '../../lib/clock.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { type RandomSource, systemRandom } from '../../lib/ids.ts';
import {
  createCatalogue,
  createRanges,
  memoryIndex,
  type PositionIndex,
} from '../index/catalogue.ts';
import { STORE_LIMITS } from '../limits.ts';
import { checkEntries, type Group, newGroup, place, refusal } from './group.ts';
import type { JournalEntry } from './line.ts';
import { createSegment, type SegmentWriter, segmentName } from './segment.ts';
import { loadSession, Sessions } from './session-state.ts';
import type { AppendResult } from './state.ts';

export type { JournalEntry } from './line.ts';

export interface JournalOptions {
  /** Where sessions lie, so that known segments need not be read again. */
  index?: PositionIndex;
  clock?: Clock;
  random?: RandomSource;
  segment_bytes_max?: number;
}

export type Journal = ReturnType<typeof openJournal>;

interface Job {
  entries: readonly JournalEntry[];
  results: AppendResult[];
  bytes: number;
  resolve: (results: AppendResult[]) => void;
  reject: (error: unknown) => void;
}

export function openJournal(dir: string, options: JournalOptions = {}) {
  const out = createOutput(dir, options);
  const catalogue = createCatalogue(dir, out.index, out.inHand);
  const { own } = out;
  const sessions = new Sessions((session) => loadSession({ dir, catalogue, session, own }));
  const queue: Job[] = [];
  let queued_bytes = 0;
  let working: Promise<void> | null = null;
  let closed = false;

  /** Back to back: whatever came while one group was synced is the next. */
  async function work(): Promise<void> {
    while (queue.length > 0) {
      try {
        await commitGroup(queue, sessions, out);
        finish(doneIn(queue), ({ resolve, results }) => resolve(results));
      } catch (error) {
        // Later entries would only find a gap where these are missing.
        finish(queue.length, (job) => job.reject(error));
      }
    }
  }

  function finish(count: number, answer: (job: Job) => void): void {
    const jobs = queue.splice(0, count);
    for (const { bytes } of jobs) queued_bytes -= bytes;
    jobs.forEach(answer);
  }

  async function start(): Promise<void> {
    // What the caller appends in the same turn joins the first group.
    await null;
    // Those whose appends were just answered may have appended again.
    do await work();
    while (queue.length > 0);
    working = null;
  }

  const enqueue = (entries: readonly JournalEntry[], bytes: number) =>
    new Promise<AppendResult[]>((resolve, reject) => {
      queue.push({ entries, results: [], bytes, resolve, reject });
    });

  return {
    /** A session that cannot be in the journal yet, as a run just begun: nothing is looked up for it. */
    begin: (session: string) => sessions.begin(session),
    async append(entries: readonly JournalEntry[]): Promise<AppendResult[]> {
      if (closed) throw refusal('it is closed');
      const bytes = admitted(entries, queued_bytes);
      if (entries.length === 0) return [];
      queued_bytes += bytes;
      working ??= start();
      return enqueue(entries, bytes);
    },
    /** The last number of a source that is stored; 0 when there is none. */
    async lastSeq(session: string, source: string): Promise<number> {
      // Behind what is queued now, and not behind what others go on appending.
      if (working !== null) await enqueue([], 0).catch(() => {});
      return (await sessions.load(session)).get(source)?.committed ?? 0;
    },
    /** Throws unless all that this journal wrote is still in its place. */
    check: out.check,
    /** Waits for what is queued, and for the packing of what was written. */
    async close(): Promise<void> {
      closed = true;
      while (working !== null) await working;
      out.leave();
      await out.packed();
    },
  };
}

/** How many jobs at the front have all their results. */
function doneIn(queue: readonly Job[]): number {
  const first = queue.findIndex((job) => job.results.length < job.entries.length);
  return first < 0 ? queue.length : first;
}

/** The bytes of entries that can be queued. */
function admitted(entries: readonly JournalEntry[], queued_bytes: number): number {
  const bytes = checkEntries(entries);
  if (queued_bytes > 0 && queued_bytes + bytes > STORE_LIMITS.journal_queue_bytes_max) throw busy();
  return bytes;
}

async function commitGroup(queue: readonly Job[], sessions: Sessions, out: Output): Promise<void> {
  sessions.trim();
  const group = newGroup(out.slab());
  try {
    await fillGroup(group, queue, sessions);
    if (group.fill > 0) await out.write(group);
    for (const source of group.touched.keys()) source.commit();
  } catch (cause) {
    for (const source of group.touched.keys()) source.rollback();
    const path = out.path();
    out.leave(cause instanceof TachoError);
    throw fileError(cause, path, 'journal');
  }
  for (const id of new Set(group.touched.values())) sessions.used(id);
}

async function fillGroup(group: Group, queue: readonly Job[], sessions: Sessions): Promise<void> {
  for (const job of queue) {
    for (let i = job.results.length; i < job.entries.length; i++) {
      const entry = job.entries[i] as JournalEntry;
      const state = sessions.get(entry.session) ?? (await sessions.load(entry.session));
      const result = place(group, entry, state);
      if (result === null) return;
      job.results.push(result);
    }
  }
}

type Output = ReturnType<typeof createOutput>;

/** The segment in hand: begun when first needed, left when it is full or has failed. */
function createOutput(dir: string, options: JournalOptions) {
  const { clock = systemClock, random = systemRandom, index = memoryIndex() } = options;
  const bytes_max = options.segment_bytes_max ?? STORE_LIMITS.segment_bytes_max;
  const own = new Set<string>();
  let slab: Buffer | null = null;
  let segment: SegmentWriter | null = null;
  const written: SegmentWriter[] = [];
  let ranges = createRanges('');
  /** One at a time: appends to the next segment have the rest of the machine. */
  let packing = Promise.resolve();

  /** `lost`: the index must not learn of the segment. */
  function leave(lost = false): void {
    if (segment === null) return;
    const left = segment;
    left.close();
    segment = null;
    if (lost) return;
    try {
      index.cover(left.name, left.bytes, ranges.all);
    } catch {
      // The index can be made again from the segments; an entry that is durable must not fail for it.
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
    slab() {
      slab ??= Buffer.allocUnsafeSlow(STORE_LIMITS.journal_group_bytes_max);
      return slab;
    },
    path: () => segment?.path ?? dir,
    inHand: () => (segment === null ? null : ranges),
    check() {
      for (const one of written) one.check();
    },
    async write(group: Group): Promise<void> {
      const writer = current(group.fill);
      const base = writer.bytes;
      await writer.write(group.bytes.subarray(0, group.fill));
      for (const { session, source, seq, at } of group.lines) {
        ranges.add(session, source, seq, base + at);
      }
    },
    leave,
    /** Resolves once all segments that were left are packed, or stay as they are. */
    packed: () => packing,
  };
}

function busy(): TachoError {
  const text = 'journal: too much waits for the disk: wait for earlier appends';
  return new TachoError('busy', text, { stage: 'journal', retryable: true });
}
