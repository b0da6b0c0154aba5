/** Runs deleted during their recovery stay deleted (ST-5). */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'vitest';
import {
  demo,
  filesBelow,
  fixture,
  linesOf,
  type Result,
  spools,
  until,
  usePlace,
} from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';

const place = usePlace();
const { tacho } = place;

const listed = async () =>
  linesOf((await tacho(['runs', 'list', '--json'])).stdout).map(({ run_id }) => run_id as string);

/** Starts a recovery that waits before it stores the files of a run; `work` runs meanwhile. */
async function besideRecovery(work: () => Promise<void>): Promise<Result> {
  const waits = join(place.folder, 'waits');
  const env = { NODE_OPTIONS: `--require ${fixture('waits-to-store.cjs')}`, WAITS: waits };
  const recovery = place.start(['runs', 'recover'], { env });
  await until(() => existsSync(waits), 'a recovery that waits');
  await work();
  rmSync(waits);
  return recovery.done;
}

verifies('ST-5', 'a run deleted by gc during its recovery does not come back', async () => {
  expect((await tacho(demo('fixed'))).code).toBe(0);
  // Listed, with a spool: its transcript could not be stored.
  const transcripts = join(place.state, 'transcripts', 'demo');
  rmSync(transcripts, { recursive: true });
  writeFileSync(transcripts, '');
  const run_id = (await tacho(demo('fixed'))).records[0].run_id as string;
  expect(spools(place)).toEqual([run_id]);
  rmSync(transcripts);
  mkdirSync(transcripts, { mode: 0o700 });
  const recovered = await besideRecovery(async () => {
    const gc = await tacho(['runs', 'gc', '--max-runs', '0', '--no-archive']);
    expect([gc.code, gc.stderr]).toEqual([0, '']);
  });
  expect([recovered.code, recovered.stdout, recovered.stderr]).toEqual([
    0,
    'Nothing to recover.\n',
    '',
  ]);
  expect(await listed()).toEqual([]);
  expect([readdirSync(transcripts), spools(place)]).toEqual([[], []]);
  expect((await tacho(['runs', 'gc', '--max-runs', '0'])).code).toBe(0);
  const files = filesBelow(place.state).filter(({ bytes }) => bytes.includes(run_id));
  expect(files.map(({ path }) => basename(path))).toEqual(['tombstones.jsonl']);
});

verifies('ST-5', 'a run deleted by rm during its recovery does not come back', async () => {
  const kept = (await tacho(demo('fixed'))).records[0].run_id as string;
  const env = { TACHO_FAIL_AT: 'after_sync:1' };
  expect((await tacho(demo('fixed'), { env, contract: 'none' })).signal).toBe('SIGKILL');
  await until(() => place.left().length === 0, 'the end of the agent');
  // Without a spool the run is closed from the journal.
  const [orphan = ''] = spools(place);
  rmSync(join(place.state, 'spool', orphan), { recursive: true });
  const recovered = await besideRecovery(async () => {
    const { code, stdout } = await tacho(['runs', 'rm', orphan]);
    expect([code, stdout]).toEqual([0, `${orphan}: deleted\n`]);
  });
  expect([recovered.code, recovered.stdout]).toEqual([0, 'Nothing to recover.\n']);
  expect(await listed()).toEqual([kept]);
  await tacho(['runs', 'gc', '--max-runs', '1']);
  const files = filesBelow(place.state).filter(({ bytes }) => bytes.includes(orphan));
  expect(files.map(({ path }) => basename(path))).toEqual(['tombstones.jsonl']);
  expect((await tacho(['runs', 'verify', kept])).code).toBe(0);
});
