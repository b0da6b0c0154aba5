/** tacho is killed at any moment; `tacho runs recover` makes the record that an undisturbed run would have (ST-3). */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import {
  demo,
  filesBelow,
  finished,
  isRunning,
  kill,
  linesOf,
  type Place,
  type Row,
  spools,
  until,
  usePlace,
} from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';

const place: Place = usePlace();
const { tacho } = place;

/** A script of some 60 records in about 200 ms, whose work does not depend on the folder. */
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

/** What must be equal: everything but ids, times, and what only the recovery or the exit tells. */
async function essence(run: string): Promise<Row[]> {
  const events = await eventsOf(run);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  return events
    .filter((event) => event.kind !== 'process_exited' && event.data.code !== 'recovered')
    .map(({ kind, step, raw, data }) => {
      if (kind === 'run_started') return { kind, prompt: data.prompt, fingerprint: data.fingerprint };
      if (kind === 'run_finished') {
        const { final_output, exit_reason, usage, cost_usd, tool_calls, completeness } = data;
        return { kind, final_output, exit_reason, usage, cost_usd, tool_calls, completeness };
      }
      const { duration_ms: _, ...rest } = data;
      return { kind, step, raw, data: rest };
    });
}

async function eventsOf(run: string): Promise<Row[]> {
  const journal = join(place.state, 'journal');
  const entries = readdirSync(journal)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => wholeLines(readFileSync(join(journal, name), 'utf8')));
  return entries
    .map((line) => /^[^{]*(\{.*)$/s.exec(line)?.[1])
    .map((text) => bodyOf(text ?? ''))
    .filter((event) => event?.run_id === run);
}

const wholeLines = (text: string) => text.slice(0, text.lastIndexOf('\n') + 1).split('\n').slice(0, -1);

function bodyOf(text: string): Row {
  try {
    const entry = JSON.parse(text);
    return entry.body === undefined ? entry : entry.body;
  } catch {
    return null;
  }
}

/** The essence through the CLI: what `--events` of an undisturbed run says. */
async function undisturbed(path: string): Promise<{ essence: Row[]; stdout: string }> {
  const result = await tacho(demo(path, '--stream'));
  expect(result.code).toBe(0);
  return { essence: await essence(result.records[0].run_id), stdout: result.stdout };
}

function onlyRun(list: string, except: Set<string>): string {
  const fresh = linesOf(list)
    .map((row) => row.run_id as string)
    .filter((id) => !except.has(id));
  expect(fresh).toHaveLength(1);
  return fresh[0] as string;
}

/** A deterministic spread of moments. */
function moments(count: number, from_ms: number, to_ms: number): number[] {
  let state = 12345;
  return Array.from({ length: count }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return from_ms + (state / 2147483648) * (to_ms - from_ms);
  });
}

async function killAt(args: string[], ms: number): Promise<void> {
  const run = place.start(args, { contract: 'cut' });
  // The clock starts with the spool: before it nothing was begun that could be lost.
  const had = spools(place).length;
  await until(() => spools(place).length > had || run.child.exitCode !== null, 'a spool');
  await sleep(ms);
  kill(run.pid);
  await run.done;
}

async function cycles(text: string, count: number, to_ms: number): Promise<void> {
  const path = script('script.yaml', text);
  const whole = (await undisturbed(path)).essence;
  const before = new Set(linesOf((await tacho(['runs', 'list', '--json'])).stdout).map((r) => r.run_id));
  for (const ms of moments(count, 0, to_ms)) await killAt(demo(path, '--stream'), ms);
  const recovered = await tacho(['runs', 'recover']);
  expect(recovered.code).toBe(0);
  const rows = linesOf((await tacho(['runs', 'list', '--limit', '500', '--json'])).stdout);
  const fresh = rows.filter((row) => !before.has(row.run_id));
  expect(fresh.length).toBe(count);
  for (const { run_id } of fresh) {
    expect(await essence(run_id)).toEqual(whole);
    expect((await tacho(['runs', 'verify', run_id])).stdout).toContain('events hold');
  }
  expect(spools(place)).toEqual([]);
}
