import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CONFIG, createMaker } from '../../../test/build-events.ts';
import { countOpens } from '../../../test/count-opens.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { journalLine } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { useLimits } from '../../../test/use-limits.ts';
import type { Event } from '../../model/event.ts';
import { IMPORTED_FILE_LABEL } from '../../model/words.ts';
import { createCatalogue } from '../../store/index/catalogue.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { isSegment, listSegments, newReport, segmentBytes } from '../../store/journal/scan.ts';
import { bury, readTombstones } from '../../store/journal/tombstones.ts';
import { transcriptPath } from '../../store/spool/run-files.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { importId } from './import-id.ts';
import { rebuildRun } from './rebuilt.ts';
import { settle } from './settle.ts';

/** Each case opens two databases. */
const TIMEOUT = { timeout: 300_000 };
const HEADER = `${JSON.stringify({ v: 1, pid: 1_073_741_824, ticks: 1, space: null })}\n`;
const segmentAt = (at: number) => `${String(at).padStart(26, '0')}.jsonl`;
const idOf = (at: number) => importId({ agent: 'demo', sha256: `content ${at}` }, 0, 0);
const runId = (at: number) => idOf(at).run_id;

function newState(): StateDir {
  return openStateDir(join(testFolder(), 'state'));
}

function write(state: StateDir, at: number, lines: readonly Buffer[]): void {
  const bytes = Buffer.concat([Buffer.from(HEADER), ...lines]);
  writeFileSync(join(state.journal, segmentAt(at)), bytes, { mode: 0o600 });
}

/** Events of a run, with the usual first and last event. An import by default, so without a transcript. */
function eventsOf(
  at: number,
  count: number,
  labels: Record<string, string> = idOf(at).labels,
): Event[] {
  const make = createMaker();
  const own = { run_id: runId(at) };
  const session_id = `s${at}`;
  return [
    make('run_started', { config: { ...CONFIG, labels }, session_id }, own),
    ...Array.from({ length: count - 2 }, (_, n) =>
      make('message_finished', { text: `${at} ${n}` }, own),
    ),
    make('run_finished', { session_id }, own),
  ];
}

const lineOf = (event: Event, more: { n?: number; o?: string; e?: unknown } = {}) =>
  journalLine({ s: event.run_id, o: 'capture', n: event.seq, e: event, ...more });

const sizesOf = (state: StateDir) =>
  new Map(listSegments(state.journal).map((name) => [name, segmentBytes(state.journal, name)]));

/** The expected result of `settle`, found by reading every run separately. */
async function oneByOne(state: StateDir, index: Index) {
  await createCatalogue(state.journal, index).refresh(newReport());
  const left_out = readTombstones(state).union(new Set(index.runIds()));
  const found = { added: [] as string[], unfinished: 0, foreign: 0 };
  const sessions = new Set(
    listSegments(state.journal).flatMap((segment) => index.sessionsIn(segment)),
  );
  for (const session of sessions) {
    if (left_out.has(session)) continue;
    try {
      const { measured, begun, foreign } = await rebuildRun(state, index, session);
      if (foreign > 0) found.foreign += 1;
      if (measured !== null) {
        index.saveRuns([measured]);
        found.added.push(session);
      } else if (begun) found.unfinished += 1;
    } catch {
      found.foreign += 1;
    }
  }
  return { ...found, added: found.added.sort() };
}

function contentsOf(state: StateDir, index: Index) {
  const sessions = new Set(
    listSegments(state.journal).flatMap((segment) => index.sessionsIn(segment)),
  );
  const catalogue = createCatalogue(state.journal, index);
  return {
    rows: index
      .runIds()
      .sort()
      .map((run_id) => index.getRun(run_id)),
    positions: [...sessions].sort().map((session) => catalogue.positions(session)),
    covered: [...index.covered()].sort(),
  };
}

const besideIt = (state: StateDir, name: string) => ({ ...state, db: join(state.path, name) });

/** Settles the journal into `index`, and compares the result with `reference`, which reads run by run. */
async function compare(state: StateDir, index: Index, reference: Index) {
  const expected = await oneByOne(state, reference);
  const { added, unfinished, foreign } = await settle(state, index, sizesOf(state));
  expect({ added: added.sort(), unfinished, foreign }).toEqual(expected);
  expect(contentsOf(state, index)).toEqual(contentsOf(state, reference));
  expect([...index.settled()].sort()).toEqual([...sizesOf(state)].sort());
}

/** How the line of an event gets into the journal. */
const FATES = [
  'whole',
  'whole',
  'whole',
  'twice',
  'lost',
  'damaged',
  'foreign',
  'second',
  'other',
] as const;

function linesFor(event: Event, fate: (typeof FATES)[number]): Buffer[] {
  const line = lineOf(event);
  const damaged = Buffer.from(line.map((byte, at) => (at === 40 ? byte ^ 1 : byte)));
  const others: Record<string, Buffer[]> = {
    twice: [line, line],
    lost: [],
    damaged: [damaged],
    foreign: [lineOf(event, { e: { kind: 'none' } })],
    second: [line, lineOf(event, { e: { ...event, at_ms: 7 } })],
    other: [line, lineOf(event, { o: 'elsewhere' }), lineOf(event, { o: 'conflict:capture' })],
  };
  return others[fate] ?? [line];
}

const journals = fc.record({
  /** For each run: the number of events, how many are written, and the fate of each. */
  runs: fc.array(
    fc.record({
      count: fc.integer({ min: 2, max: 6 }),
      written: fc.integer({ min: 1, max: 8 }),
      fates: fc.array(fc.constantFrom(...FATES), { minLength: 6, maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  /** Which run the next line belongs to. */
  turns: fc.array(fc.nat({ max: 4 }), { minLength: 30, maxLength: 30 }),
  segments: fc.array(fc.nat({ max: 3 }), { minLength: 60, maxLength: 60 }),
  /** Whether the lines of a segment are mixed, as by several writers of one run. */
  mixed: fc.boolean(),
  repeated: fc.boolean(),
  deleted: fc.boolean(),
});

function segmentsOf(
  journal: typeof journals extends fc.Arbitrary<infer T> ? T : never,
): Buffer[][] {
  const queues = journal.runs.map(({ count, written, fates }, at) =>
    eventsOf(at, count)
      .slice(0, written)
      .map((event, n) => linesFor(event, fates[n] ?? 'whole')),
  );
  const lines: Buffer[] = [];
  for (const turn of journal.turns) lines.push(...(queues[turn % queues.length]?.shift() ?? []));
  for (const queue of queues) lines.push(...queue.flat());
  const segments: Buffer[][] = [[], [], [], []];
  for (const [n, line] of lines.entries()) {
    const at = journal.mixed ? (journal.segments[n] ?? 0) : Math.floor((n * 4) / lines.length);
    segments[at]?.push(line);
  }
  return journal.repeated ? [...segments, segments[1] as Buffer[]] : segments;
}

test('one pass gives the same as reading every run separately', TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(journals, async (journal) => {
      const state = newState();
      for (const [at, lines] of segmentsOf(journal).entries()) write(state, at, lines);
      if (journal.deleted) bury(state, [runId(0)]);
      using index = openIndex(state);
      using reference = openIndex(besideIt(state, 'reference.db'));
      await compare(state, index, reference);
    }),
    { numRuns: 60 },
  );
});

test('steps give the same as the journal grows', TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(journals, fc.nat({ max: 4 }), async (journal, cut) => {
      const state = newState();
      using index = openIndex(state);
      using reference = openIndex(besideIt(state, 'reference.db'));
      for (const [at, lines] of segmentsOf(journal).entries()) {
        write(state, at, lines.slice(0, Math.ceil(lines.length / 2)));
        if (at >= cut) await compare(state, index, reference);
        write(state, at, lines);
        if (at >= cut) await compare(state, index, reference);
      }
    }),
    { numRuns: 15 },
  );
});

test('it gives the same if almost nothing fits into memory', TIMEOUT, async () => {
  useLimits(APP_LIMITS, {
    rebuild_bytes_max: 40_000,
    rebuild_runs_together: 2,
    rebuild_flush_runs: 2,
  });
  await fc.assert(
    fc.asyncProperty(journals, async (journal) => {
      const state = newState();
      for (const [at, lines] of segmentsOf(journal).entries()) write(state, at, lines);
      using index = openIndex(state);
      using reference = openIndex(besideIt(state, 'reference.db'));
      await compare(state, index, reference);
    }),
    { numRuns: 30 },
  );
});

/** Segments in which the runs alternate, so that all of them are open together. */
function writeInTurns(state: StateDir, runs: number, segments: number): void {
  const all = Array.from({ length: runs }, (_, at) => eventsOf(at, segments * 2));
  for (let at = 0; at < segments; at++)
    write(
      state,
      at,
      [0, 1].flatMap((n) => all.map((events) => lineOf(events[at * 2 + n] as Event))),
    );
}

test('every segment is opened once, however many runs alternate in it', async () => {
  const state = newState();
  writeInTurns(state, 200, 4);
  using index = openIndex(state);
  const opens = countOpens((path) => isSegment(basename(path)));
  expect((await settle(state, index, sizesOf(state))).added).toHaveLength(200);
  expect(opens()).toBe(4);
});

test('runs that do not fit into memory are read again in groups, not one by one', async () => {
  const state = newState();
  writeInTurns(state, 200, 4);
  using index = openIndex(state);
  useLimits(APP_LIMITS, { rebuild_bytes_max: 100 * 17_000 });
  const opens = countOpens((path) => isSegment(basename(path)));
  expect((await settle(state, index, sizesOf(state))).added).toHaveLength(200);
  expect(opens()).toBeLessThanOrEqual(4 + 2 * 4);
});

test('a list that lost its rows is rebuilt with few reads, although the index covers the journal', async () => {
  const state = newState();
  for (let at = 0; at < 4; at++)
    write(
      state,
      at,
      Array.from({ length: 50 }, (_, n) => eventsOf(at * 50 + n, 4))
        .flat()
        .map((event) => lineOf(event)),
    );
  using index = openIndex(state);
  await settle(state, index, sizesOf(state));
  index.deleteRuns(index.runIds());
  const opens = countOpens((path) => isSegment(basename(path)));
  useLimits(APP_LIMITS, { rebuild_runs_together: 20 });
  expect((await settle(state, index, sizesOf(state))).added).toHaveLength(200);
  expect(opens()).toBeLessThanOrEqual(10 + 3);
});

verifies('TR-1', 'a missing transcript is created for a run, but not for an import', async () => {
  const state = newState();
  // Labels that were set by hand do not make a run an import.
  const by_hand = { [IMPORTED_FILE_LABEL]: 'a.jsonl', ...idOf(1).labels };
  const events = [...eventsOf(1, 3, {}), ...eventsOf(2, 3), ...eventsOf(3, 3, by_hand)];
  write(
    state,
    0,
    events.map((event) => lineOf(event)),
  );
  using index = openIndex(state);
  await settle(state, index, sizesOf(state));
  const made = [1, 2, 3].map((at) => existsSync(transcriptPath(state, 'demo', runId(at))));
  expect(made).toEqual([true, false, true]);
});

test('a run that ends in the readable part of a segment gets its row', async () => {
  const state = newState();
  write(
    state,
    0,
    eventsOf(1, 3).map((event) => lineOf(event)),
  );
  mkdirSync(join(state.journal, segmentAt(1)));
  write(
    state,
    2,
    eventsOf(2, 3)
      .slice(0, 2)
      .map((event) => lineOf(event)),
  );
  using index = openIndex(state);
  const done = await settle(state, index, sizesOf(state));
  expect(done).toMatchObject({ added: [runId(1)], unfinished: 1, report: { unreadable: 1 } });
  expect([...done.unread]).toEqual([segmentAt(1)]);
  expect(
    [...index.settled().keys()].filter((name) => (index.settled().get(name) ?? 0) > 0),
  ).toEqual([segmentAt(0), segmentAt(2)]);
});

verifies(
  'ST-10',
  'a run with any number of gaps is read and does not affect other runs',
  async () => {
    const state = newState();
    const gaps = Array.from({ length: 150_000 }, (_, n) =>
      journalLine({ s: runId(1), o: 'capture', n: 2 * n + 1, e: {} }),
    );
    write(state, 0, gaps);
    write(
      state,
      1,
      eventsOf(2, 3).map((event) => lineOf(event)),
    );
    using index = openIndex(state);
    // Covered, so that runs are read by their positions.
    await createCatalogue(state.journal, index).refresh(newReport());
    const { added, foreign } = await settle(state, index, sizesOf(state));
    expect([added, foreign]).toEqual([[runId(2)], 1]);
    expect((await rebuildRun(state, index, runId(1))).foreign).toBe(gaps.length);
  },
  180_000,
);
