/** The library's `record`: message objects of an SDK become an ordinary run. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStateDir } from '../../src/store/state-dir.ts';
import { wrongFacts } from '../truth.ts';
import { usePlace } from './cli.ts';

const place = usePlace();
const { record } = await import(join(import.meta.dirname, '../../dist/index.js'));
const TESTDATA = join(import.meta.dirname, '../../src/agents/claude/testdata');
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tacho-record-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const messagesOf = (scenario: string): object[] =>
  readFileSync(join(TESTDATA, scenario, 'stdout.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as object);

async function* slowly(messages: readonly object[]): AsyncGenerator<object> {
  for (const message of messages) yield await Promise.resolve(message);
}

test('the messages of a session are recorded with every fact, and stored', async () => {
  for (const scenario of ['parallel', 'bash-fail', 'denied', 'subagent', 'skill']) {
    const truth = JSON.parse(readFileSync(join(TESTDATA, scenario, 'truth.json'), 'utf8'));
    const run = record({
      agent: 'claude',
      messages: slowly(messagesOf(scenario)),
      stateDir: folder,
      cwd: '/home/user/project',
      prompt: 'p',
    });
    const kinds: string[] = [];
    for await (const event of run) kinds.push(event.kind);
    const outcome = await run.outcome;
    // The outcome of a stored run has no inputs or outputs (ST-1).
    const calls = truth.stdout.calls.map((call: object) => ({ ...call, input: {} }));
    expect(wrongFacts({ ...truth.stdout, calls }, outcome), scenario).toEqual([]);
    expect(kinds.at(0)).toBe('run_started');
    expect(kinds.at(-1)).toBe('run_finished');
    const { code } = await place.tacho(['runs', 'verify', outcome.run_id, '--state-dir', folder]);
    expect(code).toBe(0);
  }
});

test('an SDK that fails in the middle is a failed agent, and earlier messages are kept', async () => {
  async function* failing(): AsyncGenerator<object> {
    yield* messagesOf('bash-fail').slice(0, 3);
    throw new Error('connection lost');
  }
  const { success, exit_reason, error_details, tool_calls } = await record({
    agent: 'claude',
    messages: failing(),
    stateDir: folder,
  }).outcome;
  expect({
    success,
    exit_reason,
    message: error_details.message,
    calls: tool_calls.length,
  }).toEqual({
    success: false,
    exit_reason: 'agent_error',
    message: 'Error: connection lost',
    calls: 1,
  });
});

test('an aborted recording stops reading and is cancelled', async () => {
  async function* endless(): AsyncGenerator<object> {
    for (;;) yield* messagesOf('text').slice(0, 1);
  }
  const stop = new AbortController();
  const run = record({
    agent: 'claude',
    messages: endless(),
    stateDir: folder,
    signal: stop.signal,
  });
  setTimeout(() => stop.abort(), 100);
  expect((await run.outcome).exit_reason).toBe('cancelled');
});

test('objects that are not messages are counted, not fatal', async () => {
  const { completeness } = await record({
    agent: 'claude',
    messages: [null, 1, 'x', {}, ...messagesOf('text')],
    stateDir: folder,
  }).outcome;
  expect(completeness.gaps.some((gap: string) => gap.includes('record'))).toBe(true);
});

test('tacho doctor reports what works here, and fails when nothing can be recorded', async () => {
  openStateDir(join(folder, 'state'));
  const well = await place.tacho(['doctor', '--json', '--state-dir', join(folder, 'state')]);
  const findings = JSON.parse(well.stdout) as { name: string; ok: boolean | null }[];
  expect(well.code).toBe(0);
  expect(findings.filter(({ ok }) => ok === false)).toEqual([]);
  expect(findings.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['state folder', 'writing', 'disk', 'clock', 'index', 'agent demo']),
  );
  expect(readdirSync(join(folder, 'state', 'journal'))).toEqual([]);
  const ill = await place.tacho(['doctor', '--state-dir', '/dev/null/x']);
  expect(ill.code).toBe(1);
  expect(ill.stdout).toMatch(/^FAIL state folder .*--state-dir or TACHO_HOME$/m);
});
