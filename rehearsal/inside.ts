/**
 * Plays one scenario inside the sandbox: starts the scripted model, runs tacho, interferes if the scenario says so,
 * queries tacho's record afterwards, and reports. Reads /mnt/room/job.json, writes /mnt/room/report.json.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { INSIDE } from './agents/agent.ts';
import type { Scenario } from './scenarios.ts';
import type { Script } from './server/scenario.ts';
import type { Talk } from './talk.ts';

export interface Job {
  dialect: string;
  script: Script;
  tacho_args: readonly string[];
  /** Tacho's stdin; null: empty. */
  stdin: string | null;
  env: Readonly<Record<string, string>>;
  /** Played by `talk.ts` instead of tacho's command line; null: by the command line. */
  talk: Talk | null;
  act: Scenario['act'] | null;
  /** Whether tacho's stdout shows the call to interfere with while it runs. */
  call_shown: boolean;
  limit_ms: number;
}

export interface Report {
  exit_code: number | null;
  signal: string | null;
  duration_ms: number;
  over_limit: boolean;
  /** Whether the moment to interfere came; null: the scenario does not interfere. */
  acted: boolean | null;
  /** Command lines of processes that outlived tacho. */
  leftovers: string[];
  /** Exit codes of the queries afterwards. */
  after: Record<string, number | null>;
}

interface Ended {
  code: number | null;
  signal: string | null;
}

const POLL_MS = 25;
/** A killed process takes a moment to disappear. */
const VANISH_MS = 1_000;
const QUESTION_LIMIT_MS = 30_000;
const STDOUT = `${INSIDE.out}/stdout`;

async function until(test: () => boolean, limit_ms: number): Promise<boolean> {
  const end_ms = Date.now() + limit_ms;
  while (!test()) {
    if (Date.now() > end_ms) return false;
    await sleep(POLL_MS);
  }
  return true;
}

const TACHO = `${INSIDE.project}/bin/tacho.cjs`;
const TALK = `${INSIDE.project}/rehearsal/talk.ts`;

function start(job: Job, name: string, args: readonly string[], stdin: 'ignore' | number) {
  const child = spawn(process.execPath, args, {
    cwd: INSIDE.work,
    env: job.env,
    stdio: [
      stdin,
      openSync(`${INSIDE.out}/${name}`, 'w'),
      openSync(`${INSIDE.out}/${name}.err`, 'w'),
    ],
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('error', () => resolve({ code: null, signal: null }));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
  return { child, ended };
}

async function ask(job: Job, name: string, args: readonly string[]): Promise<number | null> {
  const { child, ended } = start(job, name, [TACHO, ...args], 'ignore');
  const timer = setTimeout(() => child.kill('SIGKILL'), QUESTION_LIMIT_MS);
  const { code } = await ended;
  clearTimeout(timer);
  return code;
}

interface Process {
  pid: number;
  parent: number;
  line: string;
}

function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // State and parent follow the name, which is in brackets and may itself contain brackets.
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const [, state, parent] = /.*\) (\w) (\d+)/s.exec(stat) ?? [];
        const line = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return state === 'Z' ? [] : [{ pid: Number(name), parent: Number(parent), line }];
      } catch {
        return [];
      }
    });
}

/** The only process that tacho has started and waits for; for a CLI with a launcher, the launcher. */
function agentOf(tacho: ChildProcess): number | null {
  return processes().find(({ parent }) => parent === tacho.pid)?.pid ?? null;
}

/** The agent's process; null: the moment to interfere never came. */
async function interfere(job: Job, tacho: ChildProcess): Promise<number | null> {
  const begun = () =>
    existsSync(`${INSIDE.work}/started`) &&
    (!job.call_shown || readFileSync(STDOUT, 'utf8').includes('"type":"tool_call_detected"'));
  const agent = (await until(begun, job.limit_ms)) ? agentOf(tacho) : null;
  if (agent === null) return null;
  if (job.act === 'kill_agent') process.kill(agent, 'SIGKILL');
  else tacho.kill(job.act === 'interrupt' ? 'SIGINT' : 'SIGKILL');
  return agent;
}

/** Processes that outlived tacho, except this process, the model and pid 1. */
async function leftovers(known: readonly (number | undefined)[]): Promise<string[]> {
  const strangers = () => processes().filter(({ pid }) => pid !== 1 && !known.includes(pid));
  await until(() => strangers().length === 0, VANISH_MS);
  return strangers().map(({ line }) => line.slice(0, 200));
}

function runIdIn(path: string): string | null {
  return /"run_id":"([^"]+)"/.exec(readFileSync(path, 'utf8'))?.[1] ?? null;
}

async function askAfterwards(job: Job): Promise<Record<string, number | null>> {
  const after: Record<string, number | null> = {};
  if (job.act === 'kill_tacho') after.recover = await ask(job, 'recover', ['runs', 'recover']);
  const run = runIdIn(STDOUT);
  if (run === null) return after;
  after.replay = await ask(job, 'replay', ['replay', run, '--output', 'json']);
  after.verify = await ask(job, 'verify', ['runs', 'verify', run]);
  return after;
}

async function play(job: Job, model: ChildProcess): Promise<Report> {
  const begun_ms = Date.now();
  const prompt = job.stdin === null ? 'ignore' : openSync(`${INSIDE.room}/prompt.txt`, 'r');
  const args = job.talk === null ? [TACHO, ...job.tacho_args] : [TALK];
  const { child, ended } = start(job, 'stdout', args, prompt);
  let over_limit = false;
  const timer = setTimeout(() => {
    over_limit = true;
    child.kill('SIGKILL');
  }, job.limit_ms);
  const interfered = job.act
    ? await Promise.race([interfere(job, child), ended.then(() => null)])
    : null;
  const { code, signal } = await ended;
  clearTimeout(timer);
  if (job.act === 'kill_tacho') {
    await until(() => processes().every(({ pid }) => pid !== interfered), job.limit_ms);
  }
  const acted = job.act ? interfered !== null : null;
  const duration_ms = Date.now() - begun_ms;
  const left = await leftovers([process.pid, model.pid]);
  const after = await askAfterwards(job);
  return { exit_code: code, signal, duration_ms, over_limit, acted, leftovers: left, after };
}

async function main(): Promise<void> {
  const { room, out, project } = INSIDE;
  const job = JSON.parse(readFileSync(`${room}/job.json`, 'utf8')) as Job;
  writeFileSync(`${room}/script.json`, JSON.stringify(job.script));
  if (job.stdin !== null) writeFileSync(`${room}/prompt.txt`, job.stdin);
  const ready = `${room}/model-ready`;
  const places = [`${room}/script.json`, `${out}/requests.jsonl`, ready];
  const server = `${project}/rehearsal/server/main.ts`;
  const model = spawn(
    process.execPath,
    [server, job.dialect, String(INSIDE.model_port), ...places],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  try {
    if (!(await until(() => existsSync(ready), QUESTION_LIMIT_MS))) {
      throw new Error('the scripted model did not start');
    }
    const report = await play(job, model);
    writeFileSync(`${room}/report.json`, JSON.stringify(report));
  } finally {
    model.kill('SIGKILL');
  }
}

if (import.meta.main) await main();
