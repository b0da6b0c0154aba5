/** What gc archives, restore takes back; a run that restore would refuse stays in the store. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { listSegments } from '../../src/store/scan.ts';
import { type EditedEntry, editRun, journalLine } from '../fixtures/edit-journal.ts';
import { demo, linesOf, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;

const record = async () => (await tacho(demo('fixed'))).records[0].run_id as string;
const listed = async () =>
  linesOf((await tacho(['runs', 'list', '--json'])).stdout).map(({ run_id }) => run_id as string);
const replayed = async (run_id: string) =>
  (await tacho(['replay', run_id, '--output', 'json'])).stdout;

const journal = () => join(place.state, 'journal');
const segmentOf = (run_id: string) =>
  listSegments(journal())
    .map((name) => join(journal(), name))
    .find((path) => readFileSync(path, 'utf8').includes(`"s":"${run_id}"`)) as string;
const textLines = (bytes: Buffer) => bytes.toString('utf8').trimEnd().split('\n');

async function gcAll(...flags: string[]) {
  const { code, stdout, stderr } = await tacho([
    'runs',
    'gc',
    '--max-runs',
    '0',
    '--json',
    ...flags,
  ]);
  return { code, stderr, done: JSON.parse(stdout) };
}

function changeByte(run_id: string, entry: number): void {
  const path = segmentOf(run_id);
  const bytes = readFileSync(path);
  const at = bytes.indexOf(`"s":"${run_id}","o":"capture","n":${entry},`);
  bytes.writeUInt8(bytes.readUInt8(at + 80) ^ 1, at + 80);
  writeFileSync(path, bytes);
}

const FOREIGN: Record<string, (run_id: string) => EditedEntry> = {
  'an entry that is no event': (s) => ({ s, o: 'capture', n: 2, e: 7 }),
  'an entry of another source': (s) => ({ s, o: 'other', n: 1, e: {} }),
  'a conflict with an entry that is missing': (s) => ({ s, o: 'conflict:capture', n: 900, e: {} }),
};

for (const [what, entryOf] of Object.entries(FOREIGN))
  verifies('ST-5', `${what} keeps its own run alone from being restored`, async () => {
    const [bad, good] = [await record(), await record()];
    const { done } = await gcAll();
    const foreign = entryOf(bad);
    const text = journalLine(foreign).toString('utf8').trimEnd();
    const lines = textLines(zstdDecompressSync(readFileSync(done.archive)));
    const head = `{"s":"${bad}","o":"${foreign.o}","n":${foreign.n},`;
    const at = lines.findIndex((line) => line.startsWith(head));
    if (at < 0) lines.push(text);
    else lines[at] = text;
    writeFileSync(done.archive, zstdCompressSync(Buffer.from(`${lines.join('\n')}\n`)));
    const chosen = await tacho(['runs', 'restore', done.archive, good]);
    expect([chosen.code, chosen.stdout, chosen.stderr]).toEqual([0, `${good} restored\n`, '']);
    await tacho(['runs', 'rm', good]);
    const all = await tacho(['runs', 'restore', done.archive]);
    expect([all.code, all.stdout]).toEqual([1, `${good} restored\n`]);
    expect(all.stderr).toContain(`error: ${bad}: not restored: the archive `);
    expect(await listed()).toEqual([good]);
    expect((await tacho(['runs', 'verify', good])).code).toBe(0);
  });

