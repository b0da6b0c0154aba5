/** tacho as a library, as it is published: `run` and `convert` of the built package. */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Event, RunOutcome } from '../../src/index.ts';
import { checkEvent, checkOutcome } from '../../src/model/generated/checks.ts';
import { chaosRun } from '../chaos-agent.ts';
import { testFolder } from '../fixtures/folder.ts';
import { root, spools, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

type Library = typeof import('../../src/index.ts');

const place = usePlace();
// A path in a variable: the bundle is looked for when the test runs, not when it is checked.
const built = join(root, 'dist/index.js');
const library = (): Promise<Library> => import(built) as Promise<Library>;

const options = (script: string) => chaosRun(place, script);

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  const list: Event[] = [];
  for await (const event of events) list.push(event);
  return list;
}

test('a run is iterated event by event and has an outcome', async () => {
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

test('a run that nobody iterates is recorded all the same', async () => {
  const { run } = await library();
  const outcome = await run(options('flood')).outcome;
  expect(outcome.success).toBe(true);
});

test('a reader that stops in the middle does not stop the run', async () => {
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

test('abort, and a signal, end the agent: the outcome is cancelled', async () => {
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

test('a time limit is one of the options', async () => {
  const { run } = await library();
  const outcome = await run({ ...options('hang'), timeoutMs: 300 }).outcome;
  expect([outcome.exit_reason, outcome.success]).toEqual(['timeout', false]);
});

test('a time limit that is none, and a prompt that is no text, are refused', async () => {
  const { run } = await library();
  const usage = expect.objectContaining({ code: 'usage' });
  for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31])
    expect(() => run({ ...options('hang'), timeoutMs })).toThrow(usage);
  const none = { prompt: undefined as unknown as string };
  expect(() => run({ ...options('hang'), ...none })).toThrow(usage);
});

const TYPES = join(root, 'dist/types');
const TYPED_PROGRAM = `import { run, type Event, type RunEvent } from 'tacho';
const outcome = await run({ agent: 'demo', prompt: 'x' }).outcome;
export const reason: 'ok' | (string & {}) = outcome.exit_reason;
export const size: number | null | undefined = outcome.artifacts[0]?.size;
// @ts-expect-error: a word is no number
export const wrong: number = outcome.exit_reason;
// @ts-expect-error: there is no such field
export const nothing = outcome.nonsense;
export const statusOf = (event: Event) => event.kind === 'call_finished' && event.data.status;
// @ts-expect-error: a call's end has no text
export const textOf = (event: Event) => event.kind === 'call_finished' && event.data.text;
export const toolOf = (one: RunEvent) => one.type === 'tool_exec_started' && one.data.tool;
`;

test.skipIf(!existsSync(TYPES))(
  'the types of the package stand alone, and know what an outcome and an event hold',
  () => {
    const folder = testFolder();
    const installed = join(folder, 'node_modules/tacho');
    cpSync(TYPES, join(installed, 'dist/types'), { recursive: true });
    cpSync(join(root, 'package.json'), join(installed, 'package.json'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'program.ts'), TYPED_PROGRAM);
    const flags = '--noEmit --strict --skipLibCheck --module nodenext --target es2023 program.ts';
    const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), flags.split(' '), {
      cwd: folder,
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  },
);

test('what cannot be started rejects with an error that says what to do', async () => {
  const { run, TachoError } = await library();
  const unknown = run({ ...options('default'), agent: 'nobody' });
  await expect(unknown.outcome).rejects.toThrow(/unknown agent "nobody": known are/);
  await expect(unknown.outcome).rejects.toBeInstanceOf(TachoError);
  await expect(all(run({ ...options('default'), agent: 'nobody' }))).rejects.toThrow(
    /unknown agent/,
  );
  const nowhere = run({ ...options('default'), cwd: '/nowhere/at/all' });
  await expect(nowhere.outcome).rejects.toMatchObject({ code: 'cwd_missing' });
  const missing = run({ ...options('default'), command: ['no-such-program-anywhere'] });
  await expect(missing.outcome).rejects.toMatchObject({ code: 'agent_missing' });
});

test('convert reads a recording from a file or from bytes, and both say the same', async () => {
  const { convert } = await library();
  const input = join(root, 'src/agents/claude/testdata/write-edit/stdout.jsonl');
  const events = await all(convert({ agent: 'claude', input }));
  const streamed = await all(
    convert({ agent: 'claude', input: createReadStream(input, { highWaterMark: 7 }) }),
  );
  expect(events.length).toBeGreaterThan(5);
  // The id of a recording that has none is made of its source.
  const bare = (list: Event[]) => list.map((event) => ({ ...event, run_id: '' }));
  expect(bare(streamed)).toEqual(bare(events));
  const outcome = await convert({ agent: 'claude', input }).outcome;
  expect(checkOutcome(outcome)).toBe(true);
  expect(outcome.success).toBe(true);
  await expect(convert({ agent: 'claude', input: '/nowhere' }).outcome).rejects.toThrow('/nowhere');
});

verifies('ST-7', 'convert gives no secret away, and takes patterns of more', async () => {
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

test('the example of the docs runs as it is written', async () => {
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
