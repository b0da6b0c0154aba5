/** What `tacho run` does: reads the prompt, starts the run, shows it, and turns its end into an exit code. */

import { appendFileSync, closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import { redactedMessage } from '../../app/config/redaction.ts';
import {
  EXIT_SOFTWARE,
  EXIT_USAGE,
  exitCodeOf,
  exitCodeOfError,
} from '../../app/run/exit-codes.ts';
import { clockOf, prepareRun } from '../../app/run/request.ts';
import type { RunControl } from '../../app/run/run.ts';
import { runAgent } from '../../app/run/run-agent.ts';
import { startLeft } from '../../app/run/sweep.ts';
import { withTarget } from '../../app/run/with-target.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { createFdWriter } from '../../lib/fd-writer.ts';
import { LIMITS } from '../../lib/limits.ts';
import { isUtf8 } from '../../lib/utf8.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { ApproveMode, OutputMode } from '../../model/words.ts';
import { annotationLines } from '../../projections/github.ts';
import { preRunFinished, serialiseRunEvent } from '../../projections/run-event.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { createTextFilter } from '../io.ts';
import { type AgentRunFlags, agentRunOptions, inMs } from '../run-options.ts';
import { catchSignals } from '../signals.ts';
import { Show } from './show.ts';

export interface RunFlags extends AgentRunFlags {
  agent?: string;
  target?: string;
  command?: string;
  model?: string;
  cwd?: string;
  output: OutputMode;
  tui?: true;
  approve?: ApproveMode;
  events?: string;
  stream?: true;
  finalOutput?: string;
  timeout?: number;
  junit?: string;
  github?: boolean;
  resume?: string;
  env?: Record<string, string>;
  label?: Record<string, string>;
  redact?: string[];
  keepRaw?: true;
  trust?: true;
}

interface RunArguments {
  prompt: string | null;
  args: string[];
  flags: RunFlags;
  state_dir: string | undefined;
  io: Io;
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'run' });

export async function runCommand(input: RunArguments): Promise<number> {
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
  const progress: { show: Show | null } = { show: null };
  try {
    return await runRecorded(input, progress);
  } catch (error) {
    const usual = error instanceof TachoError && exitCodeOfError(error) !== EXIT_USAGE;
    if (!usual || flags.output !== 'json' || progress.show?.begun) throw error;
    const text = await redactedMessage(error, io.env);
    await io.out.json(serialiseRunEvent(preRunFinished(text, clockOf(io.env).now())));
    await io.err.write(`error: ${text}\n`);
    return exitCodeOfError(error);
  }
}

async function runRecorded(input: RunArguments, progress: { show: Show | null }): Promise<number> {
  const { flags, io } = input;
  const request = await prepareRun(await optionsOf(input));
  if (request.live !== null) {
    const { warnInsecure } = await import('../insecure.ts');
    await warnInsecure(request.live.url, io);
  }
  const acting = { ...actingOf(flags.trust, io), target: request.live };
  const finishLeft = await startLeft(request.state_dir, acting);
  const files = openFiles(flags);
  const events = files.events === null ? null : createFdWriter(files.events);
  let control: RunControl | null = null;
  const release = catchSignals((signal) => control?.abort(signal));
  try {
    const show = new Show(io, {
      output: flags.output,
      stream: flags.stream ?? false,
      cwd: request.cwd,
      tui: flags.tui ? (flags.agent ?? flags.target ?? '') : null,
      events,
      onInterrupt: () => control?.abort('SIGINT'),
    });
    progress.show = show;
    control = runAgent(request, show);
    const result = await control.result;
    await show.rest(request.state_dir, result.run_id);
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
    release();
    await finishLeft((text) => io.err.write(text));
    for (const fd of [files.events, files.final]) if (fd !== null) closeSync(fd);
  }
}

/** Commands are read from either stream of a step: stdout is left to the run. Returns what went wrong. */
async function tellCi(
  outcome: RunOutcome,
  { flags, io }: RunArguments,
): Promise<(string | null)[]> {
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

/** A path is one of this folder: the folder that the agent works in may be foreign, and chooses no program. */
const placed = (program: string) => (program.includes('/') ? resolve(program) : program);

async function optionsOf({ flags, io, args, prompt, state_dir }: RunArguments) {
  const asked = {
    ...agentRunOptions(flags),
    agent: flags.agent,
    target: flags.target,
    command: flags.command === undefined ? undefined : [placed(flags.command)],
    model: flags.model,
    cwd: flags.cwd,
    approve: flags.approve,
    timeout_ms: inMs(flags.timeout),
    args,
    env: flags.env,
    resume: flags.resume,
    stream: flags.stream,
    state_dir,
    keep_raw: flags.keepRaw,
    redact: flags.redact,
    labels: flags.label,
    output_mode: flags.output,
    tui: flags.tui,
    events_path: flags.events,
    final_output_path: flags.finalOutput,
  };
  const options = await withTarget(asked, actingOf(flags.trust, io));
  return { ...options, prompt: await promptOf(prompt, io) };
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
