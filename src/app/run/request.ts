/** What a caller asks of a run, completed with defaults and checked, before anything is started. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { NO_LIMITS } from '../../capture/budget.ts';
import { findProgram, lookUpProgram } from '../../capture/source/spawn.ts';
import { type Clock, fixedClock, systemClock } from '../../lib/clock.ts';
import { TachoError } from '../../lib/errors.ts';
import { type RandomSource, seededRandom, systemRandom } from '../../lib/ids.ts';
import { LIMITS } from '../../lib/limits.ts';
import { utf8Bytes } from '../../lib/utf8.ts';
import type { Agent, LaunchPlan } from '../../model/agent.ts';
import type { RunConfig, RunLimits } from '../../model/parts.ts';
import type { ApproveMode, OutputMode } from '../../model/words.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { agentOf } from '../config/agent-of.ts';
import { likeFlag } from '../config/checks.ts';
import type { StreamLog } from '../config/log.ts';
import { programEntry } from '../config/paths.ts';
import { type LiveRunConfig, type LiveRunOptions, sendingTo } from '../live/destination.ts';

export interface RunOptions {
  /** Id of the agent, as `tacho agents` lists them; default: that of the target. */
  agent?: string | undefined;
  prompt: string;
  /** Work folder of the agent; default: the current folder. */
  cwd?: string | undefined;
  model?: string | undefined;
  /** What the agent may do without asking; default: what its CLI does by default. */
  approve?: ApproveMode | undefined;
  /** Passed to the agent unchanged. */
  args?: readonly string[] | undefined;
  /** Added to the agent's environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** The program to start instead of the agent's own, with leading arguments. */
  command?: readonly string[] | undefined;
  timeout_ms?: number | undefined;
  /** Over which the run is ended. */
  limits?: Partial<RunLimits> | undefined;
  /** Session of the agent to go on with. */
  resume?: string | undefined;
  /** Whether text deltas are wanted. */
  stream?: boolean | undefined;
  /** Default: $TACHO_HOME, else `.tacho` in the current folder. */
  state_dir?: string | undefined;
  /** Keep the agent's raw output after the run is recorded. */
  keep_raw?: boolean | undefined;
  /** A log beside the transcript: readable lines, or the agent's stdout; default: none. */
  stream_log?: StreamLog | undefined;
  /** Patterns of secrets to redact, beyond the known ones. */
  redact?: readonly string[] | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
  /** Where the run is sent as it happens; default: nowhere. */
  live?: LiveRunOptions | null | undefined;
  /** A named entry of tacho.yaml; default where no agent is named: the file's default target. */
  target?: string | undefined;
  /** How often the agent is run again when the model API failed or it stopped at once; default: 0. */
  retries?: number | undefined;
  /** Before the first retry; each next one waits twice as long. Default: 2000. */
  retry_wait_ms?: number | undefined;
  /** Whether `say`, `interrupt` and `confirm` may reach the agent, where it can take input while it runs (LP-14). */
  accept_input?: boolean | undefined;
  output_mode?: OutputMode | undefined;
  tui?: boolean | undefined;
  events_path?: string | undefined;
  final_output_path?: string | undefined;
  /** Time and chance as parameters; a fixed clock and seed make the output byte-identical (RE-19). */
  clock?: Clock | undefined;
  random?: RandomSource | undefined;
}

/** Options of a run whose agent is known. */
export type AgentRunOptions = RunOptions & { agent: string };

export interface RunRequest {
  agent: Agent;
  prompt: string;
  cwd: string;
  env: Record<string, string>;
  plan: LaunchPlan;
  config: RunConfig;
  state_dir: string;
  keep_raw: boolean;
  stream_log: StreamLog;
  redact: readonly string[];
  live: LiveRunConfig | null;
  retry: { times: number; wait_ms: number };
  clock: Clock;
  random: RandomSource;
}

/** Time and chance as the environment fixes them, for reproducible output. */
export function clockOf(env: NodeJS.ProcessEnv): Clock {
  if (!env.TACHO_FIXED_TIME) return systemClock;
  const at_ms = Date.parse(env.TACHO_FIXED_TIME);
  if (Number.isNaN(at_ms)) throw usage(`TACHO_FIXED_TIME is no date: ${env.TACHO_FIXED_TIME}`);
  return fixedClock(at_ms);
}

export function randomOf(env: NodeJS.ProcessEnv): RandomSource {
  return env.TACHO_ID_SEED ? seededRandom(env.TACHO_ID_SEED) : systemRandom;
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'request' });

/** Variables of tacho itself that are none of the agent's business. */
const OWN_VARIABLES = [
  'TACHO_FIXED_TIME',
  'TACHO_ID_SEED',
  'TACHO_FAIL_AT',
  'TACHO_LAUNCHER_FD',
  'TACHO_TRUST',
];

function agentEnvironment(options: Pick<RunOptions, 'env'>): Record<string, string> {
  const passed = Object.entries(process.env).filter(
    (entry): entry is [string, string] => !OWN_VARIABLES.includes(entry[0]),
  );
  return { ...Object.fromEntries(passed), ...options.env };
}

function checkCwd(cwd: string): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new TachoError('cwd_missing', `cannot work in ${cwd}: there is no such folder`, {
    stage: 'request',
  });
}

/** The program's absolute path. */
function checkProgram(
  agent: Agent,
  plan: LaunchPlan,
  env: Record<string, string>,
  cwd: string,
): string {
  const found = lookUpProgram(plan.command, env.PATH, cwd);
  if (found.state === 'found') return found.path;
  if (found.state === 'not_executable') {
    throw new TachoError('agent_not_executable', `${found.path} is not executable`, {
      stage: 'request',
    });
  }
  const say = `${agent.title} is not installed: "${plan.command}" is not on the PATH; ${agent.install}`;
  throw new TachoError('agent_missing', say, { stage: 'request' });
}

function configOf(options: AgentRunOptions): RunConfig {
  return {
    agent: options.agent,
    target: options.target ?? null,
    model: options.model ?? null,
    approve: options.approve ?? 'default',
    args: [...(options.args ?? [])],
    env_names: Object.keys(options.env ?? {}).sort(),
    resume: options.resume ?? null,
    timeout_ms: options.timeout_ms ?? null,
    limits: { ...NO_LIMITS, ...options.limits },
    ...(options.accept_input === true ? { accept_input: true as const } : {}),
    output_mode: options.output_mode ?? 'human',
    stream: options.stream ?? false,
    tui: options.tui ?? false,
    events_path: options.events_path ?? null,
    final_output_path: options.final_output_path ?? null,
    labels: { ...options.labels },
  };
}

export function takesInput(agent: Agent, { accept_input }: RunConfig): boolean {
  return accept_input === true && agent.input !== undefined;
}

function checkTimeout(timeout_ms: number | null): void {
  if (timeout_ms === null || (timeout_ms > 0 && timeout_ms <= LIMITS.timeout_ms_max)) return;
  const most = Math.floor(LIMITS.timeout_ms_max / 1000);
  throw usage(`a timeout must be over 0 and at most ${most} seconds`);
}

/** Before the first retry, unless said otherwise. */
const RETRY_WAIT_MS = 2_000;

function retryOf({ retries: times = 0, retry_wait_ms: wait_ms = RETRY_WAIT_MS }: RunOptions) {
  if (!Number.isSafeInteger(times) || times < 0)
    throw usage('retries must be a whole number from 0 on');
  if (!(wait_ms >= 0)) throw usage('the wait before a retry must be 0 milliseconds or more');
  return { times, wait_ms };
}

/** Contract: throws a TachoError for everything that can be known wrong before the run; starts nothing. */
export async function prepareRun(options: AgentRunOptions): Promise<RunRequest> {
  const agent = await agentOf(options.agent);
  if (typeof options.prompt !== 'string') throw usage('the prompt must be a text');
  if (utf8Bytes(options.prompt) > LIMITS.prompt_bytes_max)
    throw usage(`the prompt is over ${LIMITS.prompt_bytes_max} bytes`);
  checkTimeout(options.timeout_ms ?? null);
  const cwd = resolve(options.cwd ?? process.cwd());
  checkCwd(cwd);
  const config = configOf(options);
  const { model, approve, resume, stream, args } = config;
  for (const [name, value] of Object.entries({ model, resume })) {
    const wrong = likeFlag(value);
    if (wrong !== null) throw usage(`${name} ${wrong}`);
  }
  const self = { node: process.execPath, entry: programEntry(agent.id) };
  const command = options.command ?? null;
  const plan = agent.launch({
    prompt: options.prompt,
    model,
    approve,
    resume,
    stream,
    args,
    command,
    accept_input: takesInput(agent, config),
    self,
  });
  const env = { ...agentEnvironment(options), ...plan.env };
  const started = checkProgram(agent, plan, env, cwd);
  // A client program of ours starts what was asked for.
  const asked = command?.[0];
  const program = asked === undefined ? null : findProgram(asked, env.PATH, cwd);
  config.program = program ?? asked ?? started;
  if (command !== null) config.command = [...command];
  return {
    agent,
    prompt: options.prompt,
    cwd,
    env,
    plan,
    config,
    state_dir: resolveStateDir({ flag: options.state_dir, env: process.env, cwd: process.cwd() }),
    keep_raw: options.keep_raw ?? false,
    stream_log: options.stream_log ?? false,
    redact: options.redact ?? [],
    live: options.live == null ? null : await sendingTo(options.live),
    retry: retryOf(options),
    clock: options.clock ?? clockOf(process.env),
    random: options.random ?? randomOf(process.env),
  };
}

/** Of `RunOptions`, what has a meaning without a process. */
export type RecordOptions = Pick<
  RunOptions,
  'cwd' | 'model' | 'state_dir' | 'redact' | 'labels' | 'clock' | 'random' | 'env'
> & { agent: string; prompt?: string | undefined };

type RecordRequest = Omit<RunRequest, 'plan' | 'retry'>;

export async function prepareRecord(given: RecordOptions): Promise<RecordRequest> {
  const options = { ...given, prompt: given.prompt ?? '' };
  return {
    agent: await agentOf(options.agent),
    prompt: options.prompt,
    cwd: resolve(options.cwd ?? process.cwd()),
    env: agentEnvironment(options),
    config: configOf(options),
    state_dir: resolveStateDir({ flag: options.state_dir, env: process.env, cwd: process.cwd() }),
    keep_raw: false,
    stream_log: false,
    redact: options.redact ?? [],
    live: null,
    clock: options.clock ?? clockOf(process.env),
    random: options.random ?? randomOf(process.env),
  };
}
