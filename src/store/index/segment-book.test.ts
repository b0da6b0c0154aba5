import {
  appendFileSync,
  cpSync,
  lstatSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { countCalls } from '../../../test/count-opens.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { journalLine } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { packLeft } from '../journal/pack-left.ts';
import { isSegment, newReport, segmentBytes, segmentOf } from '../journal/scan.ts';
import { openStateDir, type StateDir } from '../state-dir.ts';
import { createCatalogue } from './catalogue.ts';
import { type Index, openIndex } from './index-db.ts';
import { memoryIndex } from './memory-index.ts';
import { unclosed } from './segment-book.ts';
import { closeEnded } from './watch-segments.ts';

/** Of a process that is certainly dead: the file that it had locked is missing. */
const DEAD = { v: 1, pid: 1_073_741_824, ticks: 1, space: null, life: '0123456789abcdef' };
const segmentAt = (at: number) => `${String(at).padStart(26, '0')}.jsonl`;
const lineOf = (at: number, n = 1) => journalLine({ s: `s${at}`, o: 'capture', n, e: {} });

function write({ journal }: StateDir, at: number, first: object | null = DEAD): string {
  const header = first === null ? '' : `${JSON.stringify(first)}\n`;
  const bytes = Buffer.concat([Buffer.from(header), lineOf(at)]);
  writeFileSync(join(journal, segmentAt(at)), bytes, { mode: 0o600 });
  return segmentAt(at);
}

/** Later than any change of a folder before it. */
function later(ms = 5_000): void {
  const at_ms = Date.now() + ms;
  vi.spyOn(Date, 'now').mockReturnValue(at_ms);
  onTestFinished(() => void vi.restoreAllMocks());
}

type Known = Pick<Index, 'book' | 'getPositions' | 'coveredBytes'> &
  Parameters<typeof createCatalogue>[1];

/** Indexes the whole folder, closes all segments that can be closed, and saves its state. */
async function learn(state: StateDir, index: Known): Promise<void> {
  const { journal } = state;
  await createCatalogue(journal, index).refresh(newReport());
  const found = unclosed(journal, index.book).map((segment) => ({
    segment,
    bytes: segmentBytes(journal, segment),
  }));
  closeEnded(journal, index.book, found);
  later();
  unclosed(journal, index.book);
}

async function knownState(segments = 3) {
  const state = openStateDir(join(testFolder(), 'state'));
  for (let at = 0; at < segments; at++) write(state, at);
  const index = openIndex(state);
  onTestFinished(() => index.close());
  await learn(state, index);
  return { state, index };
}

const look = ({ journal }: StateDir, index: Index) => unclosed(journal, index.book);

verifies(
  'ST-4',
  'closed segments cost nothing, however many there are; a new one costs one listing',
  async () => {
    const { state, index } = await knownState(100);
    const isOne = (path: string) => isSegment(segmentOf(basename(path)));
    const stats = countCalls('lstatSync', isOne);
    const opens = countCalls('openSync', isOne);
    const lists = countCalls('readdirSync', (path) => path === state.journal);
    await createCatalogue(state.journal, index).refresh(newReport());
    expect([look(state, index), stats(), opens(), lists()]).toEqual([[], 0, 0, 0]);
    write(state, 100);
    const written = opens();
    await createCatalogue(state.journal, index).refresh(newReport());
    expect(index.getPositions('s100')).toHaveLength(1);
    expect([stats(), opens() - written, lists()]).toEqual([1, 1, 1]);
  },
);

test('a segment that may grow is checked although its folder does not change', async () => {
  const { state, index } = await knownState();
  const living = write(state, 7, { ...DEAD, pid: process.pid, ticks: null, life: null });
  const torn = write(state, 8, null);
  await learn(state, index);
  expect(look(state, index)).toEqual([living, torn]);
  appendFileSync(join(state.journal, living), lineOf(7, 2));
  await createCatalogue(state.journal, index).refresh(newReport());
  expect(index.getPositions('s7')).toMatchObject([{ last_seq: 1 }, { last_seq: 2 }]);
});

test('a writer on another machine that held no file may be alive', async () => {
  const { state, index } = await knownState(0);
  const elsewhere = write(state, 1, { ...DEAD, life: null, space: 'another' });
  await learn(state, index);
  expect(look(state, index)).toEqual([elsewhere]);
});

test('a segment that is added, removed, restored or packed is checked', async () => {
  const { state, index } = await knownState();
  const path = join(state.journal, segmentAt(1));
  renameSync(path, join(state.path, 'elsewhere'));
  expect(look(state, index)).toEqual([]);
  later();
  expect(look(state, index)).toEqual([]);
  renameSync(join(state.path, 'elsewhere'), path);
  expect(look(state, index)).toEqual([segmentAt(1)]);
  await learn(state, index);
  expect(look(state, index)).toEqual([]);
  appendFileSync(path, Buffer.alloc(100_000, '\n'));
  expect(await packLeft(state.journal, segmentAt(1))).toBe(true);
  expect(look(state, index)).toEqual([segmentAt(1)]);
  await learn(state, index);
  expect(look(state, index)).toEqual([]);
});

test('a segment that the index has forgotten is checked', async () => {
  const { state, index } = await knownState();
  index.forgetSegment(segmentAt(1));
  expect(look(state, index)).toEqual([segmentAt(1)]);
});

verifies('ST-3', 'in a copy of the folder everything is checked again', async () => {
  const { state, index } = await knownState();
  index.close();
  const copy = openStateDir(join(testFolder(), 'copy'));
  cpSync(state.path, copy.path, { recursive: true, preserveTimestamps: true });
  truncateSync(join(copy.journal, segmentAt(1)), 0);
  using copied = openIndex(copy);
  expect(look(copy, copied)).toHaveLength(3);
  await createCatalogue(copy.journal, copied).refresh(newReport());
  expect(copied.getPositions('s1')).toEqual([]);
});

test('times that are set back, or in the future, or of whole seconds hide nothing', async () => {
  const { state, index } = await knownState();
  const times = lstatSync(state.journal).mtimeMs / 1000;
  write(state, 4);
  utimesSync(state.journal, times, times);
  expect(look(state, index)).toEqual([segmentAt(4)]);
  await learn(state, index);
  const lists = countCalls('readdirSync', (path) => path === state.journal);
  later(-3_600_000);
  expect([look(state, index), lists()]).toEqual([[], 1]);
  later(7_200_000);
  utimesSync(state.journal, 1_000, 1_000);
  for (let i = 1; i <= 3; i++) expect([look(state, index), lists()]).toEqual([[], 1 + i]);
});

test('while another process writes the index, nothing waits and nothing is hidden', async () => {
  const { state, index } = await knownState();
  using other = new DatabaseSync(state.db);
  other.exec('BEGIN IMMEDIATE');
  rmSync(join(state.journal, segmentAt(0)));
  write(state, 5);
  const began = performance.now();
  for (let i = 0; i < 2; i++) expect(look(state, index)).toEqual([segmentAt(5)]);
  expect(performance.now() - began).toBeLessThan(2_000);
});

test('a segment marked while another process forgets one does not count as closed', async () => {
  const { state, index } = await knownState();
  const folder = index.book.folder();
  index.forgetSegment(segmentAt(2));
  if (folder !== null) index.book.saveFolder(folder);
  expect(look(state, index)).toEqual([segmentAt(2)]);
});

test('it works the same without an index', async () => {
  const state = openStateDir(join(testFolder(), 'state'));
  for (let at = 0; at < 3; at++) write(state, at);
  const index = memoryIndex();
  await learn(state, index);
  expect(unclosed(state.journal, index.book)).toEqual([]);
  write(state, 3);
  expect(unclosed(state.journal, index.book)).toEqual([segmentAt(3)]);
  index.forgetSegment(segmentAt(0));
  expect(unclosed(state.journal, index.book)).toEqual([segmentAt(0), segmentAt(3)]);
});
