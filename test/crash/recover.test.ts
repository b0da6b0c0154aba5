/** tacho is killed at random moments; `tacho runs recover` makes the record of an undisturbed run (ST-3). */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { journalledEvents } from '../../src/app/runs/replay.ts';
import { verifyRun } from '../../src/app/runs/verify.ts';
import { SPOOL_MARK } from '../../src/store/spool/spool.ts';
import { stateDirAt } from '../../src/store/state-dir.ts';
import {
  demo,
  finished,
  isRunning,
  kill,
  linesOf,
  type Result,
  type Row,
  spools,
  until,
  usePlace,
} from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';

const place = usePlace();
const { tacho } = place;

/** A script with some 60 records in about 200 ms; its work does not depend on the folder. */
const SHORT = `session_id: same
timestamps: false
steps:
${[1, 2, 3, 4, 5]
  .map(
    (n) => `  - think: step ${n}
    say: text of step ${n} with several words
    stream: ["text of ", "step ${n} with", " several words"]
    calls:
      - { tool: run, input: { cmd: "echo out ${n}" } }
      - sleep_ms: 15
    usage: { input: ${n}, output: 1, cost: 0.001 }`,
  )
  .join('\n')}
  - say: the end
`;

/** The same with thousands of records at once. */
const FLOOD = `session_id: same
timestamps: false
steps:
  - say: before
  - flood: { records: 3000, bytes: 60 }
  - say: after
    calls:
      - { tool: run, input: { cmd: echo flooded } }
`;

function script(name: string, text: string): string {
  const path = join(place.folder, name);
  writeFileSync(path, text);
  return path;
}

/** The parts that must be equal: everything except ids, times, and facts known only from the recovery or the exit. */
async function essence(run: string): Promise<Row[]> {
  const events: Row[] = [];
  for await (const event of journalledEvents(stateDirAt(place.state), run)) events.push(event);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  return events
    .filter((event) => event.kind !== 'process_exited' && event.data.code !== 'recovered')
    .map(({ kind, step, raw, data }) => {
      if (kind === 'run_started') return { kind, raw, fingerprint: data.fingerprint };
      if (kind === 'run_finished') {
        const { final_output, exit_reason, usage, cost_usd, tool_calls, completeness } = data;
        const gaps = completeness.gaps.filter((gap: string) => !gap.startsWith('recovered:'));
        return { kind, final_output, exit_reason, usage, cost_usd, tool_calls, gaps };
      }
      const { duration_ms: _, ...rest } = data;
      return { kind, step, raw, data: rest };
    });
}

async function expectIntact(run: string): Promise<void> {
  const { ok, faults } = await verifyRun(stateDirAt(place.state), run);
  expect({ ok, faults }).toEqual({ ok: true, faults: [] });
}

async function runIds(): Promise<string[]> {
  const { stdout } = await tacho(['runs', 'list', '--limit', '500', '--json']);
  return linesOf(stdout).map((row) => row.run_id);
}

/** The record of an undisturbed run. */
async function undisturbed(path: string): Promise<Row[]> {
  const result = await tacho(demo(path, '--stream'));
  expect(result.code).toBe(0);
  return essence(result.records[0].run_id);
}

/** A deterministic spread of moments. */
function moments(count: number, to_ms: number): number[] {
  let state = 12345;
  return Array.from({ length: count }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return (state / 2147483648) * to_ms;
  });
}

const spoolOf = (run: string, file: string) => join(place.state, 'spool', run, file);

/** Starts a run and waits until its agent has written something. */
async function begun(args: string[]): Promise<{ pid: number; run: string; done: Promise<Result> }> {
  let run: string | null = null;
  const { pid, child, done } = place.start(args, { contract: 'none' });
  await until(() => {
    run = spools(place).find((name) => ownerOf(name) === pid) ?? null;
    return (
      child.exitCode !== null ||
      (run !== null && sizeOf(spoolOf(run, 'stdout')) > SPOOL_MARK.length)
    );
  }, 'the first output of the agent');
  return { pid, run: run ?? '', done };
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function metaOf(run: string): Row {
  try {
    return JSON.parse(readFileSync(spoolOf(run, 'meta.json'), 'utf8'));
  } catch {
    return null;
  }
}

const ownerOf = (run: string): number | undefined => metaOf(run)?.owner.pid;

async function killedRun(args: string[], ms: number): Promise<string> {
  const { pid, run, done } = await begun(args);
  await sleep(ms);
  kill(pid);
  await done;
  return run;
}

async function cycles(text: string, count: number, to_ms: number): Promise<void> {
  const path = script('script.yaml', text);
  const whole = await undisturbed(path);
  const before = await runIds();
  const left = moments(count, to_ms);
  const worker = async () => {
    for (let ms = left.pop(); ms !== undefined; ms = left.pop()) {
      await killedRun(demo(path, '--stream'), ms);
    }
  };
  await Promise.all([worker(), worker()]);
  const recovered = await tacho(['runs', 'recover']);
  expect([recovered.code, recovered.stderr]).toEqual([0, '']);
  const fresh = (await runIds()).filter((run) => !before.includes(run));
  expect(fresh).toHaveLength(count);
  for (const run of fresh) {
    expect(await essence(run)).toEqual(whole);
    await expectIntact(run);
  }
  expect(spools(place)).toEqual([]);
}

verifies(
  ['ST-3', 'AG-14'],
  'a run killed at 60 moments: each record is complete',
  () => cycles(SHORT, 60, 350),
  300_000,
);

verifies(
  ['ST-3', 'AG-14'],
  'a flood of output killed at 40 moments: each record is complete',
  () => cycles(FLOOD, 40, 250),
  300_000,
);

verifies(
  'ST-3',
  'a run killed at each failpoint of the journal, early and late: the record is complete',
  async () => {
    const path = script('script.yaml', SHORT);
    const whole = await undisturbed(path);
    for (const point of ['before_write', 'mid_write', 'after_write', 'after_sync']) {
      for (const nth of [1, 3, 6]) {
        const env = { TACHO_FAIL_AT: `${point}:${nth}` };
        const known = await runIds();
        const { signal } = await tacho(demo(path, '--stream'), { env, contract: 'cut' });
        // A busy machine may journal a run in fewer writes; then the run just finishes.
        expect(nth === 1 ? ['SIGKILL'] : ['SIGKILL', null]).toContain(signal);
        expect((await tacho(['runs', 'recover'])).code).toBe(0);
        const [run = ''] = (await runIds()).filter((id) => !known.includes(id));
        expect(await essence(run)).toEqual(whole);
        await expectIntact(run);
      }
    }
  },
);

verifies('ST-3', 'a killed recovery is recovered again, however often that happens', async () => {
  const path = script('script.yaml', FLOOD);
  const whole = await undisturbed(path);
  const run = await killedRun(demo(path, '--stream'), 0);
  for (const point of ['before_write:1', 'mid_write:1', 'after_write:2', 'after_sync:1']) {
    const { signal } = await tacho(['runs', 'recover'], { env: { TACHO_FAIL_AT: point } });
    if (signal === null) break;
    expect(signal).toBe('SIGKILL');
  }
  expect((await tacho(['runs', 'recover'])).code).toBe(0);
  expect(await essence(run)).toEqual(whole);
  await expectIntact(run);
  expect((await tacho(['runs', 'recover'])).stdout).toBe('Nothing to recover.\n');
});

verifies(
  ['ST-3', 'RE-12'],
  'a recovery waits for an agent that still runs; with --no-wait it skips the run',
  async () => {
    const wait = 'while [ ! -e go ]; do sleep 0.02; done';
    const call = `{ tool: run, input: { cmd: "${wait}" } }`;
    const path = script('slow.yaml', `${SHORT}    calls: [${call}]\n  - say: very late\n`);
    const run = await killedRun(demo(path), 20);
    const agent = metaOf(run).agent.pid as number;
    const impatient = await tacho(['runs', 'recover', '--no-wait']);
    expect([impatient.code, impatient.stdout]).toEqual([
      0,
      `${run}: its agent is still running (process ${agent}); omit --no-wait to wait for it\n`,
    ]);
    expect(isRunning(agent)).toBe(true);
    // An agent that still runs does not count as a failed attempt, however often a new run finds it.
    expect((await tacho(demo('fixed'))).code).toBe(0);
    expect(existsSync(spoolOf(run, 'attempts'))).toBe(false);
    const patient = place.start(['runs', 'recover', '--json']);
    await until(() => existsSync(spoolOf(run, 'recovering')), 'a recovery that waits');
    writeFileSync(join(place.work, 'go'), '');
    const { stdout } = await patient.done;
    expect(isRunning(agent)).toBe(false);
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'recovered',
      run_id: run,
      // Its exit code and the work tree's changes are unknown.
      result: {
        exit_reason: 'ok',
        outcome: {
          message: 'very late',
          completeness: { grade: 'partial', gaps: ['recovered:1'] },
        },
      },
    });
    await expectIntact(run);
  },
);

verifies(
  'ST-3',
  'of two concurrent recoveries only one recovers the run, and nothing is stored twice',
  async () => {
    const path = script('slow.yaml', `${SHORT}  - sleep_ms: 800\n  - say: late\n`);
    const whole = await undisturbed(path);
    const run = await killedRun(demo(path, '--stream'), 20);
    const both = await Promise.all([tacho(['runs', 'recover']), tacho(['runs', 'recover'])]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const texts = both.map(({ stdout }) => stdout);
    expect(texts.filter((text) => text.includes('recovered, ok'))).toHaveLength(1);
    expect(await essence(run)).toEqual(whole);
    await expectIntact(run);
  },
);

verifies(
  'ST-3',
  'the next run finishes the record of a killed one, and says so on stderr only',
  async () => {
    const path = script('script.yaml', SHORT);
    const whole = await undisturbed(path);
    const run = await killedRun(demo(path, '--stream'), 50);
    const agent = metaOf(run)?.agent?.pid as number;
    await until(() => !isRunning(agent), 'the end of the agent');
    const next = await tacho(demo('fixed'));
    expect([next.code, finished(next).exit_reason]).toEqual([0, 'ok']);
    expect(next.stderr).toBe(`note: finished the record of ${run}: its recorder was killed\n`);
    expect(await essence(run)).toEqual(whole);
    expect(spools(place)).toEqual([]);
  },
);

verifies(
  ['ST-3', 'RE-12'],
  'a run with agent and tacho both killed in the middle of a line is recovered',
  async () => {
    const half = script(
      'half.yaml',
      'steps:\n  - say: before\n  - half_line: never seen whole\n  - hang: true\n',
    );
    const { pid, run, done } = await begun(demo(half));
    await until(() => !readFileSync(spoolOf(run, 'stdout'), 'utf8').endsWith('\n'), 'half a line');
    kill(pid);
    await done;
    kill(metaOf(run).agent.pid);
    expect((await tacho(['runs', 'recover'])).code).toBe(0);
    const outcome = JSON.parse((await tacho(['runs', 'show', run, '--json'])).stdout);
    expect(outcome).toMatchObject({ success: false, exit_reason: 'incomplete', message: 'before' });
    expect(outcome.completeness.gaps).toContain('torn_line:1');
    await expectIntact(run);
  },
);

verifies(
  'RE-12',
  'an agent killed in the middle of a line while tacho reads is recorded',
  async () => {
    const half = script(
      'half.yaml',
      'steps:\n  - say: before\n  - half_line: never seen whole\n  - hang: true\n',
    );
    const { run, done } = await begun(demo(half));
    await until(() => !readFileSync(spoolOf(run, 'stdout'), 'utf8').endsWith('\n'), 'half a line');
    kill(metaOf(run).agent.pid);
    const result = await done;
    expect(result.code).toBe(1);
    expect(finished(result)).toMatchObject({ exit_reason: 'incomplete', agent_signal: 'SIGKILL' });
    expect(finished(result).completeness.gaps).toContain('torn_line:1');
  },
);

verifies(
  'ST-3',
  'a run killed before its agent is known to have started neither hangs nor loses anything',
  async () => {
    const path = script('script.yaml', SHORT);
    const whole = await undisturbed(path);
    const had = await runIds();
    for (let i = 0; i < 6; i++) {
      const run = place.start(demo(path, '--stream'), { contract: 'none' });
      await until(() => spools(place).length > i || run.child.exitCode !== null, 'a spool');
      kill(run.pid);
      await run.done;
    }
    let recovered = await tacho(['runs', 'recover']);
    // A recovery that one of the runs started may still be running.
    for (let i = 0; i < 100 && recovered.stdout.includes('its recovery is in use'); i++) {
      await sleep(100);
      recovered = await tacho(['runs', 'recover']);
    }
    expect(recovered.stderr).toBe('');
    for (const run of (await runIds()).filter((id) => !had.includes(id))) {
      const record = await essence(run);
      if (record.length > 3) expect(record).toEqual(whole);
      else expect(record.at(-1)).toMatchObject({ kind: 'run_finished', exit_reason: 'incomplete' });
      await expectIntact(run);
    }
    await until(() => place.left().length === 0, 'the end of all processes');
    // A run killed before it wrote a note is skipped for a minute: it could still be starting.
    const rest = spools(place).map((run) => [metaOf(run), readdirSync(spoolOf(run, '')).sort()]);
    for (const [meta, files] of rest)
      expect([meta, files]).toEqual([null, expect.not.arrayContaining(['meta.json'])]);
  },
);

verifies('ST-3', 'a run that writes to both channels is recovered with all of both', async () => {
  const lines = [1, 2, 3, 4, 5, 6].flatMap((n) => [
    { say: `said ${n}` },
    { stderr: `noise ${n}` },
    { garbage: `garbage ${n}` },
    { sleep_ms: 8 },
  ]);
  const path = script(
    'both.yaml',
    JSON.stringify({ session_id: 'same', timestamps: false, steps: lines }),
  );
  const sorted = async (run: string) =>
    (await essence(run)).map((event) => JSON.stringify({ ...event, step: 0 })).sort();
  const first = await tacho(demo(path));
  const whole = await sorted(first.records[0].run_id);
  for (const ms of moments(10, 150)) {
    const run = await killedRun(demo(path), ms);
    expect((await tacho(['runs', 'recover'])).code).toBe(0);
    if (run === '') continue;
    expect(await sorted(run)).toEqual(whole);
    await expectIntact(run);
  }
});

verifies('ST-3', 'a spool kept on request contains no note of the recovery', async () => {
  const path = script('script.yaml', SHORT);
  const run = await killedRun(demo(path, '--keep-raw'), 30);
  await until(() => !isRunning(metaOf(run)?.agent?.pid), 'the end of the agent');
  const next = await tacho(demo('fixed'));
  expect([next.code, next.stderr]).toEqual([0, expect.stringContaining(run)]);
  const kept = readdirSync(join(place.state, 'spool', run)).sort();
  expect(kept).toEqual(['meta.json', 'recorded', 'stderr', 'stdin', 'stdout']);
});

verifies(
  'ST-3',
  'of several recoveries of a spool kept on request only one recovers it',
  async () => {
    const path = script('script.yaml', SHORT);
    const whole = await undisturbed(path);
    const run = await killedRun(demo(path, '--stream', '--keep-raw'), 30);
    await until(() => !isRunning(metaOf(run)?.agent?.pid), 'the end of the agent');
    const all = await Promise.all([1, 2, 3, 4].map(() => tacho(['runs', 'recover'])));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(await essence(run)).toEqual(whole);
    await expectIntact(run);
    expect(spools(place)).toEqual([run]);
  },
);
