/** Library runs and eval runs can do what `tacho run` can: retries, limits, live, input, targets. */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Event, RunOptions } from '../../src/index.ts';
import { connectSocket, control, isType } from '../live-client.ts';
import { startServe, storedIn } from '../serve-process.ts';
import { fixture, linesOf, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

type Library = typeof import('../../src/index.ts');

const place = usePlace({ trust: true });
const built = join(root, 'dist/index.js');
const toy = (failures: number, calls = 1) => [
  process.execPath,
  fixture('fails-first.mjs'),
  String(failures),
  String(calls),
];
const talks = [process.execPath, fixture('claude-talks.mjs')];

async function run(more: Partial<RunOptions> & { onNotice?: (text: string) => void }) {
  const library = (await import(built)) as Library;
  return library.run({
    agent: 'demo',
    prompt: 'please',
    cwd: place.work,
    stateDir: place.state,
    env: { TACHO_HOME: place.state },
    ...more,
  });
}

const attempts = async () => {
  const { stdout } = await place.tacho(['runs', 'list', '--json']);
  const ids = linesOf(stdout).map(({ run_id }) => run_id as string);
  const shown = ids.reverse().map((id) => place.tacho(['runs', 'show', id, '--json']));
  return (await Promise.all(shown)).map((one) => {
    const { run_id, exit_reason, metadata } = JSON.parse(one.stdout);
    return { run_id, exit_reason, attempt: metadata.attempt_number };
  });
};

/** Each session of the collector: its id, and how it ended. */
const sessions = async () =>
  [...(await storedIn(place.state))].map(([id, lines]) => {
    const { type, data } = JSON.parse(lines.at(-1) as string);
    return [id, type, data.status];
  });

/** Sends an input to the run as soon as it makes a call. */
async function inject(url: string, type: string, data: object): Promise<void> {
  const client = await connectSocket({ path: url.replace('unix:', '') });
  await client.handshake({ role: 'client' });
  client.send(control('subscribe_events', { filter: { from_seq: 0 } }));
  const { session_id } = await client.wait(isType('tool_call_request'), 'a call');
  client.send(control(type, data, { session_id, message_id: `${type}-1` }));
}

describe('the library', () => {
  verifies('RO-9', 'retries give events and records of several runs, and one outcome', async () => {
    const notices: string[] = [];
    const onNotice = (text: string) => void notices.push(text);
    const demo = await run({ command: toy(2), retries: 2, retryWaitMs: 20, onNotice });
    const events: Event[] = [];
    for await (const event of demo) events.push(event);
    const recorded = await attempts();
    expect(recorded.map(({ exit_reason, attempt }) => [exit_reason, attempt])).toEqual([
      ['provider_error', 1],
      ['provider_error', 2],
      ['ok', 3],
    ]);
    const read = Map.groupBy(events, ({ run_id }) => run_id);
    expect([...read.keys()]).toEqual(recorded.map(({ run_id }) => run_id));
    for (const some of read.values())
      expect([some[0]?.kind, some.at(-1)?.kind]).toEqual(['run_started', 'run_finished']);
    expect(await demo.outcome).toMatchObject({
      run_id: recorded[2]?.run_id,
      exit_reason: 'ok',
      metadata: { attempt_number: 3, retry_count: 2 },
    });
    const why = 'provider_error: the model is overloaded';
    expect(notices).toEqual([
      expect.stringMatching(new RegExp(`^${why}; attempt 2 of 3 in \\d+ms$`)),
      expect.stringMatching(new RegExp(`^${why}; attempt 3 of 3 in \\d+ms$`)),
    ]);
  });

  test('an abort between attempts ends the run with the last attempt', async () => {
    const demo = await run({
      command: toy(9),
      retries: 5,
      retryWaitMs: 60_000,
      onNotice: () => setImmediate(() => demo.abort()),
    });
    const outcome = await demo.outcome;
    expect([outcome.exit_reason, (await attempts()).length]).toEqual(['provider_error', 1]);
    expect(demo.say('late')).toMatchObject({ taken: false });
  });

  test('attempts with a fixed clock and seed have different ids', async () => {
    const program = `import { run } from ${JSON.stringify(pathToFileURL(built).href)};
      const ids = new Set();
      const options = ${JSON.stringify({ agent: 'demo', prompt: 'x', command: toy(1), retries: 1, retryWaitMs: 1 })};
      for await (const { run_id } of run(options)) ids.add(run_id);
      console.log(ids.size);`;
    const fixed = { TACHO_FIXED_TIME: '2026-01-02T03:04:05Z', TACHO_ID_SEED: 's' };
    expect(outputOf(program, fixed)).toEqual(['2\n', '']);
  });

  test('a limit stops the run', async () => {
    const { outcome } = await run({ command: toy(0, 40), maxToolCalls: 2 });
    const { exit_reason, error_details } = await outcome;
    expect([exit_reason, error_details?.message]).toEqual([
      'budget_exceeded',
      expect.stringMatching(/^\d+ tool calls, over --max-tool-calls 2$/),
    ]);
  });

  test('invalid retries and waits are refused', async () => {
    for (const wrong of [{ retries: -1 }, { retries: 1.5 }, { retryWaitMs: Number.NaN }]) {
      await expect(run({ command: toy(0), ...wrong })).rejects.toMatchObject({ code: 'usage' });
    }
    expect(existsSync(join(place.work, 'starts'))).toBe(false);
  });

  verifies('LP-8', 'every attempt is a live session; a bare URL is enough', async () => {
    const { url } = await startServe(place.state);
    const notices: string[] = [];
    const demo = await run({
      command: toy(1),
      retries: 1,
      retryWaitMs: 1,
      live: { url },
      onNotice: (text) => void notices.push(text),
    });
    await demo.outcome;
    const [first, second] = await attempts();
    expect(await sessions()).toEqual([
      [first?.run_id, 'session_end', 'provider_error'],
      [second?.run_id, 'session_end', 'ok'],
    ]);
    expect(notices.filter((text) => !text.includes(' clock '))).toEqual([
      expect.stringContaining('; attempt 2 of 2 in '),
    ]);
  });

  test('an unreachable collector is reported, and the run is recorded', async () => {
    const notices: string[] = [];
    const demo = await run({
      command: toy(0),
      live: { url: `unix:${join(place.folder, 'nobody')}` },
      onNotice: (text) => void notices.push(text),
    });
    expect((await demo.outcome).exit_reason).toBe('ok');
    expect(notices).toEqual([
      expect.stringMatching(/^live: .*no collector is listening there.*; trying again$/),
      expect.stringMatching(/^live: \d+ messages of session .* not delivered yet/),
    ]);
  });

  verifies('LP-14', 'input through the collector reaches the agent', async () => {
    const { url } = await startServe(place.state);
    const demo = await run({
      agent: 'claude',
      command: talks,
      prompt: `hold ${join(place.folder, 'never')}`,
      acceptInput: true,
      live: { url },
    });
    await inject(url, 'interrupt', { reason: 'enough' });
    expect((await demo.outcome).exit_reason).toBe('cancelled');
  });

  test('a target of tacho.yaml supplies the options left out, with consent', () => {
    const target = { agent: 'demo', command: toy(2, 40), retries: 2, max_tool_calls: 3 };
    writeFileSync(join(place.work, 'tacho.yaml'), JSON.stringify({ targets: { flaky: target } }));
    const program = `import { run } from ${JSON.stringify(pathToFileURL(built).href)};
      const options = { target: 'flaky', prompt: 'x', retryWaitMs: 1, maxToolCalls: 1 };
      const outcome = await run(options).outcome.catch(({ code }) => ({ code }));
      const { exit_reason, error_details, metadata, code } = outcome;
      console.log(code ?? [exit_reason, metadata.attempt_number, error_details.message].join());`;
    expect(outputOf(program, {})).toEqual(['untrusted\n', '']);
    expect(outputOf(program, { TACHO_TRUST: '1' })).toEqual([
      expect.stringMatching(/^budget_exceeded,3,\d+ tool calls, over --max-tool-calls 1\n$/),
      '',
    ]);
  });
});

/** The output of a library program, in the work folder. */
function outputOf(program: string, more: Record<string, string>): [string, string] {
  const env = { PATH: process.env.PATH ?? '', TACHO_HOME: place.state, ...more };
  const args = ['--input-type=module', '-e', program];
  const options = { cwd: place.work, env, encoding: 'utf8' } as const;
  const { stdout, stderr } = spawnSync(process.execPath, args, options);
  return [stdout, stderr];
}

describe('an eval', () => {
  const write = (name: string, text: string) => writeFileSync(join(place.work, name), text);
  const TEST = 'tests: [{ id: a, input: go, assert: [{ type: contains, value: done }] }]';
  const evaluate = (target: object, ...flags: string[]) => {
    write('tacho.yaml', JSON.stringify({ targets: { toy: target } }));
    write('a.yaml', TEST);
    return ['eval', 'a.yaml', '--target', 'toy', '--output', 'json', ...flags];
  };
  const agent = (failures: number, calls = 1) => ({ agent: 'demo', command: toy(failures, calls) });

  verifies('RO-9', 'retries its runs according to flags or the target', async () => {
    const flags = ['--retries', '2', '--retry-wait', '0.02'];
    const asked = await place.tacho(evaluate(agent(2), ...flags));
    expect([asked.code, asked.stderr]).toEqual([0, '']);
    const recorded = (await attempts()).map(({ exit_reason, attempt }) => [exit_reason, attempt]);
    expect(recorded).toEqual([
      ['provider_error', 1],
      ['provider_error', 2],
      ['ok', 3],
    ]);
    rmSync(join(place.work, 'starts'));
    const own = await place.tacho(evaluate({ ...agent(1), retries: 1 }, '--retry-wait', '0.02'));
    expect(own.code).toBe(0);
    rmSync(join(place.work, 'starts'));
    expect((await place.tacho(evaluate(agent(1)))).code).toBe(1);
  });

  test('limits its runs', async () => {
    const { code } = await place.tacho(evaluate(agent(0, 40), '--max-tool-calls', '2'));
    expect([code, (await attempts())[0]?.exit_reason]).toEqual([1, 'budget_exceeded']);
  });

  verifies('LP-8', 'sends its runs live', async () => {
    const { url } = await startServe(place.state);
    const flags = ['--live', url, '--repeat', '2'];
    const { code, stdout } = await place.tacho(evaluate(agent(0), ...flags));
    const [{ runs }] = JSON.parse(stdout).tests;
    expect(code).toBe(0);
    const ids = runs.map(({ run_id }: { run_id: string }) => run_id);
    expect((await sessions()).sort()).toEqual(
      ids.map((id: string) => [id, 'session_end', 'ok']).sort(),
    );
  });

  test('grades the runs with or without a collector', async () => {
    const flags = ['--live', `unix:${join(place.folder, 'nobody')}`];
    const { code, stderr } = await place.tacho(evaluate(agent(0), ...flags));
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^tacho: live: .*no collector is listening there.*\ntacho: live: \d+ messages of session .* not delivered yet.*\n$/,
      ),
    ]);
  });

  test('refuses a bad address before anything runs, and run flags when no run is made', async () => {
    const bad = await place.tacho(evaluate(agent(0), '--live', 'nonsense'));
    expect([bad.code, existsSync(join(place.work, 'starts'))]).toEqual([2, false]);
    write('t.jsonl', '');
    const none = await place.tacho(['eval', 'a.yaml', '--transcript', 't.jsonl', '--retries', '1']);
    expect([none.code, none.stderr]).toEqual([
      2,
      'error: --transcript and --run grade what is recorded: leave out the flags for new runs\n',
    ]);
  });

  verifies('LP-14', 'lets clients send input to its agents', async () => {
    const { url } = await startServe(place.state);
    write('tacho.yaml', JSON.stringify({ targets: { toy: { agent: 'claude', command: talks } } }));
    const input = `hold ${join(place.folder, 'never')}`;
    const assert = [{ type: 'contains', value: '5 characters' }];
    write('a.yaml', JSON.stringify({ tests: [{ id: 'a', input, assert }] }));
    const args = ['eval', 'a.yaml', '--target', 'toy', '--live', url, '--accept-input'];
    const started = place.start([...args, '--output', 'json']);
    await inject(url, 'user_input', { content: 'hello' });
    await inject(url, 'interrupt', { reason: null });
    const { code, stdout } = await started.done;
    expect([code, JSON.parse(stdout).tests[0].verdict]).toEqual([0, 'pass']);
  });
});
