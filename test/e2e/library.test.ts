/** tacho as a published library: `run` and `convert` of the built package. */
import { spawn } from 'node:child_process';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import type { Event, RunOutcome } from '../../src/index.ts';
import { checkEvent, checkOutcome } from '../../src/model/generated/checks.ts';
import { chaosRun } from '../chaos-agent.ts';
import { longSessions } from '../fixtures/long-sessions.ts';
import { root, spools, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

type Library = typeof import('../../src/index.ts');

const place = usePlace();
// A path in a variable: the bundle is resolved when the test runs, not when it is type-checked.
const built = join(root, 'dist/index.js');
const library = (): Promise<Library> => import(built) as Promise<Library>;

const options = (script: string) => chaosRun(place, script);

async function rows<T>(list: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(list);
}

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  const list: Event[] = [];
  for await (const event of events) list.push(event);
  return list;
}

test('a run yields its events and has an outcome', async () => {
  const { run } = await library();
  const demo = run(options('default'));
  const events = await all(demo);
  expect(events.filter((event) => !checkEvent(event))).toEqual([]);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  expect([events[0]?.kind, events.at(-1)?.kind]).toEqual(['run_started', 'run_finished']);
  const outcome = await demo.outcome;
  expect(checkOutcome(outcome)).toBe(true);
  expect(outcome).toMatchObject({ success: true, exit_reason: 'ok', agent: 'demo' });
  expect(spools(place)).toEqual([]);
});

test('failOn names the calls that fail a successful run; late limits require bestEffortLimits', async () => {
  const { run } = await library();
  const demo = run({ ...options('denied'), failOn: ['denied', 'failed-call'] });
  const { success } = await demo.outcome;
  const call = { tool: 'Bash', about: 'rm -rf everything', reason: 'deleting is not allowed here' };
  expect([success, await demo.failures]).toEqual([
    true,
    [
      {
        condition: 'denied',
        message: '1 call was denied',
        calls: [expect.objectContaining(call)],
      },
    ],
  ]);
  const late = { agent: 'claude', prompt: 'x', command: ['/nowhere'], maxCostUsd: 1 };
  await expect(run(late).outcome).rejects.toThrow(/--max-cost cannot stop a run of claude in time/);
  await expect(run({ ...late, bestEffortLimits: true }).outcome).rejects.toThrow(/does not exist/);
});

test('a run is recorded even when its events are not read', async () => {
  const { run } = await library();
  const outcome = await run(options('flood')).outcome;
  expect(outcome.success).toBe(true);
});

test('a reader that stops early does not stop the run', async () => {
  const { run } = await library();
  const demo = run(options('flood'));
  for await (const event of demo) if (event.kind === 'step_started') break;
  expect((await demo.outcome).success).toBe(true);
});

test('a slow reader loses nothing', async () => {
  const { run } = await library();
  const demo = run(options('tools'));
  let count = 0;
  for await (const event of demo) {
    count += 1;
    await new Promise((done) => setTimeout(done, 1));
    expect(event.seq).toBe(count);
  }
  expect(count).toBeGreaterThan(50);
});

test('abort and an AbortSignal stop the agent, and the outcome is cancelled', async () => {
  const { run } = await library();
  const aborted = run(options('hang'));
  for await (const event of aborted) if (event.kind === 'call_started') aborted.abort();
  const controller = new AbortController();
  const signalled = run({ ...options('hang'), signal: controller.signal });
  for await (const event of signalled) if (event.kind === 'call_started') controller.abort();
  const early = run({ ...options('hang'), signal: AbortSignal.abort() });
  const outcomes: RunOutcome[] = await Promise.all([
    aborted.outcome,
    signalled.outcome,
    early.outcome,
  ]);
  expect(outcomes.map((outcome) => [outcome.success, outcome.exit_reason])).toEqual([
    [false, 'cancelled'],
    [false, 'cancelled'],
    [false, 'cancelled'],
  ]);
  expect(place.left()).toEqual([]);
});

test('a time limit is accepted as an option', async () => {
  const { run } = await library();
  const outcome = await run({ ...options('hang'), timeoutMs: 300 }).outcome;
  expect([outcome.exit_reason, outcome.success]).toEqual(['timeout', false]);
});

test('an invalid time limit, and a prompt that is not a string, are refused', async () => {
  const { run } = await library();
  const usage = expect.objectContaining({ code: 'usage' });
  for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31])
    expect(() => run({ ...options('hang'), timeoutMs })).toThrow(usage);
  const none = { prompt: undefined as unknown as string };
  expect(() => run({ ...options('hang'), ...none })).toThrow(usage);
});

test('a run that cannot start rejects with an error that says what to do', async () => {
  const { run, TachoError } = await library();
  const unknown = run({ ...options('default'), agent: 'nobody' });
  await expect(unknown.outcome).rejects.toThrow(/unknown agent "nobody"; expected one of:/);
  await expect(unknown.outcome).rejects.toBeInstanceOf(TachoError);
  await expect(all(run({ ...options('default'), agent: 'nobody' }))).rejects.toThrow(
    /unknown agent/,
  );
  const nowhere = run({ ...options('default'), cwd: '/nowhere/at/all' });
  await expect(nowhere.outcome).rejects.toMatchObject({ code: 'cwd_missing' });
  const missing = run({ ...options('default'), command: ['no-such-program-anywhere'] });
  await expect(missing.outcome).rejects.toMatchObject({ code: 'agent_missing' });
});

test('convert reads a recording from a file or from bytes, with equal results', async () => {
  const { convert } = await library();
  const input = join(root, 'src/agents/claude/testdata/write-edit/stdout.jsonl');
  const events = await all(convert({ agent: 'claude', input }));
  const streamed = await all(
    convert({ agent: 'claude', input: createReadStream(input, { highWaterMark: 7 }) }),
  );
  expect(events.length).toBeGreaterThan(5);
  // A recording without an id gets one derived from its source.
  const bare = (list: Event[]) => list.map((event) => ({ ...event, run_id: '' }));
  expect(bare(streamed)).toEqual(bare(events));
  const outcome = await convert({ agent: 'claude', input }).outcome;
  expect(checkOutcome(outcome)).toBe(true);
  expect(outcome.success).toBe(true);
  await expect(convert({ agent: 'claude', input: '/nowhere' }).outcome).rejects.toThrow('/nowhere');
});

verifies('ST-7', 'convert reveals no secret, and accepts more patterns', async () => {
  const { convert } = await library();
  const input = join(root, 'src/agents/claude/testdata/write-edit/stdout.jsonl');
  process.env.TACHO_TEST_API_KEY = 'greet.txt';
  onTestFinished(() => void delete process.env.TACHO_TEST_API_KEY);
  const options = { agent: 'claude', input, redact: ['Cre[a]ted'] };
  const made = [await all(convert(options)), await convert(options).outcome];
  const text = JSON.stringify(made);
  expect(text).toMatch(/\[REDACTED:env:[0-9a-f]{8}\]/);
  expect(text).toMatch(/\[REDACTED:pattern:[0-9a-f]{8}\]/);
  for (const secret of ['greet.txt', 'Created']) expect(text).not.toContain(secret);
});

test('the store lists, reads, verifies, imports and deletes runs, like the commands', async () => {
  const { openStore, run, runEvents, validate } = await library();
  const stateDir = join(place.folder, 'own');
  using store = openStore({ stateDir });
  expect(await rows(store.list())).toEqual([]);
  await expect(store.outcome('last')).rejects.toMatchObject({ code: 'not_found' });
  expect(existsSync(stateDir)).toBe(false);

  const demo = run({ ...options('default'), stateDir, labels: { team: 'blue' } });
  const { runId } = demo;
  const events = await all(demo);
  const outcome = await demo.outcome;
  expect([runId, events[0]?.run_id]).toEqual([outcome.run_id, outcome.run_id]);
  const files = longSessions(place.folder, 1);
  const [imported] = await rows(store.import({ agent: 'claude', files }));
  expect(imported).toMatchObject({ state: 'imported', agent: 'claude' });

  const ids = async (query: object) => (await rows(store.list(query))).map(({ run_id }) => run_id);
  expect(await ids({ labels: { team: 'blue' } })).toEqual([runId]);
  expect(await ids({ labels: { team: null }, since: '1h', agent: 'demo' })).toEqual([runId]);
  expect(await ids({ until: new Date(0) })).toEqual([]);
  expect((await ids({})).length).toBe(2);
  const { project } = await store.get(runId);
  expect(await ids({ project: basename(project ?? '') })).toEqual([runId]);
  await expect(ids({ project: 'nowhere' })).rejects.toThrow('unknown project "nowhere"');
  await expect(ids({ agent: 'dmo' })).rejects.toThrow('did you mean demo?');
  await expect(ids({ status: 'nonsense' })).rejects.toThrow('unknown status "nonsense"');
  await expect(ids({ since: 'soon' })).rejects.toThrow('list: since must be a Date');
  await expect(ids({ lable: {} })).rejects.toThrow('did you mean label');

  expect(await store.get(runId.slice(0, 20))).toMatchObject({ run_id: runId, success: true });
  expect(await all(store.events(runId))).toEqual(events);
  expect(await store.outcome(runId)).toEqual(outcome);
  expect(await store.transcript(runId)).toMatchObject({ run_id: runId, exit_reason: 'ok' });
  expect(await store.verify(runId)).toMatchObject({ run_id: runId, ok: true, faults: [] });

  const lines = await rows(runEvents(store.events(runId)));
  const replayed = await place.tacho([
    'replay',
    runId,
    '--output',
    'json',
    '--state-dir',
    stateDir,
  ]);
  expect(lines.map((line) => JSON.stringify(line))).toEqual(replayed.stdout.trim().split('\n'));
  const stream = Readable.from([Buffer.from(replayed.stdout)]);
  expect(await validate({ input: stream })).toMatchObject({
    format: 'run-event',
    verdict: 'passed',
  });

  expect((await store.remove([runId])).deleted).toEqual([runId]);
  expect((await ids({})).length).toBe(1);
  store.close();
  await expect(store.get('last')).rejects.toThrow('the store is closed');
});

test('the example in the docs runs unchanged', async () => {
  const folder = join(place.folder, 'example');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(root, join(folder, 'node_modules/tacho'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'library.mjs'), readFileSync(join(root, 'docs/examples/library.mjs')));
  const env = { PATH: process.env.PATH ?? '', TACHO_HOME: place.state, TMPDIR: place.folder };
  const child = spawn(process.execPath, ['library.mjs'], { cwd: folder, env });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece) => {
      text += piece;
    });
  const code = await new Promise((done) => child.on('close', done));
  expect([code, text]).toEqual([
    0,
    expect.stringMatching(/^Write c1\nBash c2\n {2}error\n[\s\S]*ok: 5 calls, \d+ tokens\nDone\. /),
  ]);
  expect(readdirSync(join(place.state, 'journal')).length).toBeGreaterThan(0);
});
