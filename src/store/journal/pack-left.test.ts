/** Both forms of a segment side by side: which one is kept. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { journalLine, segmentText } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { packLeft } from './pack-left.ts';
import { readSession } from './read.ts';
import { listSegments, segmentBytes } from './scan.ts';
import { PACKED } from './segment-file.ts';

const NAME = `${'0'.repeat(26)}.jsonl`;
const DEAD = '{"v":1,"pid":1073741824,"ticks":1,"space":null}\n';

/** A segment of a dead writer with 300 entries, packed. */
async function packed() {
  const dir = testFolder();
  const path = join(dir, NAME);
  const lines = Array.from({ length: 300 }, (_, i) =>
    journalLine({ s: 's', o: 'main', n: i + 1, e: { i, text: `${i} `.repeat(100) } }),
  );
  const plain = Buffer.concat([Buffer.from(DEAD), ...lines]);
  writeFileSync(path, plain);
  expect(await packLeft(dir, NAME)).toBe(true);
  expect(readdirSync(dir)).toEqual([NAME + PACKED]);
  return { dir, path, plain, zst: path + PACKED };
}

async function count(dir: string): Promise<number> {
  let found = 0;
  for await (const _ of readSession(dir, 's')) found += 1;
  return found;
}

test('the plain form takes precedence, and an interrupted packing is finished', async () => {
  const { dir, path, plain, zst } = await packed();
  const whole = readFileSync(zst);
  const damaged = Buffer.from(whole).fill(0xaa, 200, 400);
  for (const left of [whole, damaged, whole.subarray(0, -1), Buffer.from('left by a kill')]) {
    writeFileSync(path, plain);
    writeFileSync(zst, left);
    expect(listSegments(dir)).toEqual([NAME]);
    expect(segmentBytes(dir, NAME)).toBe(plain.length);
    expect(await count(dir)).toBe(300);
    expect(await packLeft(dir, NAME)).toBe(true);
    expect(existsSync(path)).toBe(false);
    expect(readFileSync(zst).equals(whole)).toBe(true);
  }
});

verifies('ST-3', 'a plain form that is a prefix of the packed one is removed', async () => {
  const { dir, path, plain, zst } = await packed();
  const before = readFileSync(zst);
  for (const bytes of [0, 30, 5_000, 70_000, plain.length - 1]) {
    writeFileSync(path, plain.subarray(0, bytes));
    expect(await packLeft(dir, NAME)).toBe(true);
    expect(readdirSync(dir)).toEqual([NAME + PACKED]);
    expect(readFileSync(zst).equals(before)).toBe(true);
    expect(await count(dir)).toBe(300);
  }
});

test('a plain form with other or more text is packed again', async () => {
  const { dir, path, plain } = await packed();
  const other = Buffer.from(plain);
  other[70_000] = 0x20;
  for (const text of [Buffer.concat([plain, Buffer.from('more\n')]), other.subarray(0, 100_000)]) {
    writeFileSync(path, text);
    expect(await packLeft(dir, NAME)).toBe(true);
    expect(segmentText(path).equals(text)).toBe(true);
  }
});

test('something else in place of the packed form does not lose the plain one', async () => {
  const { dir, plain } = await packed();
  const beside = join(dir, `${'1'.repeat(26)}.jsonl`);
  writeFileSync(beside, plain);
  symlinkSync('nowhere', beside + PACKED);
  expect(await packLeft(dir, `${'1'.repeat(26)}.jsonl`)).toBe(true);
  expect(segmentText(beside).equals(plain)).toBe(true);
  writeFileSync(join(dir, `${'2'.repeat(26)}.jsonl`), plain);
  mkdirSync(join(dir, `${'2'.repeat(26)}.jsonl${PACKED}`));
  expect(await packLeft(dir, `${'2'.repeat(26)}.jsonl`)).toBe(false);
  expect(existsSync(join(dir, `${'2'.repeat(26)}.jsonl`))).toBe(true);
});

test('a packed form beside a plain one that is too small is removed', async () => {
  const dir = testFolder();
  writeFileSync(join(dir, NAME), '{"v":1}\n');
  writeFileSync(join(dir, NAME + PACKED), 'x');
  expect(await packLeft(dir, NAME)).toBe(false);
  expect(readdirSync(dir)).toEqual([NAME]);
});
