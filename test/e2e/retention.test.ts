/** Deleted runs stay deleted; the other runs stay complete, even when gc is killed. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { livePaths } from '../../src/app/live/paths.ts';
import { openIndex } from '../../src/store/index/index-db.ts';
import { bury } from '../../src/store/journal/tombstones.ts';
import { takeLock } from '../../src/store/lock.ts';
import { outboxPath } from '../../src/store/outbox/outbox.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { demo, filesBelow, linesOf, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;

async function record(script: string, ...flags: string[]): Promise<string> {
  return (await tacho(demo(script, ...flags))).records[0].run_id as string;
}

const listed = async () =>
  linesOf((await tacho(['runs', 'list', '--json'])).stdout).map(({ run_id }) => run_id as string);

const journal = () =>
  filesBelow(join(place.state, 'journal')).filter(({ path }) => !path.includes('tombstones'));
const traces = (run_id: string) =>
  filesBelow(place.state)
    .filter(
      ({ path, bytes }) =>
        !/tombstones|archive/.test(path) && (path.includes(run_id) || bytes.includes(run_id)),
    )
    .map(({ path }) => path.replace(/.*state\//, ''));

verifies(['ST-5', 'LP-8'], "rm removes a run's messages that wait for a collector", async () => {
  const live = ['--live', `unix:${join(place.folder, 'nobody')}`];
  const [kept, gone] = [await record('fixed', ...live), await record('fixed', ...live)];
  const { outbox } = livePaths(place.state);
  const path = outboxPath(outbox, gone);
  writeFileSync(`${path}.refused`, gone);
  const release = takeLock(`${path}.lock`);
  const refused = await tacho(['runs', 'rm', gone]);
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('try again')]);
  release?.();
  expect((await tacho(['runs', 'rm', gone])).code).toBe(0);
  expect(traces(gone)).toEqual([]);
  expect(readdirSync(outbox)).toEqual([basename(outboxPath(outbox, kept))]);
});

verifies('ST-5', 'runs selected by a policy are archived, deleted, and stay deleted', async () => {
  const old = await record('fixed');
  const failed = await record('agent-error');
  const young = await record('fixed');
  const replayed = (await tacho(['replay', old, '--output', 'json'])).stdout;
  writeFileSync(
    join(place.work, 'tacho.yaml'),
    'retention:\n  - name: few\n    max_runs: 1\n    keep_failed: true\n',
  );
  const dry = await tacho(['runs', 'gc', '--dry-run']);
  expect(dry.stdout).toMatch(
    new RegExp(`^${old}  demo .*few: max_runs \\(archived\\)\n1 run, .* would be removed\n$`),
  );
  expect(await listed()).toEqual([young, failed, old]);

  const { code, stdout } = await tacho(['runs', 'gc', '--json']);
  const done = JSON.parse(stdout);
  expect([code, done.runs.length, done.removed]).toEqual([0, 1, 1]);
  expect(await listed()).toEqual([young, failed]);
  expect(traces(old)).toEqual([]);
  const lines = zstdDecompressSync(readFileSync(done.archive))
    .toString('utf8')
    .trimEnd()
    .split('\n');
  expect(lines.every((line) => JSON.parse(line).s === old)).toBe(true);
  expect((await tacho(['runs', 'gc'])).stdout).toBe('nothing to remove\n');
  await tacho(['runs', 'reindex']);
  expect(await listed()).toEqual([young, failed]);
  expect((await tacho(['runs', 'verify', young])).code).toBe(0);

  const back = await tacho(['runs', 'restore', done.archive]);
  expect([back.code, back.stdout]).toEqual([0, `${old} restored\n`]);
  expect(await listed()).toEqual([young, failed, old]);
  expect((await tacho(['replay', old, '--output', 'json'])).stdout).toBe(replayed);
  expect((await tacho(['runs', 'verify', old])).code).toBe(0);
  await tacho(['runs', 'reindex']);
  expect(await listed()).toEqual([young, failed, old]);
});

verifies('ST-5', 'a segment shared with kept runs is rewritten without the others', async () => {
  const sources = await Promise.all([1, 2, 3, 4].map(() => record('fixed')));
  const ids = await importTogether(sources);
  const before = journal().length;
  const gone = ids.slice(0, 3);
  const kept = ids[3] as string;
  const print = async () => (await tacho(['replay', kept, '--output', 'json'])).stdout;
  const printed = await print();
  expect(
    (await tacho(['runs', 'gc', '--agent', 'demo', '--max-runs', '1', '--no-archive'])).code,
  ).toBe(0);
  expect(await listed()).toEqual([kept]);
  for (const run_id of gone) expect(traces(run_id)).toEqual([]);
  expect(journal().length).toBeLessThanOrEqual(before);
  expect(await print()).toBe(printed);
  expect((await tacho(['runs', 'verify', kept])).code).toBe(0);
});

/** One process records all of these, so that they share a segment; the originals are removed. */
async function importTogether(run_ids: readonly string[]): Promise<string[]> {
  const archive = JSON.parse(
    (await tacho(['runs', 'gc', '--max-runs', '0', '--json'])).stdout || '{}',
  );
  await tacho(['runs', 'restore', archive.archive]);
  expect([...(await listed())].sort()).toEqual([...run_ids].sort());
  return [...(await listed())].reverse();
}

verifies(
  'ST-5',
  'a gc killed at any moment loses no kept run and leaves none half deleted',
  async () => {
    const kept = await record('fixed');
    const names = () =>
      [...openIndex(openStateDir(place.state)).listRuns()].map(({ run_id }) => run_id);
    for (const wait_ms of [30, 60, 90, 120, 160, 200, 260]) {
      const going = await record('agent-error');
      const gc = place.start(['runs', 'gc', '--status', 'failed', '--max-runs', '0'], {
        contract: 'none',
      });
      setTimeout(() => gc.child.kill('SIGKILL'), wait_ms);
      await gc.done;
      await tacho(['runs', 'gc', '--status', 'failed', '--max-runs', '0']);
      expect(names()).toEqual([kept]);
      expect(traces(going)).toEqual([]);
    }
    expect((await tacho(['runs', 'verify', kept])).code).toBe(0);
    await tacho(['runs', 'reindex']);
    expect(names()).toEqual([kept]);
  },
);

verifies('ST-5', 'database rows of runs deleted by a killed gc are overwritten', async () => {
  const kept = await record('fixed');
  const going = await record('agent-error');
  const gc = ['runs', 'gc', '--status', 'failed', '--max-runs', '0'];
  // The rows are deleted by then, and the database is not yet compacted.
  const env = { TACHO_FAIL_AT: 'before_remove' };
  expect((await tacho(gc, { env, contract: 'none' })).signal).toBe('SIGKILL');
  expect(await listed()).toEqual([kept]);
  await tacho(gc);
  expect(traces(going)).toEqual([]);
});

verifies(
  'ST-5',
  'runs that a killed command marked as deleted are removed by the next one',
  async () => {
    const [kept, other] = [await record('fixed'), await record('fixed')];
    for (const command of [
      ['gc', '--max-runs', '100'],
      ['rm', other],
    ]) {
      const going = await record('fixed');
      bury(openStateDir(place.state), [going]);
      expect((await tacho(['runs', ...command])).code).toBe(0);
      expect(await listed()).not.toContain(going);
      expect(traces(going)).toEqual([]);
    }
    expect(await listed()).toEqual([kept]);
  },
);

verifies('ST-5', 'gc and rm remove the files left by killed commands', async () => {
  const run_id = await record('fixed');
  const dead = 2 ** 22 + 1;
  const left = [
    'store.lock.0123456789ab',
    join('journal', '0123456789abcdef.life'),
    join('transcripts', 'demo', `.${run_id}.transcript.jsonl.${dead}-812.5.tmp`),
  ].map((name) => join(place.state, name));
  const spilled = join(place.state, 'tmp', `spill-${dead}-5-0123456789ab`);
  mkdirSync(dirname(spilled), { recursive: true, mode: 0o700 });
  writeFileSync(spilled, 'said in a run');
  for (const command of [
    ['gc', '--max-runs', '100'],
    ['rm', run_id],
  ]) {
    for (const path of left) {
      writeFileSync(path, '', { mode: 0o600 });
      utimesSync(path, 1_700_000_000, 1_700_000_000);
    }
    expect((await tacho(['runs', ...command])).code).toBe(0);
    expect([...left, spilled].filter((path) => existsSync(path))).toEqual([]);
  }
});

test('without a policy gc says what to give, and invalid policies are reported with their line', async () => {
  const none = await tacho(['runs', 'gc']);
  expect([none.code, none.stderr]).toEqual([
    2,
    'error: no policy: give --max-age, --max-runs or --max-size, or add retention: to tacho.yaml\n',
  ]);
  const flag = await tacho(['runs', 'gc', '--max-age', 'soon']);
  expect([flag.code, flag.stderr]).toEqual([2, expect.stringContaining('must be a time like 12h')]);
  const mistakes = [
    ['retention: all\n', ':1:1: retention must be a list of policies'],
    [
      'retention:\n  - max_runs: 1\n    status: bogus\n',
      ':3:5: retention[0].status must be one of ok, failed',
    ],
    [
      'retention:\n  - max_age: 3\n',
      ':2:5: retention[0].max_age must be a time like 12h, 30d or 8w',
    ],
    ['retention:\n  - name: x\n', ':2:5: retention[0] needs one of max_age, max_runs, max_size'],
    ['retention:\n  - max_runs: 1\n    keep: true\n', ':3:5: retention[0].keep: unknown field'],
  ] as const;
  for (const [yaml, say] of mistakes) {
    writeFileSync(join(place.work, 'tacho.yaml'), yaml);
    const wrong = await tacho(['runs', 'gc']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(say)]);
  }
});

test('stats total runs, cost and size by agent and day, and count the runs with a known cost', async () => {
  await record('default');
  await record('agent-error');
  const { stdout } = await tacho(['runs', 'stats', '--json']);
  const stats = JSON.parse(stdout);
  expect(stats.total).toMatchObject({
    name: 'all',
    runs: 2,
    ok: 1,
    tool_calls: 10,
    cost: expect.closeTo(0.0149),
    cost_known_runs: 1,
  });
  expect(stats.by_agent).toEqual([{ ...stats.total, name: 'demo' }]);
  expect(stats.by_day).toHaveLength(1);
  const sizes = filesBelow(join(place.state, 'journal')).filter(({ path }) =>
    path.endsWith('.jsonl'),
  );
  const transcripts = filesBelow(join(place.state, 'transcripts'));
  const bytes = [...sizes, ...transcripts].reduce((sum, file) => sum + file.bytes.length, 0);
  expect(Math.abs(stats.total.bytes - bytes)).toBeLessThan(10);
  expect((await tacho(['runs', 'stats'])).stdout).toMatch(
    /^AGENT +RUNS +OK +CALLS +TOKENS +COST +SIZE\ndemo +2 +50% +10 .*>= \$0\.0149 [\s\S]*\ncost: known for 1 of 2 runs\n/,
  );
  const by = (await tacho(['runs', 'stats', '--by', 'model', '--by', 'project'])).stdout;
  expect(by).toMatch(/\nMODEL +RUNS [\s\S]*\nPROJECT +RUNS /);
  expect((await tacho(['runs', 'stats', '--by', 'moon'])).stderr).toContain(
    'Give model or project.',
  );
  expect(readdirSync(place.state)).not.toContain('gc.lock');
});
