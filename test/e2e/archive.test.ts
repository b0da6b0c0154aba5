/** Runs archived by gc are restored by restore; a run that restore would refuse stays in the store. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { listSegments } from '../../src/store/journal/scan.ts';
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
  'an entry that is not an event': (s) => ({ s, o: 'capture', n: 2, e: 7 }),
  'an entry of another source': (s) => ({ s, o: 'other', n: 1, e: {} }),
  'a conflict with an entry that is missing': (s) => ({ s, o: 'conflict:capture', n: 900, e: {} }),
};

for (const [what, entryOf] of Object.entries(FOREIGN))
  verifies('ST-5', `${what} keeps only its own run from being restored`, async () => {
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

const HARM: Record<string, { why: string; harm: (run_id: string) => void }> = {
  'a damaged line': {
    why: 'the journal lacks entry 3 of it',
    harm: (run_id) => changeByte(run_id, 3),
  },
  'an entry that is not an event': {
    why: 'the journal has an entry 3 that is not an event of it',
    harm: (run_id) =>
      editRun(segmentOf(run_id), run_id, (entries) => {
        (entries[2] as EditedEntry).e = 7;
      }),
  },
  'no entries at all': {
    why: 'the journal has no end of it',
    harm: (run_id) => rmSync(segmentOf(run_id)),
  },
};

for (const [what, { why, harm }] of Object.entries(HARM))
  verifies('ST-5', `gc keeps a run with ${what}, and archives the others`, async () => {
    const [first, bad, last] = [await record(), await record(), await record()];
    harm(bad);
    const { code, stderr, done } = await gcAll();
    expect([code, done.removed, done.runs.length, done.kept]).toEqual([
      1,
      2,
      2,
      [{ run_id: bad, why }],
    ]);
    expect(stderr).toContain(`warning: ${bad} was not removed: ${why}`);
    expect(await listed()).toEqual([bad]);
    const again = await tacho(['runs', 'gc', '--max-runs', '0']);
    expect([again.code, again.stdout]).toEqual([1, '0 runs, 0 B removed\n']);
    const back = await tacho(['runs', 'restore', done.archive]);
    expect([back.code, back.stderr]).toEqual([0, '']);
    expect((await listed()).sort()).toEqual([first, bad, last].sort());
    const away = await gcAll('--no-archive');
    expect([away.code, away.done.removed, away.done.kept]).toEqual([0, 3, []]);
    expect(await listed()).toEqual([]);
  });

/** The journal as other writers could have left it: exactly these segments. */
async function writeJournal(segments: readonly (readonly string[])[]): Promise<void> {
  const names = listSegments(journal());
  const [header = ''] = textLines(readFileSync(join(journal(), names[0] as string)));
  for (const [at, name] of names.entries()) {
    const path = join(journal(), name);
    const lines = segments[at];
    if (lines === undefined) rmSync(path);
    else writeFileSync(path, `${[header, ...lines].join('\n')}\n`);
  }
  for (const end of ['', '-wal', '-shm'])
    rmSync(join(place.state, `tacho.db${end}`), { force: true });
  await tacho(['runs', 'reindex']);
}

verifies(
  'ST-5',
  'a run is archived in numerical order, whatever the order of its lines',
  async () => {
    const [gone, run_id] = [await record(), await record()];
    const before = await replayed(run_id);
    const [of_gone, of_run] = [gone, run_id].map((id) =>
      textLines(readFileSync(segmentOf(id))).slice(1),
    );
    const lines = of_run as string[];
    await writeJournal([[...(of_gone as string[]), ...lines.slice(0, 5)], lines.slice(5)]);
    // The first segment is rewritten and then has a later name.
    expect((await tacho(['runs', 'rm', gone])).code).toBe(0);
    expect(await replayed(run_id)).toBe(before);
    const { code, done } = await gcAll();
    expect([code, done.removed, done.kept]).toEqual([0, 1, []]);
    expect(textLines(zstdDecompressSync(readFileSync(done.archive)))).toEqual(lines);
    const back = await tacho(['runs', 'restore', done.archive]);
    expect([back.code, back.stdout, back.stderr]).toEqual([0, `${run_id} restored\n`, '']);
    expect(await replayed(run_id)).toBe(before);
  },
);

verifies(
  'ST-5',
  'a conflict in an older segment is archived after the entry it conflicts with',
  async () => {
    const [other, run_id] = [await record(), await record()];
    const before = await replayed(run_id);
    const [of_other, of_run] = [other, run_id].map((id) =>
      textLines(readFileSync(segmentOf(id))).slice(1),
    );
    const entry = { s: run_id, o: 'conflict:capture', n: 3, e: { differs: true } };
    const conflict = journalLine(entry).toString('utf8').trimEnd();
    await writeJournal([[...(of_other as string[]), conflict], of_run as string[]]);
    const { code, done } = await gcAll();
    expect([code, done.removed]).toEqual([0, 2]);
    const back = await tacho(['runs', 'restore', done.archive]);
    expect([back.code, back.stderr]).toEqual([0, '']);
    expect(await replayed(run_id)).toBe(before);
    expect(readFileSync(segmentOf(run_id), 'utf8')).toContain(conflict);
  },
);
