/** Faults in `tacho run` and in the recovery of a killed run. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHAOS, played } from '../chaos-agent.ts';
import { checkRunEvents } from '../contract/check-run-event.ts';
import type { Injection } from './inject.ts';
import type { Lane, Ran } from './lane.ts';
import { isKill, type Prepared, type Scenario } from './scenario.ts';
import {
  bodiesOf,
  commandFaults,
  jsonLines,
  type Known,
  knownRuns,
  listed,
  recordFaults,
  recoveryFaults,
  successFaults,
  tidyFaults,
  wholeFaults,
} from './store-checks.ts';

const TESTDATA = join(import.meta.dirname, '../../src/agents/claude/testdata');
/** Exit codes of the contract (docs: run-event). */
const EXIT_CODES: Readonly<Record<string, readonly number[]>> = {
  ok: [0],
  agent_error: [1],
  incomplete: [1],
  provider_error: [3],
  pre_run_error: [70, 127],
  capture_error: [70],
};

interface Agent {
  name: string;
  args: readonly string[];
  env(lane: Lane): Record<string, string>;
  prepare(lane: Lane): void;
  /** The result of an undisturbed run. */
  final: string;
  calls: number;
}

/** Pauses cause several journal writes; the file `done` shows that the agent did all of its work. */
const STEPS = `session_id: same
timestamps: false
steps:
  - think: first
    say: one moment
    stream: ["one ", "moment"]
    calls:
      - { tool: run, input: { cmd: "echo out" } }
  - sleep_ms: 30
  - stderr: noise
  - say: still there
    calls:
      - { tool: write_file, input: { path: made.txt, text: "made\\n" } }
  - sleep_ms: 30
  - say: nearly
    calls:
      - { tool: run, input: { cmd: "touch done" } }
    usage: { input: 3, output: 1, cost: 0.001 }
  - say: the end
`;

const DEMO: Agent = {
  name: 'run-demo',
  args: [...CHAOS, '--stream', 'please', '--', ...played('steps.yaml')],
  env: () => ({}),
  prepare: ({ work }) => writeFileSync(join(work, 'steps.yaml'), STEPS),
  final: 'the end',
  calls: 3,
};

const SESSION: Agent = {
  name: 'run-session-file',
  args: [...CHAOS, 'please', '--', ...played('steps.yaml')],
  env: ({ home }) => ({ TACHO_DEMO_SESSIONS: join(home, 'sessions') }),
  prepare({ work, home }) {
    mkdirSync(join(home, 'sessions'));
    const hidden = 'hide: [usage, decision, permission, exit_code, skill]\n';
    writeFileSync(join(work, 'steps.yaml'), hidden + STEPS);
  },
  final: 'the end',
  calls: 3,
};

const RECORDING = join(TESTDATA, 'bash-ok', 'stdout.jsonl');

/** A program other than Node, found by its name. */
const SHELL: Agent = {
  name: 'run-shell',
  args: ['--agent', 'claude', 'please'],
  env: () => ({}),
  prepare({ programs }) {
    const path = join(programs, 'claude');
    const lines = [
      '#!/bin/sh',
      'case "$*" in *--version*) echo "2.1.325 (Claude Code)"; exit 0;; esac',
      'cat > /dev/null',
      `head -n 3 '${RECORDING}'`,
      'sleep 0.05; echo careful >&2',
      `tail -n +4 '${RECORDING}'`,
      'echo x > /dev/stderr; touch done',
    ];
    writeFileSync(path, `${lines.join('\n')}\n`);
    chmodSync(path, 0o755);
  },
  final: 'Done.',
  calls: 1,
};

const runArgs = ({ args }: Agent) => ['run', '--output', 'json', ...args];

async function prepared(lane: Lane, agent: Agent): Promise<Prepared> {
  agent.prepare(lane);
  const first = await lane.tacho(['run', ...CHAOS, 'please', '--', ...played('fixed')]);
  if (first.code !== 0) throw new Error(`cannot prepare ${agent.name}: ${first.stderr}`);
  return { known: await knownRuns(lane), facts: {} };
}

function runScenario(agent: Agent): Scenario {
  return {
    name: agent.name,
    prepare: (lane) => prepared(lane, agent),
    act: (lane, injection) => lane.tacho(runArgs(agent), { injection, env: agent.env(lane) }),
    async *check(lane, { known }, ran, injection) {
      yield* commandFaults(ran);
      const killed = isKill(injection) && ran.signal === 'SIGKILL';
      if (!killed) yield* endFaults(ran);
      yield* recoveryFaults(lane);
      yield* wholeFaults(lane, known);
      yield* freshFaults(lane, { known, agent, ran, killed });
      yield* tidyFaults(lane);
    },
  };
}

/** For a `run` that was not killed: one end, and the matching exit code. */
function* endFaults(ran: Ran): Generator<string> {
  if (ran.late) return;
  for (const breach of checkRunEvents(Buffer.from(ran.stdout), { stream: true }))
    yield `stdout: ${breach}: ${ran.stderr.slice(0, 500)}`;
  const reason = String(lastOf(ran)?.data?.exit_reason);
  // The end was shown and recorded before something outside the record failed: stderr names it.
  if (ran.code === 70 && /is recorded/.test(ran.stderr)) return;
  if (!EXIT_CODES[reason]?.includes(ran.code ?? -1)) yield `exit ${ran.code} with ${reason}`;
}

function lastOf(ran: Ran) {
  try {
    return jsonLines(ran.stdout).at(-1);
  } catch {
    return undefined;
  }
}

/** The part of the output that is in the journal: a run that could not be recorded has no end there. */
function shownOf(ran: Ran): string {
  const lines = ran.stdout.split(/(?<=\n)/);
  const reason = lastOf(ran)?.data?.exit_reason;
  if (reason !== 'capture_error' && reason !== 'pre_run_error') return ran.stdout;
  lines.pop();
  while (lines.at(-1)?.includes('"status":"cancelled"')) lines.pop();
  return lines.join('');
}

interface Fresh extends Pick<Prepared, 'known'> {
  agent: Agent;
  ran: Ran;
  killed: boolean;
}

async function* freshFaults(lane: Lane, { known, agent, ran, killed }: Fresh) {
  const fresh = [...(await listed(lane)).keys()].filter((run_id) => !known.has(run_id));
  const shown = shownOf(ran);
  const shown_id = shown === '' ? '' : /"run_id":"(.*?)"/.exec(shown)?.[1];
  if (fresh.length > 1) yield `one run has become ${fresh.length}`;
  if (shown_id && !fresh.includes(shown_id)) yield `${shown_id} was shown but not recorded`;
  const worked = existsSync(join(lane.work, 'done'));
  const [run_id] = fresh;
  if (run_id === undefined) {
    if (worked) yield 'the agent did its work, but there is no record of it';
    return;
  }
  yield* recordFaults(lane, run_id, shown);
  const events = (await bodiesOf(lane.state, run_id)).map((body) => JSON.parse(body));
  const { data } = events.at(-1);
  // Unreadable output ends the capture and is kept.
  const kept = existsSync(join(lane.state, 'spool', run_id, 'stdout'));
  if (!kept && /\/spool\/.*: i\/o error, read$/.test(data.error ?? ''))
    yield 'unreadable output was removed';
  if (!worked || (data.exit_reason === 'capture_error' && kept)) return;
  const calls = events.filter(({ kind }) => kind === 'call_finished').length;
  if (calls !== agent.calls) yield `${calls} of ${agent.calls} calls are recorded`;
  const final = data.final_output;
  if (killed && final !== agent.final) yield `the final text is ${JSON.stringify(final)}`;
}

/** A run killed after some of its events were journalled; its agent has exited since. */
const RECOVER: Scenario = {
  name: 'recover',
  async prepare(lane) {
    const made = await prepared(lane, DEMO);
    lane.save('scratch');
    const count = { mode: 'kill', errno: null, at: 0 } as const;
    await lane.tacho(runArgs(DEMO), { injection: count });
    // The first write is the segment header; the second is shown before the third.
    const writes = lane.operations().filter((line) => / write .*\/journal\//.test(line));
    const at = Number(writes[Math.min(2, writes.length - 1)]?.split(' ')[0]);
    lane.load('scratch');
    const killed = await lane.tacho(runArgs(DEMO), { injection: { ...count, at } });
    if (killed.signal !== 'SIGKILL') throw new Error('cannot prepare recover: not killed');
    await lane.settle();
    return { ...made, facts: { shown: killed.stdout } };
  },
  act: (lane, injection) => lane.tacho(['runs', 'recover', '--json'], { injection }),
  async *check(lane, { known, facts }, ran, injection) {
    yield* commandFaults(ran);
    const complete = ran.code === 0 && jsonLines(ran.stdout)[0]?.state === 'recovered';
    if (complete && (await listed(lane)).size === known.size)
      yield 'recover reports the run as recovered, but the run is not listed';
    yield* recoveryFaults(lane);
    yield* wholeFaults(lane, known);
    const first = { ...ran, stdout: facts.shown ?? '' };
    yield* freshFaults(lane, { known, agent: DEMO, ran: first, killed: true });
    if ((await listed(lane)).size !== known.size + 1) yield 'the killed run is not listed';
    yield* tidyFaults(lane);
    if (!isKill(injection)) return;
    // The next run has nothing left to finish and is not blocked.
    yield* successFaults(await lane.tacho(['run', ...CHAOS, 'x', '--', ...played('fixed')]));
  },
};

/** For the live scenario: the same run, sent to a collector. */
export const LIVE_RUN = {
  prepare: DEMO.prepare,
  args: (url: string) => [...runArgs(DEMO).slice(0, 3), '--live', url, ...DEMO.args],
  async *check(
    lane: Lane,
    { known, ran, injection }: { known: Known; ran: Ran; injection: Injection },
  ): AsyncGenerator<string> {
    const killed = isKill(injection) && ran.signal === 'SIGKILL';
    if (!killed) yield* endFaults(ran);
    yield* recoveryFaults(lane);
    yield* freshFaults(lane, { known, agent: DEMO, ran, killed });
  },
};

export const RUN_SCENARIOS: readonly Scenario[] = [
  runScenario(DEMO),
  runScenario(SESSION),
  runScenario(SHELL),
  RECOVER,
];
