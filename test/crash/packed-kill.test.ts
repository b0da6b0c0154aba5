/** Commands killed while packing a segment: nothing is lost, and the next gc finishes. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { listSegments } from '../../src/store/journal/scan.ts';
import { linesOf, usePlace } from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';
import { segmentText, unpackJournal } from '../fixtures/edit-journal.ts';
import { longSessions } from '../fixtures/long-sessions.ts';

const PLACES = ['mid_pack:1', 'mid_pack:2', 'before_packed', 'after_packed'];
const GC = ['runs', 'gc', '--max-runs', '100'];

const place = usePlace();
const { tacho } = place;
const journal = () => join(place.state, 'journal');
const files = () => readdirSync(journal()).filter((name) => name.includes('.jsonl'));
const text = () =>
  Buffer.concat(listSegments(journal()).map((name) => segmentText(join(journal(), name))));
const ids = async () =>
  linesOf((await tacho(['runs', 'list', '--json'])).stdout).map(({ run_id }) => run_id as string);
const killedAt = (args: string[], at: string) =>
  tacho(args, { env: { TACHO_FAIL_AT: at }, contract: 'none' });

async function allVerify(run_ids: readonly string[]): Promise<void> {
  expect(await ids()).toEqual(run_ids);
  for (const run_id of run_ids) expect((await tacho(['runs', 'verify', run_id])).code).toBe(0);
}

verifies(
  ['ST-3', 'ST-5'],
  'a gc killed while packing loses nothing, and the next one finishes',
  async () => {
    await tacho(['import', 'claude', ...longSessions(place.work, 2)]);
    const all = await ids();
    const before = text();
    for (const at of PLACES) {
      unpackJournal(journal());
      expect((await killedAt(GC, at)).signal).toBe('SIGKILL');
      expect(text().equals(before), at).toBe(true);
      await allVerify(all);
      expect((await tacho(GC)).code).toBe(0);
      expect(files().filter((name) => !name.startsWith('.'))).toEqual([
        expect.stringMatching(/\.jsonl\.zst$/),
      ]);
      expect(text().equals(before), at).toBe(true);
    }
  },
  300_000,
);

verifies(
  ['ST-3', 'ST-5'],
  'an import or an rm killed while packing loses no run and restores none',
  async () => {
    const sessions = longSessions(place.work, 4);
    for (const [nth, at] of PLACES.entries()) {
      const killed = await killedAt(['import', 'claude', sessions[nth] as string], at);
      expect(killed.signal).toBe('SIGKILL');
      await tacho(['runs', 'recover']);
      expect(await ids()).toHaveLength(nth + 1);
    }
    // All in one segment, for rm to rewrite.
    const { archive } = JSON.parse(
      (await tacho(['runs', 'gc', '--max-runs', '0', '--json'])).stdout,
    );
    expect((await tacho(['runs', 'restore', archive])).code).toBe(0);
    const all = await ids();
    expect(all).toHaveLength(4);
    for (const [nth, at] of PLACES.slice(1).entries()) {
      const gone = all[nth] as string;
      expect((await killedAt(['runs', 'rm', gone], at)).signal).toBe('SIGKILL');
      await allVerify(all.slice(nth + 1));
      expect(text().includes(`"s":"${gone}"`), at).toBe(false);
    }
    await tacho(['runs', 'reindex']);
    await allVerify(all.slice(3));
  },
  300_000,
);
