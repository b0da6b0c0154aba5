/** What `tacho run` does: reads the prompt, starts the run, shows it, and turns its end into an exit code. */
import { appendFileSync, closeSync, openSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { AGENT_IDS } from '../agents/registry.ts';
import { findConfig, loadConfig, type Target } from '../app/config.ts';
import { deliverLeft } from '../app/deliver-left.ts';
import { EXIT_SOFTWARE, EXIT_USAGE, exitCodeOf, exitCodeOfError } from '../app/exit-codes.ts';
import { clockOf, prepareRun, type RunOptions, randomOf } from '../app/request.ts';
import { startSweep } from '../app/sweep.ts';
import { fileError, TachoError } from '../lib/errors.ts';
import { createFdWriter } from '../lib/fd-writer.ts';
import { LIMITS } from '../lib/limits.ts';
import { traceOf } from '../lib/trace.ts';
import { isUtf8 } from '../lib/utf8.ts';
import type { RunOutcome } from '../model/outcome.ts';
import type { RunLimits } from '../model/parts.ts';
import { annotationLines } from '../projections/github.ts';
import { preRunFinished, serialiseRunEvent } from '../projections/run-event.ts';
import type { Io } from './io.ts';
import type { RunFlags } from './run.ts';
import { runAttempts } from './run-attempts.ts';
import { catchSignals } from './run-signals.ts';

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
    await io.out.write(serialiseRunEvent(preRunFinished(error.message, clockOf(io.env).now())));
    await io.err.write(`error: ${error.message}\n`);
    return exitCodeOfError(error);
  }
}

async function recordedRun(input: RunInput, progress: { shown: boolean }): Promise<number> {
  const { flags, io } = input;
  const { options, retries } = await optionsOf(input);
  const request = await prepareRun(options);
  const swept = await startSweep(request.state_dir);
  // What a recovery adds to the outbox goes out too.
  const left = swept === null ? deliverLeft(request.state_dir) : null;
  const files = openFiles(flags);
  const events = files.events === null ? null : createFdWriter(files.events);
  const signals = catchSignals();
  try {
    const show = { input, events, signals, progress };
    const result = await withoutCommands(input, () =>
      runAttempts(show, request, { options, retries }),
    );
    const final = files.final === null ? null : writeFinal(files.final, result.outcome.message);
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
    await (left ?? deliverLeft(request.state_dir))();
    for (const fd of [files.events, files.final]) if (fd !== null) closeSync(fd);
  }
}

/** In GitHub Actions a line of the agent's text must not become a command of ours. JSON records cannot. */
async function withoutCommands<T>({ flags, io }: RunInput, work: () => Promise<T>): Promise<T> {
  if (io.env.GITHUB_ACTIONS !== 'true' || flags.output === 'json' || flags.tui) return work();
  const token = `tacho-${Buffer.from(randomOf(io.env)(16)).toString('hex')}`;
  await io.out.write(`::stop-commands::${token}\n`);
  try {
    return await work();
  } finally {
    await io.out.write(`::${token}::\n`);
  }
}

/** Commands are read from either stream of a step: stdout is left to the run. Returns what went wrong. */
async function tellCi(outcome: RunOutcome, { flags, io }: RunInput): Promise<(string | null)[]> {
  const github = flags.github ?? io.env.GITHUB_ACTIONS === 'true';
  if (flags.junit === undefined && !github) return [];
  const { annotationsOfRun, junitOfRun, summaryOfRun } = await import('./run-report.ts');
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
  await io.err.write(annotations);
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
  const path = findConfig(process.cwd());
  const config = path === null ? null : await loadConfig(path, AGENT_IDS);
  const name = flags.target ?? (flags.agent === undefined ? config?.default_target : undefined);
  const target =
    name == null
      ? null
      : (config?.targets[name] ?? unknownTarget(name, path, Object.keys(config?.targets ?? {})));
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
  const { live: url, liveTokenFile, liveCa, callTimeout } = flags;
  if (url === undefined) {
    if (liveTokenFile ?? liveCa ?? callTimeout)
      throw usage('--live-token-file, --live-ca and --call-timeout need --live URL');
    return null;
  }
  if (url === 'stdio:') throw usage('--live stdio: the run prints on standard output itself');
  const absolute = (path: string | undefined) => (path === undefined ? null : resolve(path));
  return {
    url,
    token_file: absolute(liveTokenFile),
    ca: absolute(liveCa),
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

function unknownTarget(name: string, path: string | null, known: string[]): never {
  if (path === null) throw usage(`unknown target "${name}": there is no tacho.yaml here or above`);
  throw usage(`unknown target "${name}": ${path} has ${known.join(', ') || 'none'}`);
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

function writeFinal(fd: number, text: string): unknown {
  try {
    writeFileSync(fd, text);
    return null;
  } catch (error) {
    return error;
  }
}
