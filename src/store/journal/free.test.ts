import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { journalLine } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { errno } from '../files.ts';
import { createCatalogue } from '../index/catalogue.ts';
import { openIndex } from '../index/index-db.ts';
import { openStateDir, type StateDir } from '../state-dir.ts';
import { damaged } from './frame-text.ts';
import { freeDeleted } from './free.ts';
import { openJournal } from './journal.ts';
import { packLeft } from './pack-left.ts';
import { readSession } from './read.ts';
import { isSegment, listSegments, newReport, segmentOf } from './scan.ts';
import { PACKED } from './segment-file.ts';
import { bury } from './tombstones.ts';
import { framesOf } from './zstd-frames.ts';

const DEAD = { v: 1, pid: 1073741824, ticks: 1, space: null };
const NAME = `${'0'.repeat(26)}.jsonl`;
const COPY = `${'1'.repeat(26)}.jsonl`;

/** Lines of a journal, without the first, for sessions with two entries each. */
async function linesOf(...sessions: string[]): Promise<string[]> {
  const dir = openStateDir(join(testFolder(), 'state')).journal;
  const journal = openJournal(dir);
  for (const session of sessions)
    await journal.append(
      [1, 2].map((seq) => ({ session, source: 'm', seq, body: `"${session} ${seq}"` })),
    );
  await journal.close();
  const text = readFileSync(join(dir, listSegments(dir)[0] as string), 'utf8');
  return text.trimEnd().split('\n').slice(1);
}

function write(state: StateDir, name: string, lines: readonly string[], more = {}): void {
  const first = JSON.stringify({ ...DEAD, ...more });
  writeFileSync(join(state.journal, name), `${[first, ...lines].join('\n')}\n`, { mode: 0o600 });
}

async function bodies(state: StateDir, session: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { body } of readSession(state.journal, session)) found.push(body);
  return found;
}

const journalText = (state: StateDir) =>
  listSegments(state.journal)
    .map((name) => readFileSync(join(state.journal, name), 'utf8'))
    .join('');

function newState() {
  const state = openStateDir(join(testFolder(), 'state'));
  return { state, index: openIndex(state) };
}

test('a segment with only deleted runs is removed, one shared with others is rewritten', async () => {
  const { state, index } = newState();
  write(state, NAME, await linesOf('a', 'b'));
  write(state, COPY, await linesOf('c'));
  bury(state, ['a', 'c']);
  expect(await freeDeleted(state, index)).toEqual({ removed: [COPY], rewritten: [NAME], left: [] });
  expect(journalText(state)).not.toMatch(/"[ac] /);
  expect(await bodies(state, 'b')).toEqual(['"b 1"', '"b 2"']);
  expect(await freeDeleted(state, index)).toEqual({ removed: [], rewritten: [], left: [] });
  index.close();
});

test('an empty or wrong index removes nothing', async () => {
  const { state, index } = newState();
  write(state, NAME, await linesOf('a', 'b'));
  // As while another process fills it.
  index.cover(NAME, statSync(join(state.journal, NAME)).size, []);
  bury(state, ['a', 'b', 'c']);
  expect((await freeDeleted(state, index)).removed).toEqual([]);
  // Positions of another session than those in the file.
  bury(state, ['a', 'b'], 'restored');
  const position = { session: 'c', source: 'm', segment: NAME, offset: 0 };
  index.cover(NAME, 0, [{ ...position, first_seq: 1, last_seq: 2 }]);
  expect(await freeDeleted(state, index)).toEqual({ removed: [], rewritten: [], left: [] });
  expect(await bodies(state, 'b')).toEqual(['"b 1"', '"b 2"']);
  index.close();
});

test('damaged lines are kept, and the lines around them', async () => {
  const { state, index } = newState();
  const [a1, a2, b1, b2] = (await linesOf('a', 'b')) as [string, string, string, string];
  const damaged = a2.replace('"a 2"', '"a X"');
  write(state, NAME, [a1, damaged, b1, `\0\0\0${b2}`]);
  bury(state, ['a']);
  expect((await freeDeleted(state, index)).rewritten).toEqual([NAME]);
  expect(journalText(state)).toContain('"a X"');
  expect(journalText(state)).not.toContain('"a 1"');
  expect(await bodies(state, 'b')).toEqual(['"b 1"', '"b 2"']);
  bury(state, ['b']);
  // This process is alive and wrote the segment, so it is left unchanged.
  expect((await freeDeleted(state, index)).left).toHaveLength(1);
  index.close();
});

test('a damaged line among deleted ones keeps its segment from being removed', async () => {
  const { state, index } = newState();
  const [a1, a2, b1] = (await linesOf('a', 'b')) as [string, string, string];
  write(state, NAME, [a1, b1.replace('"b 1"', '"b X"'), a2]);
  bury(state, ['a']);
  expect(await freeDeleted(state, index)).toMatchObject({ removed: [], rewritten: [NAME] });
  expect(journalText(state)).toContain('"b X"');
  expect(journalText(state)).not.toMatch(/"a /);
  index.close();
});

test('an unreadable segment is left unchanged', async () => {
  const { state, index } = newState();
  write(state, NAME, await linesOf('a'));
  await createCatalogue(state.journal, index).refresh(newReport());
  bury(state, ['a']);
  rmSync(join(state.journal, NAME));
  mkdirSync(join(state.journal, NAME));
  expect(await freeDeleted(state, index)).toEqual({ removed: [], rewritten: [], left: [NAME] });
  index.close();
});

verifies('ST-5', 'a packed segment with a damaged part is left unchanged', async () => {
  const { state, index } = newState();
  const text = 'x'.repeat(30_000);
  const lines = ['a', 'b'].flatMap((s) =>
    [1, 2].map((n) =>
      journalLine({ s, o: 'm', n, e: `${s} ${n} ${text}` })
        .toString()
        .trimEnd(),
    ),
  );
  write(state, NAME, lines);
  expect(await packLeft(state.journal, NAME)).toBe(true);
  const zst = join(state.journal, NAME + PACKED);
  const whole = readFileSync(zst);
  const { from } = [...framesOf(zst)][1] as { from: number };
  const hole = Buffer.from(whole).fill(0xaa, from + 12, from + 40);
  await createCatalogue(state.journal, index).refresh(newReport());
  bury(state, ['a']);
  for (const bytes of [hole, whole.subarray(0, -3)]) {
    writeFileSync(zst, bytes);
    expect(await freeDeleted(state, index)).toEqual({ removed: [], rewritten: [], left: [NAME] });
    expect(readdirSync(state.journal).filter((name) => isSegment(segmentOf(name)))).toEqual([
      NAME + PACKED,
    ]);
    expect(readFileSync(zst).equals(bytes)).toBe(true);
  }
  // Nothing was lost: once it is whole again, the rest is kept.
  writeFileSync(zst, whole);
  expect((await freeDeleted(state, index)).rewritten).toEqual([NAME]);
  expect((await bodies(state, 'b')).map((body) => body.slice(0, 4))).toEqual(['"b 1', '"b 2']);
  index.close();
});

test('only errors of the decompressor about the bytes count as damage', () => {
  for (const code of ['ZSTD_error_corruption_detected', 'Z_BUF_ERROR', 'ERR_BUFFER_TOO_LARGE'])
    expect(damaged(errno(code))).toBeNull();
  const others = ['ZSTD_error_memory_allocation', 'ERR_ZLIB_INITIALIZATION_FAILED', 'EIO', ''];
  for (const code of others) expect(() => damaged(errno(code, 'other')), code).toThrow('other');
});

test('a torn last line of a dead writer is removed with its segment', async () => {
  const { state, index } = newState();
  const [a1, a2] = (await linesOf('a')) as [string, string];
  write(state, NAME, [a1]);
  writeFileSync(join(state.journal, NAME), a2.slice(0, -5), { flag: 'a' });
  bury(state, ['a']);
  expect((await freeDeleted(state, index)).removed).toEqual([NAME]);
  index.close();
});

test('the copy left by a killed rewrite is removed, but only if its original exists', async () => {
  const { state, index } = newState();
  const lines = await linesOf('a', 'b');
  write(state, NAME, lines);
  write(state, COPY, lines.slice(2, 3), { replaces: NAME });
  bury(state, ['a']);
  expect((await freeDeleted(state, index)).rewritten).toEqual([NAME]);
  expect(readdirSync(state.journal)).not.toContain(COPY);
  expect(journalText(state).split('"b 1"')).toHaveLength(2);
  // A copy with lines that the original lacks stays.
  const more = await linesOf('c');
  write(state, NAME, lines.slice(0, 2));
  write(state, COPY, more, { replaces: NAME });
  await freeDeleted(state, index);
  expect(await bodies(state, 'c')).toEqual(['"c 1"', '"c 2"']);
  index.close();
});

test('a segment that became shorter is read again from its beginning', async () => {
  const { state, index } = newState();
  const lines = await linesOf('a', 'b');
  write(state, NAME, lines);
  const catalogue = createCatalogue(state.journal, index);
  await catalogue.refresh(newReport());
  write(state, NAME, lines.slice(2));
  await catalogue.refresh(newReport());
  expect(index.sessionsIn(NAME)).toEqual(['b']);
  index.close();
});
