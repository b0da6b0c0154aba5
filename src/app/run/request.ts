/** The request for a run, completed with defaults and checked before anything is started. */
import { resolve } from 'node:path';
import { AGENT_LIMITS } from '../../agents/kit/limits.ts';
import { lateLimit } from '../../capture/budget.ts';
import { findProgram, lookUpProgram } from '../../capture/source/find-program.ts';
import { checkFolder } from '../../capture/source/spawn.ts';
import { type Clock, fixedClock, systemClock } from '../../lib/clock.ts';
import { type ErrorCode, TachoError } from '../../lib/errors.ts';
import { newRunId, type RandomSource, seededRandom, systemRandom } from '../../lib/ids.ts';
import { unknownWord } from '../../lib/schema/read.ts';
import { utf8Bytes } from '../../lib/utf8.ts';
import type { Agent, LaunchPlan, LaunchSetting } from '../../model/agent.ts';
import type { RunConfig, RunLimits } from '../../model/parts.ts';
import { FAIL_ON, type FailOn } from '../../model/words.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { agentOf, runnable } from '../config/agent-of.ts';
import { isFailOn, likeFlag } from '../config/checks.ts';
import type { StreamLog } from '../config/log.ts';
import { needPackageFile, programEntry } from '../config/paths.ts';
import { APP_LIMITS } from '../limits.ts';
import { type LiveRunConfig, sendingTo } from '../live/destination.ts';
import type { AgentRunOptions, LimitOptions, RecordOptions, RunOptions } from './options.ts';

export interface RunRequest {
  run_id: string;
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
  fail_on: readonly FailOn[];
  /** For people, shown before the run. */
  notes: readonly string[];
  clock: Clock;
  random: RandomSource;
}

/** The clock as set by the environment, for reproducible output. */
export function clockOf(env: NodeJS.ProcessEnv): Clock {
  if (!env.TACHO_FIXED_TIME) return systemClock;
  const at_ms = Date.parse(env.TACHO_FIXED_TIME);
  if (Number.isNaN(at_ms)) throw usage(`TACHO_FIXED_TIME is not a date: ${env.TACHO_FIXED_TIME}`);
  return fixedClock(at_ms);
}

export function randomOf(env: NodeJS.ProcessEnv): RandomSource {
  return env.TACHO_ID_SEED ? seededRandom(env.TACHO_ID_SEED) : systemRandom;
}

const refused = (code: ErrorCode, text: string) => new TachoError(code, text, { stage: 'request' });
const usage = (text: string) => refused('usage', text);

/** Variables of tacho itself that are not passed to the agent. */
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

/** The program's absolute path. `own`: it was requested instead of the agent's own program. */
function checkProgram(agent: Agent, plan: LaunchPlan, places: Places, own: boolean): string {
  const { command } = plan;
  const found = lookUpProgram(command, places.env.PATH, places.cwd);
  if (found.state === 'found') return found.path;
  if (found.state === 'not_executable')
    throw refused('agent_not_executable', `${found.path} is not executable`);
  const where = command.includes('/') ? 'does not exist' : 'is not on the PATH';
  const say = own
    ? `the command "${command}" ${where}`
    : `${agent.title} is not installed: "${command}" ${where}; ${agent.install}`;
  throw refused('agent_missing', say);
}

interface Places {
  env: Record<string, string>;
  cwd: string;
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
    timeout_ms: options.timeoutMs ?? null,
    limits: limitsOf(options),
    ...(options.acceptInput === true ? { accept_input: true as const } : {}),
    output_mode: options.outputMode ?? 'human',
    stream: options.stream ?? false,
    tui: options.tui ?? false,
    events_path: options.eventsPath ?? null,
    final_output_path: options.finalOutputPath ?? null,
    labels: { ...options.labels },
  };
}

function limitsOf(options: LimitOptions): RunLimits {
  const { maxCostUsd: cost_usd = null, maxTokens: tokens = null, maxSteps: steps = null } = options;
  const { maxToolCalls: tool_calls = null, loopGuard: same_calls = null } = options;
  return { cost_usd, tokens, tool_calls, steps, same_calls };
}

export function takesInput(agent: Agent, { accept_input }: RunConfig): boolean {
  return accept_input === true && agent.input !== undefined;
}

function checkTimeout(timeout_ms: number | null): void {
  if (timeout_ms === null || (timeout_ms > 0 && timeout_ms <= APP_LIMITS.timeout_ms_max)) return;
  const most = Math.floor(APP_LIMITS.timeout_ms_max / 1000);
  throw usage(`a timeout must be greater than 0 and at most ${most} seconds`);
}

/** Throws if a limit could not stop the agent in time, unless that is explicitly accepted. */
function checkLimits(agent: Agent, options: Omit<RunOptions, 'prompt'>): void {
  const why = options.bestEffortLimits ? null : lateLimit(limitsOf(options), agent);
  if (why !== null) throw usage(why);
}

/** The same check for a run that is prepared later. */
export async function checkLimitsOf(options: Omit<AgentRunOptions, 'prompt'>): Promise<void> {
  checkLimits(await agentOf(options.agent), options);
}

/** Default wait before the first retry. */
const RETRY_WAIT_MS = 2_000;

function retryOf({ retries: times = 0, retryWaitMs: wait_ms = RETRY_WAIT_MS }: RunOptions) {
  if (!Number.isSafeInteger(times) || times < 0)
    throw usage('retries must be a whole number of at least 0');
  if (!(wait_ms >= 0)) throw usage('the wait before a retry must be 0 milliseconds or more');
  return { times, wait_ms };
}

function failOnOf({ failOn = [] }: RunOptions): readonly FailOn[] {
  const wrong = failOn.find((word) => !isFailOn(word));
  if (wrong !== undefined) throw usage(`--fail-on: ${unknownWord('condition', wrong, FAIL_ON)}`);
  return failOn;
}

function notesOf(agent: Agent, start: Omit<LaunchSetting, 'uid'>): string[] {
  const text = agent.caution?.({ ...start, uid: process.getuid?.() ?? null }) ?? null;
  return text === null ? [] : [text];
}

/** Contract: starts nothing, and throws a TachoError for every mistake that can be found before the run. */
export async function prepareRun(options: AgentRunOptions, run_id?: string): Promise<RunRequest> {
  const agent = runnable(await agentOf(options.agent));
  if (typeof options.prompt !== 'string') throw usage('the prompt must be a string');
  if (utf8Bytes(options.prompt) > AGENT_LIMITS.prompt_bytes_max)
    throw usage(`the prompt is over ${AGENT_LIMITS.prompt_bytes_max} bytes`);
  checkTimeout(options.timeoutMs ?? null);
  checkLimits(agent, options);
  const request = requestOf(options, agent, run_id);
  const { cwd, config } = request;
  checkFolder(cwd, 'request');
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
  if (plan.args.includes(self.entry)) needPackageFile(self.entry);
  const env = { ...agentEnvironment(options), ...plan.env };
  const asked = command?.[0];
  const started = checkProgram(agent, plan, { env, cwd }, plan.command === asked);
  // Our own client program starts the requested one.
  const program = asked === undefined ? null : findProgram(asked, env.PATH, cwd);
  config.program = program ?? asked ?? started;
  if (command !== null) config.command = [...command];
  return {
    ...request,
    env,
    plan,
    keep_raw: options.keepRaw ?? false,
    stream_log: options.streamLog ?? false,
    live: options.live == null ? null : await sendingTo(options.live, request.state_dir),
    retry: retryOf(options),
    fail_on: failOnOf(options),
    notes: notesOf(agent, { approve, env }),
  };
}

/** The common part of requests for runs and for messages of an SDK. */
function requestOf(options: AgentRunOptions, agent: Agent, run_id?: string) {
  const { clock = clockOf(process.env), random = randomOf(process.env) } = options;
  return {
    run_id: run_id ?? newRunId(clock.now(), random),
    agent,
    prompt: options.prompt,
    cwd: resolve(options.cwd ?? process.cwd()),
    config: configOf(options),
    state_dir: resolveStateDir({ flag: options.stateDir, env: process.env }),
    redact: options.redact ?? [],
    clock,
    random,
  };
}

type RecordRequest = Omit<RunRequest, 'plan' | 'retry' | 'fail_on' | 'notes'>;

export async function prepareRecord(
  given: Omit<RecordOptions, 'messages'>,
  run_id?: string,
): Promise<RecordRequest> {
  const options = { ...given, prompt: given.prompt ?? '' };
  const request = requestOf(options, await agentOf(options.agent), run_id);
  const env = agentEnvironment(options);
  return { ...request, env, keep_raw: false, stream_log: false, live: null };
}
