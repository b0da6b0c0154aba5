/** What `tacho run` does: reads the prompt, starts the run, shows it, and turns its end into an exit code. */
import { appendFileSync, closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import { AGENT_IDS } from '../../agents/registry.ts';
import { type Config, findConfig, loadConfig, type Target } from '../../app/config/config.ts';
import type { Consenting } from '../../app/config/consent.ts';
import { redactedMessage } from '../../app/config/redaction.ts';
import { deliverLeft } from '../../app/live/deliver-left.ts';
import {
  EXIT_SOFTWARE,
  EXIT_USAGE,
  exitCodeOf,
  exitCodeOfError,
} from '../../app/run/exit-codes.ts';
import { clockOf, prepareRun, type RunOptions } from '../../app/run/request.ts';
import { startSweep } from '../../app/run/sweep.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { createFdWriter } from '../../lib/fd-writer.ts';
import { LIMITS } from '../../lib/limits.ts';
import { traceOf } from '../../lib/trace.ts';
import { isUtf8 } from '../../lib/utf8.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { RunLimits } from '../../model/parts.ts';
import type { ApproveMode, OutputMode } from '../../model/words.ts';
import { annotationLines } from '../../projections/github.ts';
import { preRunFinished, serialiseRunEvent } from '../../projections/run-event.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { createTextFilter } from '../io.ts';
import { runAttempts } from './attempts.ts';
import { catchSignals } from './signals.ts';

export interface RunFlags {
  agent?: string;
  target?: string;
  model?: string;
  cwd?: string;
  output: OutputMode;
  tui?: true;
  approve?: ApproveMode;
  events?: string;
  stream?: true;
  finalOutput?: string;
  timeout?: number;
  maxCost?: number;
  maxTokens?: number;
  maxToolCalls?: number;
  maxSteps?: number;
  loopGuard?: number;
  junit?: string;
  github?: boolean;
  retries?: number;
  retryWait?: number;
  resume?: string;
  env?: Record<string, string>;
  label?: Record<string, string>;
  redact?: string[];
  keepRaw?: true;
  acceptInput?: true;
  live?: string;
  liveTokenFile?: string;
  liveCa?: string;
  insecure?: true;
  callTimeout?: number;
  trust?: true;
}

export interface RunInput {
  prompt: string | null;
  args: string[];
  flags: RunFlags;
  state_dir: string | undefined;
  io: Io;
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'run' });

export async function runCommand(input: RunInput): Promise<number> {
  const { flags, io } = input;
  if (flags.tui && flags.output === 'json') {
    await io.err.write('error: --output json cannot be combined with --tui\n');
    return EXIT_USAGE;
  }
  if (flags.tui && !(io.out_is_terminal && io.in_is_terminal)) {
    throw new TachoError(
      'not_a_terminal',
      '--tui needs a terminal: leave it out when the output goes to a file or pipe',
      { stage: 'run' },
    );
  }
  const progress = { shown: false };
  try {
    return await recordedRun(input, progress);
  } catch (error) {
    const usual = error instanceof TachoError && exitCodeOfError(error) !== EXIT_USAGE;
    if (!usual || flags.output !== 'json' || progress.shown) throw error;
    const text = await redactedMessage(error, io.env);
    await io.out.json(serialiseRunEvent(preRunFinished(text, clockOf(io.env).now())));
    await io.err.write(`error: ${text}\n`);
    return exitCodeOfError(error);
  }
}

async function recordedRun(input: RunInput, progress: { shown: boolean }): Promise<number> {
  const { flags, io } = input;
  const { options, retries } = await optionsOf(input);
  const request = await prepareRun(options);
  if (request.live !== null) {
    const { warnInsecure } = await import('../insecure.ts');
    await warnInsecure(request.live.url, io);
  }
  const acting = actingOf(flags.trust, io);
  const swept = await startSweep(request.state_dir, acting);
  const deliverNow = () => deliverLeft(request.state_dir, { ...acting, target: request.live });
  // What a recovery adds to the outbox is sent too.
  const left = swept === null ? deliverNow() : null;
  const files = openFiles(flags);
  const events = files.events === null ? null : createFdWriter(files.events);
  const signals = catchSignals();
  try {
    const show = { input, events, signals, progress };
    const result = await runAttempts(show, request, { options, retries });
    const final = files.final === null ? null : writeFinal(files.final, result.outcome.message, io);
    const wrong = [
      result.unlisted,
      outputError(events?.failure ?? null, flags.events),
      outputError(final, flags.finalOutput),
      ...(await tellCi(result.outcome, input)),
    ].filter((text) => text !== null);
    for (const text of wrong) await io.err.write(`error: ${text}\n`);
    return wrong.length === 0 ? exitCodeOf(result.exit_reason, result.cause) : EXIT_SOFTWARE;
  } finally {
    signals.release();
    if (swept !== null) await io.err.write(await swept());
    await (left ?? deliverNow())();
    for (const fd of [files.events, files.final]) if (fd !== null) closeSync(fd);
  }
}

/** Commands are read from either stream of a step: stdout is left to the run. Returns what went wrong. */
async function tellCi(outcome: RunOutcome, { flags, io }: RunInput): Promise<(string | null)[]> {
  const github = flags.github ?? io.env.GITHUB_ACTIONS === 'true';
  if (flags.junit === undefined && !github) return [];
  const { annotationsOfRun, junitOfRun, summaryOfRun } = await import('./report.ts');
  const wrong: (string | null)[] = [];
  if (flags.junit !== undefined)
    wrong.push(
      writeBeside(flags.junit, () => writeFileSync(flags.junit as string, junitOfRun(outcome))),
    );
  if (!github) return wrong;
  let annotations = '';
  wrong.push(
    writeBeside('annotations', () => {
      annotations = annotationLines(annotationsOfRun(outcome));
    }),
  );
  await io.err.own(annotations);
  const path = io.env.GITHUB_STEP_SUMMARY;
  if (path) wrong.push(writeBeside(path, () => appendFileSync(path, summaryOfRun(outcome))));
  return wrong;
}

function writeBeside(path: string, write: () => void): string | null {
  try {
    write();
    return null;
  } catch (cause) {
    return outputError(cause, path);
  }
}

/** Flags before the target of tacho.yaml before the target's defaults. */
export async function optionsOf(
  input: RunInput,
): Promise<{ options: RunOptions; retries: number }> {
  const { flags, io, args } = input;
  const consenting = actingOf(flags.trust, io);
  const path = findConfig(process.cwd(), consenting.say);
  const config = path === null ? null : await loadConfig(path, AGENT_IDS);
  const name = flags.target ?? (flags.agent === undefined ? config?.default_target : undefined);
  const target = name == null ? null : await targetOf(name, config, consenting);
  const agent = flags.agent ?? target?.agent;
  if (agent === undefined) {
    throw usage(
      'say which agent to run: --agent ID (see tacho agents) or --target NAME of a tacho.yaml',
    );
  }
  for (const say of target?.warnings ?? []) await io.err.write(`warning: ${say}\n`);
  const prompt = await promptOf(input.prompt, io);
  const options: RunOptions = {
    ...fromTarget(target),
    agent,
    prompt,
    target: name ?? undefined,
    ...defined({
      model: flags.model,
      cwd: flags.cwd,
      approve: flags.approve,
      timeout_ms: flags.timeout === undefined ? undefined : Math.round(flags.timeout * 1000),
    }),
    limits: { ...target?.limits, ...limitsOf(flags) },
    args: [...(target?.args ?? []), ...args],
    env: { ...target?.env, ...flags.env },
    resume: flags.resume,
    stream: flags.stream ?? false,
    state_dir: input.state_dir,
    keep_raw: flags.keepRaw ?? false,
    accept_input: flags.acceptInput ?? false,
    redact: [...(config?.redact ?? []), ...(flags.redact ?? [])],
    labels: flags.label,
    live: liveOf(flags, io),
    output_mode: flags.output,
    tui: flags.tui ?? false,
    events_path: flags.events,
    final_output_path: flags.finalOutput,
  };
  return { options, retries: flags.retries ?? target?.retries ?? 0 };
}

function liveOf(flags: RunFlags, io: Io): RunOptions['live'] {
  const { live: url, liveTokenFile, liveCa, insecure, callTimeout } = flags;
  if (url === undefined) {
    if (liveTokenFile ?? liveCa ?? insecure ?? callTimeout)
      throw usage('--live-token-file, --live-ca, --insecure and --call-timeout need --live URL');
    return null;
  }
  if (url === 'stdio:') throw usage('--live stdio: the run prints on standard output itself');
  const absolute = (path: string | undefined) => (path === undefined ? null : resolve(path));
  return {
    url,
    token_file: absolute(liveTokenFile),
    ca: absolute(liveCa),
    insecure: insecure ?? false,
    call_timeout_ms: callTimeout === undefined ? null : Math.round(callTimeout * 1000),
    trace: traceOf(io.env),
  };
}

/** Only what was given, so that it covers what a target says and nothing else does. */
function defined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}

function limitsOf(flags: RunFlags): Partial<RunLimits> {
  return defined({
    cost_usd: flags.maxCost,
    tokens: flags.maxTokens,
    tool_calls: flags.maxToolCalls,
    steps: flags.maxSteps,
    same_calls: flags.loopGuard,
  }) as Partial<RunLimits>;
}

function fromTarget(target: Target | null): Partial<RunOptions> {
  if (target === null) return {};
  return {
    command: target.command ?? undefined,
    model: target.model ?? undefined,
    cwd: target.cwd ?? undefined,
    approve: target.approve ?? undefined,
    timeout_ms: target.timeout === null ? undefined : Math.round(target.timeout * 1000),
    stream_log: target.stream_log ?? undefined,
  };
}

/** A target chooses a program and its rights: the user must agree to the file that has it. */
async function targetOf(
  name: string,
  config: Config | null,
  consenting: Consenting,
): Promise<Target> {
  if (config === null)
    throw usage(`unknown target "${name}": there is no tacho.yaml here or above`);
  const { targets, path } = config;
  const target = Object.hasOwn(targets, name) ? targets[name] : undefined;
  if (target === undefined)
    throw usage(
      `unknown target "${name}": ${path} has ${Object.keys(targets).join(', ') || 'none'}`,
    );
  const { configAsking, needConsent, targetEffects } = await import('../../app/config/consent.ts');
  needConsent(configAsking(config, [targetEffects(name, target)]), consenting);
  return target;
}

async function promptOf(given: string | null, io: Io): Promise<string> {
  if (given !== null && given !== '-') return given;
  if (given === null && io.in_is_terminal)
    throw usage('no prompt: give it as an argument, or pipe it in');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > LIMITS.prompt_bytes_max)
      throw usage(`the prompt on stdin is over ${LIMITS.prompt_bytes_max} bytes`);
  }
  const given_bytes = Buffer.concat(chunks);
  if (!isUtf8(given_bytes)) throw usage('the prompt on stdin is not UTF-8: convert it first');
  const prompt = given_bytes.toString('utf8');
  if (prompt.trim() === '') throw usage('the prompt on stdin is empty');
  return prompt;
}

/** Opened before the run, so that a path that cannot be written stops it early. */
function openFiles(flags: RunFlags): { events: number | null; final: number | null } {
  const open = (path: string | undefined) => {
    if (path === undefined) return null;
    try {
      return openSync(path, 'w', 0o600);
    } catch (cause) {
      const { message } = fileError(cause, path, 'output');
      throw new TachoError('output_unwritable', message, { stage: 'output', cause });
    }
  };
  return { events: open(flags.events), final: open(flags.finalOutput) };
}

/** The run is recorded by now: a file that could not be written beside it is told, and nothing else. */
function outputError(cause: unknown, path: string | undefined): string | null {
  return cause === null ? null : fileError(cause, path ?? '', 'output').message;
}

/** A terminal, or one of our own streams by another name (/dev/stdout). */
function isShown(fd: number): boolean {
  const { dev, ino } = fstatSync(fd);
  const same = (own: number) => {
    const stream = fstatSync(own);
    return stream.dev === dev && stream.ino === ino;
  };
  return isatty(fd) || same(1) || same(2);
}

/** A file gets the exact text; what people see, the text made harmless. */
function writeFinal(fd: number, text: string, io: Io): unknown {
  try {
    writeFileSync(fd, isShown(fd) ? createTextFilter(io.env, () => false)(text) : text);
    return null;
  } catch (error) {
    return error;
  }
}
