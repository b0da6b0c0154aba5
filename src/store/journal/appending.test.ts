/** Entries that wait for the disk: their lines, groups that fail, and the sessions kept in memory. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { openStateDir } from '../state-dir.ts';
import { openJournal } from './journal.ts';
import { headOf, writeLine } from './line.ts';
import { readSession } from './read.ts';
import { listSegments } from './scan.ts';
import { Sessions, Source } from './session-state.ts';
import type { AppendResult } from './state.ts';

const newDir = () => openStateDir(join(testFolder(), 'state')).journal;
const entry = (seq: number, session = 's') => ({ session, source: 'm', seq, body: `"${seq}"` });
const numbersIn = async (dir: string) =>
  (await Array.fromAsync(readSession(dir, 's'))).map(({ seq }) => seq);

test('a line is the same for text and for bytes, with its checksum over head and body', () => {
  for (const [session, seq, body] of [
    ['s', 1, '{"a":1}'],
    ['sé"\\', 123_456, '"日本語 🚀"'],
    ['x'.repeat(1000), 10_000_000, `"${'é'.repeat(5000)}"`],
  ] as const) {
    const start = `{"s":${JSON.stringify(session)},"o":"m","n":${seq},`;
    const crc = crc32(start + body)
      .toString(16)
      .padStart(8, '0');
    for (const one of [body, Buffer.from(body)]) {
      const bytes = Buffer.alloc(20_000);
      const line = writeLine(bytes, 5, { head: headOf(session, 'm'), seq, body: one });
      expect(bytes.toString('utf8', 5, line.end)).toBe(`${start}"c":"${crc}","e":${body}}\n`);
      expect(line).toMatchObject({ at: 5, crc: Number.parseInt(crc, 16) });
    }
  }
});

verifies(
  ['ST-2', 'ST-3'],
  'entries that arrive while a failing group is written fail with it and can be sent again',
  async () => {
    const dir = newDir();
    const journal = openJournal(dir);
    journal.begin('s');
    expect(await journal.append([entry(1)])).toEqual(['stored']);
    rmSync(join(dir, listSegments(dir)[0] as string));
    const first = journal.append([entry(2)]);
    // The first one has been handed to the disk: its acknowledgement takes a turn of the event loop.
    for (let turn = 0; turn < 10; turn++) await null;
    const placed: [number, AppendResult][] = [];
    const batch = journal.batch((one, result) => void placed.push([one.seq, result]));
    batch.put(entry(3));
    batch.put(entry(3));
    batch.put(entry(5));
    expect(placed).toEqual([
      [3, 'stored'],
      [3, 'duplicate'],
      [5, 'gap'],
    ]);
    const refused = await Promise.allSettled([first, batch.answer]);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await journal.lastSeq('s', 'm')).toBe(1);
    expect(await journal.append([entry(3)])).toEqual(['gap']);
    expect(await journal.append([entry(2), entry(3)])).toEqual(['stored', 'stored']);
    await journal.close();
    expect(await numbersIn(dir)).toEqual([2, 3]);
  },
);

verifies(
  'ST-2',
  'an acknowledgement waits for the group of the entry, not for an earlier one',
  async () => {
    const dir = newDir();
    const journal = openJournal(dir);
    journal.begin('s');
    const first = journal.append([entry(1)]);
    for (let turn = 0; turn < 10; turn++) await null;
    const second = journal.append([entry(2)]);
    const last = journal.lastSeq('s', 'm');
    let answered = false;
    void second.then(() => {
      answered = true;
    });
    await first;
    expect(answered).toBe(false);
    expect(await second).toEqual(['stored']);
    expect(await last).toBe(2);
    await journal.close();
  },
);

test('entries of a session that must be read first are placed later, in their order', async () => {
  const dir = newDir();
  const before = openJournal(dir);
  await before.append([entry(1)]);
  await before.close();
  const journal = openJournal(dir);
  const placed: [number, AppendResult][] = [];
  const batch = journal.batch((one, result) => void placed.push([one.seq, result]));
  for (const seq of [1, 2, 4]) batch.put(entry(seq));
  expect(placed).toEqual([]);
  expect(await batch.answer).toEqual(['duplicate', 'stored', 'gap']);
  expect(placed.map(([seq]) => seq)).toEqual([1, 2, 4]);
  await journal.close();
  const closed = journal.batch(() => {});
  closed.put(entry(3));
  await expect(closed.answer).rejects.toMatchObject({ code: 'journal_failed' });
});

test('recently used sessions and those with entries that wait for the disk are kept in memory', async () => {
  const read: string[] = [];
  const sessions = new Sessions(async (id) => {
    read.push(id);
    return new Map();
  }, 4);
  const waiting = new Source('waiting', 'm');
  (await sessions.load('waiting')).set('m', waiting);
  waiting.take(1, 7);
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await sessions.load(id);
  expect(sessions.get('waiting')?.get('m')).toBe(waiting);
  waiting.seal();
  waiting.commit();
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'g', 'f']) await sessions.load(id);
  expect(sessions.get('waiting')).toBeUndefined();
  expect(sessions.get('f')).toBeDefined();
  expect(read.filter((id) => id === 'waiting')).toHaveLength(1);
});
