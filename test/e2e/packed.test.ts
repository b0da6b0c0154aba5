/** Commands on a store with packed segments give the same answers, byte for byte. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { listSegments } from '../../src/store/journal/scan.ts';
import { framesOf } from '../../src/store/journal/zstd-frames.ts';
import { segmentText, unpackJournal } from '../fixtures/edit-journal.ts';
import { longSessions } from '../fixtures/long-sessions.ts';
import { filesBelow, linesOf, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;
const journal = () => join(place.state, 'journal');
const files = () =>
  readdirSync(journal()).filter((name) => /\.jsonl/.test(name) && !name.startsWith('tombstones'));
const text = () =>
  Buffer.concat(listSegments(journal()).map((name) => segmentText(join(journal(), name))));
const markers = () =>
  [
    ...new Set(
      filesBelow(place.state)
        .filter(({ path }) => !path.includes('tacho.db'))
        .flatMap(({ bytes }) => bytes.toString('latin1').match(/marker-\d+-here/g) ?? []),
    ),
  ].sort();

async function done(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await tacho(args);
  expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
  return stdout;
}

const rows = async () => linesOf(await done(['runs', 'list', '--limit', '100', '--json']));
const ids = async () => (await rows()).map(({ run_id }) => run_id as string);

/** Everything that the store reports about runs. */
async function answers(run_ids: readonly string[]): Promise<string[]> {
  const said: string[] = [];
  for (const run_id of run_ids) {
    said.push(await done(['show', run_id, '--json']));
    said.push(await done(['replay', run_id, '--output', 'json']));
    expect(await done(['runs', 'verify', run_id])).toContain('events are intact');
  }
  return said;
}

async function imported(count: number): Promise<string[]> {
  await done(['import', 'claude', ...longSessions(place.work, count)]);
  return ids();
}

verifies(
  ['ST-2', 'ST-5', 'ST-10'],
  'show, replay, verify, reindex and gc give the same results for packed and plain segments',
  async () => {
    const all = await imported(3);
    expect(all).toHaveLength(3);
    expect(files()).toEqual([expect.stringMatching(/^[0-9a-z]{26}\.jsonl\.zst$/)]);
    const zst = join(journal(), files()[0] as string);
    expect([...framesOf(zst)].length).toBeGreaterThan(2);
    const [plain, listed, said] = [text(), await rows(), await answers(all)];
    unpackJournal(journal());
    expect(files()).toEqual([expect.stringMatching(/\.jsonl$/)]);
    expect(readFileSync(join(journal(), files()[0] as string)).equals(plain)).toBe(true);
    expect(await answers(all)).toEqual(said);
    await done(['runs', 'gc', '--max-runs', '100']);
    expect(files()).toEqual([expect.stringMatching(/\.zst$/)]);
    expect(text().equals(plain)).toBe(true);
    const again = JSON.parse(await done(['runs', 'reindex', '--json']));
    expect(again).toMatchObject({ runs: 3, unfinished: 0, damaged: 0, foreign: 0, torn: 0 });
    expect(await rows()).toEqual(listed);
    expect(await answers(all)).toEqual(said);
    expect((await tacho(['doctor'])).code).toBe(0);
  },
  300_000,
);

verifies(
  ['ST-5', 'ST-10'],
  'runs are removed from packed segments and restored from archives, and the others are unchanged',
  async () => {
    const all = await imported(4);
    const [last, , , first] = all as [string, string, string, string];
    const said = await answers(all);
    await done(['runs', 'rm', last]);
    expect(markers()).toEqual(['marker-1-here', 'marker-2-here', 'marker-3-here']);
    expect(files()).toEqual([expect.stringMatching(/\.zst$/)]);
    expect(await answers(all.slice(1))).toEqual(said.slice(2));
    const kept = said.slice(2, 4);
    const { archive, segments_rewritten } = JSON.parse(
      await done(['runs', 'gc', '--max-runs', '1', '--json']),
    );
    expect(segments_rewritten).toBe(1);
    expect(await ids()).toEqual(all.slice(1, 2));
    expect(await answers(all.slice(1, 2))).toEqual(kept);
    await done(['runs', 'restore', archive, first]);
    expect(await answers([first])).toEqual(said.slice(6));
    await done(['runs', 'reindex']);
    expect((await ids()).sort()).toEqual([all[1], first].sort());
    expect(files().every((name) => name.endsWith('.zst'))).toBe(true);
  },
  300_000,
);

verifies(
  'ST-10',
  'a damaged frame is counted, and the runs in other frames are intact',
  async () => {
    const all = await imported(4);
    const zst = join(journal(), files()[0] as string);
    const frames = [...framesOf(zst)];
    const { from, to } = frames.at(-1) as { from: number; to: number };
    const bytes = readFileSync(zst);
    bytes.fill(0, from + 20, Math.min(to, from + 2_000));
    writeFileSync(zst, bytes);
    const results = await Promise.all(all.map((run_id) => tacho(['runs', 'verify', run_id])));
    const [newest, ...others] = results.map(({ code }) => code);
    expect([newest, others.includes(0)]).toEqual([1, true]);
    expect(results[0]?.stdout).toContain('damaged lines in the journal');
    const again = JSON.parse(await done(['runs', 'reindex', '--json']));
    expect(again.damaged).toBeGreaterThan(0);
    expect(again.unreadable).toEqual([]);
  },
  300_000,
);
