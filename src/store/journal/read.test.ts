import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { segmentText, unpackJournal } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { createCatalogue } from '../index/catalogue.ts';
import { openIndex } from '../index/index-db.ts';
import { memoryIndex } from '../index/memory-index.ts';
import { openStateDir } from '../state-dir.ts';
import { openJournal } from './journal.ts';
import { readSession } from './read.ts';
import { listSegments, newReport } from './scan.ts';

const READER = join(import.meta.dirname, '../../../test/fixtures/bytes-read.ts');
const SESSIONS = ['a', 'b', 'c'];
/** Of each session, of about a kilobyte. */
const COUNT = 1_500;

const entry = (session: string, seq: number) => ({
  session,
  source: 'main',
  seq,
  body: JSON.stringify({ seq, text: `${session} ${seq} of many `.repeat(60) }),
});

/** Three sessions after each other in one segment. */
async function newState() {
  const state = openStateDir(join(testFolder(), 'state'));
  const index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  for (const session of SESSIONS)
    await journal.append(Array.from({ length: COUNT }, (_, i) => entry(session, i + 1)));
  await journal.close();
  index.close();
  return state;
}

async function read(state: { journal: string }, session: string, options = {}) {
  const entries = readSession(state.journal, session, options);
  const seqs: number[] = [];
  for await (const { seq } of entries) seqs.push(seq);
  return { seqs, report: entries.report };
}

describe.runIf(process.platform === 'linux')('reading one session of a segment', () => {
  const bytesRead = (path: string, session: string) =>
    JSON.parse(execFileSync(process.execPath, [READER, path, session], { encoding: 'utf8' })) as {
      entries: number;
      bytes: number;
    };

  verifies('ST-2', 'reads only its part, and only its frames of a packed segment', async () => {
    const state = await newState();
    const [segment] = listSegments(state.journal) as [string];
    const whole = segmentText(join(state.journal, segment)).length;
    expect(whole).toBeGreaterThan(4_000_000);
    const packed = statSync(join(state.journal, `${segment}.zst`)).size;
    for (const session of SESSIONS) {
      const { entries, bytes } = bytesRead(state.path, session);
      expect(entries).toBe(COUNT);
      expect(bytes).toBeLessThan(packed * 0.8);
    }
    unpackJournal(state.journal);
    for (const session of SESSIONS) {
      const { entries, bytes } = bytesRead(state.path, session);
      expect(entries).toBe(COUNT);
      expect(bytes).toBeLessThan(whole / 2);
    }
  });
});

verifies('ST-10', 'damage is counted in its part, and after it on request', async () => {
  const state = await newState();
  const [path = ''] = unpackJournal(state.journal);
  const index = openIndex(state);
  await createCatalogue(state.journal, index).refresh(newReport());
  const text = readFileSync(path, 'latin1');
  const damage = (session: string) =>
    writeFileSync(path, text.replace(`"text":"${session} 700 of`, `"text":"${session} 7x0 of`));
  damage('a');
  const inside = await read(state, 'a', { index });
  expect([inside.seqs.length, inside.report.corrupt]).toEqual([COUNT - 1, 1]);
  expect((await read(state, 'b', { index })).report.corrupt).toBe(0);
  damage('b');
  expect((await read(state, 'a', { index })).report.corrupt).toBe(0);
  expect((await read(state, 'a', { index, to_end: true })).report.corrupt).toBe(1);
  index.close();
});

describe('a catalogue that is refreshed again and again', () => {
  /** A real catalogue, and how often it was read in full. */
  function countingIndex() {
    const index = memoryIndex();
    const asked = { times: 0 };
    const coveredBytes = (segment: string) => {
      asked.times += 1;
      return index.coveredBytes(segment);
    };
    return { index: { ...index, coveredBytes }, asked };
  }

  test('reads nothing while nothing is new, and finds entries that others write', async () => {
    const dir = openStateDir(join(testFolder(), 'state')).journal;
    const other = openJournal(dir);
    await other.append([entry('a', 1)]);
    const { index, asked } = countingIndex();
    const catalogue = createCatalogue(dir, index);
    for (let i = 0; i < 50; i++) await catalogue.refresh(newReport());
    expect([asked.times, catalogue.positions('a').length]).toEqual([1, 1]);
    await other.append([entry('a', 2)]);
    await catalogue.refresh(newReport());
    expect(catalogue.positions('a')).toMatchObject([{ first_seq: 1, last_seq: 2 }]);
    const third = openJournal(dir);
    await third.append([entry('c', 1)]);
    await catalogue.refresh(newReport());
    expect(catalogue.positions('c')).toHaveLength(1);
    await other.close();
    await third.close();
  });

  test('is the same for all sessions that are read with one index', async () => {
    const dir = openStateDir(join(testFolder(), 'state')).journal;
    const journal = openJournal(dir);
    for (let n = 0; n < 50; n++) await journal.append([entry(`s${n}`, 1)]);
    await journal.close();
    const { index, asked } = countingIndex();
    for (let n = 0; n < 50; n++)
      expect((await read({ journal: dir }, `s${n}`, { index })).seqs).toEqual([1]);
    expect(asked.times).toBe(1);
  });

  test('of a journal knows its own writes without reading them', async () => {
    const dir = openStateDir(join(testFolder(), 'state')).journal;
    const { index, asked } = countingIndex();
    const journal = openJournal(dir, { index });
    for (let n = 0; n < 100; n++) await journal.append([entry(`s${n}`, 1)]);
    expect(asked.times).toBe(0);
    // The file is not opened: it could not be read.
    const path = join(dir, readdirSync(dir).find((name) => name.endsWith('.jsonl')) ?? '');
    const bytes = statSync(path).size;
    expect(index.getPositions('s1')).toEqual([]);
    await journal.close();
    expect(index.getPositions('s1')).toHaveLength(1);
    expect(index.covered().get(listSegments(dir)[0] as string)).toBe(bytes);
  });

  test('starts again after its index was lost', async () => {
    const dir = openStateDir(join(testFolder(), 'state')).journal;
    const journal = openJournal(dir);
    await journal.append([entry('a', 1)]);
    await journal.close();
    let inner = memoryIndex();
    let moved_to: string | null = null;
    const catalogue = createCatalogue(dir, {
      getPositions: (session) => inner.getPositions(session),
      coveredBytes: (segment) => inner.coveredBytes(segment),
      cover: (segment, bytes, positions) => inner.cover(segment, bytes, positions),
      coverAll: (covers) => inner.coverAll(covers),
      forgetSegment: (segment) => inner.forgetSegment(segment),
      get book() {
        return inner.book;
      },
      get moved_to() {
        return moved_to;
      },
    });
    await catalogue.refresh(newReport());
    inner = memoryIndex();
    moved_to = '/aside';
    await catalogue.refresh(newReport());
    expect(catalogue.positions('a')).toHaveLength(1);
  });
});
