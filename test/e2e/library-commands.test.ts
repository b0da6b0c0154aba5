/** The library does what the commands do: keeping the store, agents, checks of the machine, evals that run agents. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chaosAgent, chaosRun, played } from '../chaos-agent.ts';
import { demo, kill, root, spools, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const SESSION = join(root, 'src/agents/claude/testdata/bash-ok/session');

type Library = typeof import('../../src/index.ts');

const place = usePlace();
// A path in a variable: the bundle is looked for when the test runs, not when it is checked.
const built = join(root, 'dist/index.js');
const library = (): Promise<Library> => import(built) as Promise<Library>;

/** Records a run for each script, one after the other. Returns their ids. */
async function recorded(...scripts: string[]): Promise<string[]> {
  const { run } = await library();
  const ids: string[] = [];
  for (const script of scripts)
    ids.push((await run({ ...chaosRun(place, script), labels: { script } }).outcome).run_id);
  return ids;
}

const json = async (...args: string[]) => JSON.parse((await place.tacho(args)).stdout);

test('gc removes what its limits say, and restore brings it back', async () => {
  const { openStore } = await library();
  const store = openStore({ stateDir: place.state });
  const [old = '', newer] = await recorded('default', 'denied');
  await expect(store.gc()).rejects.toThrow('no policy');
  await expect(store.gc({ maxRuns: 0, agent: 'dmo' })).rejects.toThrow('did you mean demo?');
  await expect(store.gc({ maxage: 1 } as object)).rejects.toThrow('did you mean maxAgeMs?');
  expect((await store.gc({ maxRuns: 0, labels: { script: 'nothing' } })).runs).toEqual([]);

  const plan = { run_id: old, agent: 'demo', archive: true, why: 'limits: max_runs' };
  const dry = await store.gc({ maxRuns: 1, dryRun: true });
  expect(dry).toMatchObject({ dry_run: true, runs: [plan], kept: [], archive: null });
  const done = await store.gc({ maxRuns: 1 });
  expect(done).toEqual({ ...dry, dry_run: false, archive: expect.stringContaining('archive') });
  const ids = async () => (await Array.fromAsync(store.list())).map(({ run_id }) => run_id);
  expect(await ids()).toEqual([newer]);

  const archive = done.archive ?? '';
  expect(await store.restore(archive, { runs: ['r_other'] })).toMatchObject({ restored: [] });
  expect(await store.restore(archive)).toMatchObject({ restored: [old], left_out: [] });
  expect(await ids()).toEqual([newer, old]);
  expect(await store.verify(old)).toMatchObject({ ok: true });
  await expect(store.restore('/nowhere')).rejects.toMatchObject({ code: 'not_found' });
});

test('stats are those of the command, for the runs that a filter chooses', async () => {
  const { openStore } = await library();
  const store = openStore({ stateDir: place.state });
  expect((await store.stats()).total.runs).toBe(0);
  expect(existsSync(join(place.state, 'journal'))).toBe(false);
  await recorded('default', 'crash');
  const all = await store.stats({ days: 3, by: ['model'] });
  expect(all).toEqual(await json('runs', 'stats', '--json', '--days', '3', '--by', 'model'));
  expect([all.total.runs, all.by_model?.length]).toEqual([2, expect.any(Number)]);
  const failed = await store.stats({ status: 'failed', labels: { script: 'crash' } });
  expect([failed.total.runs, failed.total.ok]).toEqual([1, 0]);
  await expect(store.stats({ limit: 1 } as object)).rejects.toThrow('limit');
  await expect(store.stats({ since: 'soon' })).rejects.toThrow('stats: since must be');
});

test('reindex rebuilds a lost index, and remove takes names of runs', async () => {
  const { openStore } = await library();
  const store = openStore({ stateDir: place.state });
  expect(await store.reindex()).toMatchObject({ runs: 0, unreadable: [] });
  const [run = ''] = await recorded('default');
  writeFileSync(join(place.state, 'tacho.db'), 'damaged');
  expect(await store.reindex()).toMatchObject({ runs: 1, unfinished: 0, damaged: 0 });
  expect((await store.get('last')).run_id).toBe(run);
  await expect(store.remove('last' as unknown as string[])).rejects.toThrow(
    'must be a list of strings',
  );
  await expect(store.get(undefined as unknown as string)).rejects.toMatchObject({ code: 'usage' });
  expect(await store.remove(['last'], { force: false })).toMatchObject({ deleted: [run] });
});

test('recover finishes the record of a killed run', async () => {
  const { openStore } = await library();
  const store = openStore({ stateDir: place.state });
  expect(await Array.fromAsync(store.recover())).toEqual([]);
  const started = place.start(demo('hang'), { contract: 'none' });
  await until(() => spools(place).length === 1 && place.left().length > 1, 'the agent');
  const [run_id] = spools(place);
  kill(started.pid);
  await started.done;
  expect(await Array.fromAsync(store.recover({ wait: false, trust: true }))).toEqual([
    { state: 'running', run_id, outcome: null, why: expect.stringMatching(/^its agent is still/) },
  ]);
  for (const pid of place.left()) kill(pid);
  await until(() => place.left().length === 0, 'the end of the agent');
  const [recovered, ...others] = await Array.fromAsync(store.recover({ trust: true }));
  expect([recovered, others]).toEqual([
    { state: 'recovered', run_id, outcome: expect.objectContaining({ run_id }), why: null },
    [],
  ]);
  expect(await store.outcome('last')).toEqual(recovered?.outcome);
});

test('agents and doctor report the machine as the commands do', async () => {
  const { agents, doctor } = await library();
  const reports = await agents();
  expect(reports.map(({ id }) => id)).toContain('claude');
  expect(await agents({ agent: 'demo' })).toEqual([
    expect.objectContaining({ id: 'demo', installed: true, built_in: true }),
  ]);
  await expect(agents({ agent: 'nobody' })).rejects.toMatchObject({ code: 'agent_unknown' });
  await expect(agents({ agnt: 'demo' } as object)).rejects.toThrow('did you mean agent?');
  const findings = await doctor({ stateDir: place.state });
  const commands: { name: string }[] = await json('doctor', '--json');
  expect(findings.map(({ name }) => name)).toEqual(commands.map(({ name }) => name));
  expect(findings.filter(({ ok }) => ok === false)).toEqual([]);
  expect(existsSync(join(place.state, 'journal'))).toBe(false);
});

test('drift reports what a recording has that its adapter does not know', async () => {
  const { drift } = await library();
  const input = join(place.folder, 'stdout.jsonl');
  const known = readFileSync(join(root, 'src/agents/claude/testdata/text/stdout.jsonl'), 'utf8');
  writeFileSync(input, `${known}{"type":"brand_new"}\n`);
  const report = await drift({ agent: 'claude', input });
  expect(report).toEqual(await json('drift', 'claude', input, '--json'));
  const found = { code: 'unknown_record', what: 'brand_new', count: 1 };
  expect(report.findings).toEqual([expect.objectContaining(found)]);
  const numbers = { agent: 'claude', input: 5 as unknown as string };
  await expect(drift(numbers)).rejects.toThrow('drift: input must be a path or an async iterable');
});

const EVAL = `
tests:
  - id: writes
    input: write something
    assertions: [{ type: tool-trajectory, mode: superset, expected: [{ tool: Write }] }]
  - id: never
    input: write something
    assertions: [{ type: contains, value: nowhere in the text }]
`;

test('runEval runs an agent per test, stores the results, resumes, and compareEvals compares', async () => {
  const { compareEvals, openStore, runEval } = await library();
  const notices: string[] = [];
  const results = join(place.folder, 'results.jsonl');
  const options = {
    text: EVAL,
    agent: 'demo',
    command: [chaosAgent],
    args: played('default'),
    env: { TACHO_HOME: place.state },
    stateDir: place.state,
    onNotice: (text: string) => void notices.push(text),
  };
  const seen: string[] = [];
  const first = await runEval({ ...options, results, onResult: ({ id }) => void seen.push(id) });
  const verdicts = first.report.tests.map(({ id, verdict }) => [id, verdict]);
  expect([verdicts, seen]).toEqual([
    [
      ['writes', 'pass'],
      ['never', 'fail'],
    ],
    ['writes', 'never'],
  ]);
  expect(notices).toEqual([expect.stringContaining('a workspace in the eval file')]);
  const stored = await Array.fromAsync(openStore({ stateDir: place.state }).list());
  expect(stored.map(({ run_id }) => run_id).sort()).toEqual(
    first.rows.map(({ run_id }) => run_id).sort(),
  );

  const again: string[] = [];
  const resumed = await runEval({ ...options, resume: results, onResult: () => again.push('') });
  expect([resumed.rows, again]).toEqual([first.rows, []]);
  expect(await compareEvals({ before: results, after: resumed.rows })).toMatchObject({
    counts: { same: 2, worse: 0 },
    regression: false,
  });
});

test('runEval refuses what cannot work before an agent starts', async () => {
  const { runEval } = await library();
  const stateDir = place.state;
  const refused = (options: object, text: string) =>
    expect(runEval({ agent: 'demo', stateDir, ...options })).rejects.toThrow(text);
  await refused({}, 'runEval: give either files or text');
  await refused({ text: EVAL, wrokers: 2 }, 'did you mean workers?');
  await refused({ text: EVAL, workers: 2 }, 'a workspace');
  await refused({ text: EVAL, target: 'x' }, 'runEval: give either agent or target');
  await refused({ files: ['/nowhere.yaml'] }, '/nowhere.yaml');
  await refused({ text: 'tests: 5' }, 'eval.yaml:1:1: tests must be a list');
  const code = EVAL.replace('type: contains, value:', 'type: command, command:');
  await expect(runEval({ agent: 'demo', stateDir, text: code })).rejects.toMatchObject({
    code: 'untrusted',
  });
  const aborted = await runEval({
    agent: 'demo',
    stateDir,
    text: EVAL,
    signal: AbortSignal.abort(),
  });
  expect([aborted.rows, aborted.stopped]).toEqual([[], true]);
  expect(existsSync(join(stateDir, 'journal'))).toBe(false);
});

verifies(
  ['WA-2', 'WA-9'],
  'watch follows sessions as the command does, and watchStatus reports its health',
  async () => {
    const { openStore, watch, watchStatus } = await library();
    const stateDir = place.state;
    expect(watchStatus({ stateDir })).toEqual({ running: false, stalled: false, health: null });
    await expect(watch({ agent: 'claude' } as object)).rejects.toThrow('did you mean agents?');
    const home = process.env.HOME;
    process.env.HOME = place.folder;
    try {
      cpSync(SESSION, place.folder, { recursive: true });
      const seen: string[] = [];
      const stop = new AbortController();
      const watching = watch({
        stateDir,
        agents: ['claude'],
        signal: stop.signal,
        onSession: ({ state, agent }, left) => seen.push(`${agent} ${state} ${left}`),
        onCaughtUp: () => seen.push('caught up'),
      });
      await until(() => seen.includes('caught up'), 'the first import');
      expect(seen).toEqual(['claude imported 0', 'caught up']);
      expect(watchStatus({ stateDir })).toMatchObject({ running: true, health: { sessions: 1 } });
      await expect(watch({ stateDir, once: true })).rejects.toMatchObject({ code: 'busy' });
      stop.abort();
      await watching;
      expect(watchStatus({ stateDir })).toMatchObject({ running: false });
      const runs = await Array.fromAsync(openStore({ stateDir }).list());
      expect(runs).toMatchObject([{ agent: 'claude', unfinished: null }]);
    } finally {
      process.env.HOME = home;
    }
  },
);
