/** What `tacho run` does: reads the prompt, starts the run, shows it, and turns its end into an exit code. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { AGENT_IDS } from '../agents/registry.ts';
import { findConfig, loadConfig, type Target } from '../app/config.ts';
import { EXIT_SOFTWARE, EXIT_USAGE, exitCodeOf, exitCodeOfError } from '../app/exit-codes.ts';
import type { EventSink } from '../app/recorder.ts';
import { clockOf, prepareRun, type RunOptions } from '../app/request.ts';
import { type RunControl, startRun } from '../app/run.ts';
import { sweep } from '../app/sweep.ts';
import { fileError, TachoError } from '../lib/errors.ts';
import { createFdWriter, type FdWriter } from '../lib/fd-writer.ts';
import { LIMITS } from '../lib/limits.ts';
import { preRunFinished, serialiseRunEvent } from '../projections/run-event.ts';
import type { Io } from './io.ts';
import { createPresenter } from './present.ts';
import type { RunFlags } from './run.ts';

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
  const options = await optionsOf(input);
  const request = await prepareRun(options);
  await sweep(request.state_dir, (say) => void io.err.write(`${say}\n`));
  const files = openFiles(flags);
  const view = await createView(input, request.cwd);
  const noted: EventSink = () => {
    progress.shown = true;
  };
  const sinks: EventSink[] = [noted, view.sink];
  const events = files.events === null ? null : createFdWriter(files.events);
  if (events !== null) sinks.push(eventFile(events));
  const signals = catchSignals();
  try {
    const control = await startRun(request, sinks);
    signals.to(control);
    view.interrupt.set(() => control.abort('SIGINT'));
    const result = await control.result;
    await view.close();
    const final = files.final === null ? null : writeFinal(files.final, result.outcome.message);
    const wrong = [
      result.unlisted,
      outputError(events?.failure ?? null, flags.events),
      outputError(final, flags.finalOutput),
    ].filter((text) => text !== null);
    for (const text of wrong) await io.err.write(`error: ${text}\n`);
    return wrong.length === 0 ? exitCodeOf(result.exit_reason, result.cause) : EXIT_SOFTWARE;
  } finally {
    signals.release();
    await view.close();
    for (const fd of [files.events, files.final]) if (fd !== null) closeSync(fd);
  }
}

/** Flags before the target of tacho.yaml before the target's defaults. */
async function optionsOf(input: RunInput): Promise<RunOptions> {
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
  const prompt = await promptOf(input.prompt, io);
  return {
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
    args: [...(target?.args ?? []), ...args],
    env: { ...target?.env, ...flags.env },
    resume: flags.resume,
    stream: flags.stream ?? false,
    state_dir: input.state_dir,
    keep_raw: flags.keepRaw ?? false,
    redact: [...(config?.redact ?? []), ...(flags.redact ?? [])],
    labels: flags.label,
    output_mode: flags.output,
    tui: flags.tui ?? false,
    events_path: flags.events,
    final_output_path: flags.finalOutput,
  };
}

/** Only what was given, so that it covers what a target says and nothing else does. */
function defined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}

function fromTarget(target: Target | null): Partial<RunOptions> {
  if (target === null) return {};
  return {
    command: target.command ?? undefined,
    model: target.model ?? undefined,
    cwd: target.cwd ?? undefined,
    approve: target.approve ?? undefined,
    timeout_ms: target.timeout === null ? undefined : Math.round(target.timeout * 1000),
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
  const prompt = Buffer.concat(chunks).toString('utf8');
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

function eventFile(writer: FdWriter): EventSink {
  return (events) => writer.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
}

interface View {
  sink: EventSink;
  close(): Promise<void>;
  interrupt: { set(to: () => void): void };
}

async function createView({ flags, io }: RunInput, cwd: string): Promise<View> {
  let onInterrupt: () => void = () => {};
  const interrupt = {
    set(to: () => void) {
      onInterrupt = to;
    },
  };
  const stream = flags.stream ?? false;
  if (!flags.tui) {
    return {
      sink: createPresenter(io, { output: flags.output, stream, cwd }),
      close: async () => {},
      interrupt,
    };
  }
  const { createTuiView } = await import('./tui-view.ts');
  return {
    ...createTuiView(io, {
      agent: flags.agent ?? flags.target ?? '',
      cwd,
      onInterrupt: () => onInterrupt(),
    }),
    interrupt,
  };
}

/** A repeated signal within this time is the same one: a terminal tells the launcher and us at once. */
const SAME_SIGNAL_MS = 300;

interface Signals {
  /** Passes signals on to the run, also one that came while it was being started. */
  to(control: RunControl): void;
  release(): void;
}

/** From here on a signal ends the run in good order and no longer this process at once. */
function catchSignals(): Signals {
  let control: RunControl | null = null;
  let early: NodeJS.Signals | null = null;
  let last = -SAME_SIGNAL_MS;
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (now - last < SAME_SIGNAL_MS) return;
    last = now;
    early ??= signal;
    control?.abort(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return {
    to(started) {
      control = started;
      if (early !== null) control.abort(early);
    },
    release() {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
