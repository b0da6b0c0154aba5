/** What `tacho run` does: reads the prompt, starts the run, shows it, and turns its end into an exit code. */

import { closeSync } from 'node:fs';
import { resolve } from 'node:path';
import { AGENT_LIMITS } from '../../agents/kit/limits.ts';
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
import { TachoError } from '../../lib/errors.ts';
import { createFdWriter } from '../../lib/fd-writer.ts';
import { isUtf8 } from '../../lib/utf8.ts';
import type { ApproveMode, OutputMode } from '../../model/words.ts';
import { preRunFinished, serialiseRunEvent } from '../../projections/run-event.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { type AgentRunFlags, agentRunOptions, inMs } from '../run-options.ts';
import { catchSignals } from '../signals.ts';
import { type FileFlags, openFiles, outputError, tellCi, writeFinal } from './files.ts';
import { Show } from './show.ts';

export interface RunFlags extends AgentRunFlags, FileFlags {
  agent?: string;
  target?: string;
  command?: string;
  model?: string;
  cwd?: string;
  output: OutputMode;
  tui?: true;
  approve?: ApproveMode;
  stream?: true;
  timeout?: number;
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
    const text = '--tui needs a terminal: leave it out when the output goes to a file or pipe';
    throw new TachoError('not_a_terminal', text, { stage: 'run' });
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
    const { message } = result.outcome;
    const wrong = [
      result.unlisted,
      outputError(events?.failure ?? null, flags.events),
      files.final === null ? null : writeFinal(files.final, message, flags, io),
      ...(await tellCi(result.outcome, flags, io)),
    ].filter((text) => text !== null);
    await show.left();
    for (const text of wrong) await io.err.write(`error: ${text}\n`);
    return wrong.length === 0 ? exitCodeOf(result.exit_reason, result.cause) : EXIT_SOFTWARE;
  } finally {
    release();
    await progress.show?.close();
    await finishLeft((text) => io.err.write(text));
    for (const fd of [files.events, files.final]) if (fd !== null) closeSync(fd);
  }
}

/** A path is one of this folder: the folder that the agent works in may be foreign, and chooses no program. */
const placed = (program: string) => (program.includes('/') ? resolve(program) : program);

async function optionsOf({ flags, io, args, prompt }: RunArguments) {
  const { agent, target, model, cwd, approve, env, resume, stream, redact, tui } = flags;
  const asked = {
    ...agentRunOptions(flags),
    ...{ agent, target, model, cwd, approve, args, env, resume, stream, redact, tui },
    command: flags.command === undefined ? undefined : [placed(flags.command)],
    timeoutMs: inMs(flags.timeout),
    stateDir: io.state_flag,
    keepRaw: flags.keepRaw,
    labels: flags.label,
    outputMode: flags.output,
    eventsPath: flags.events,
    finalOutputPath: flags.finalOutput,
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
    if (bytes > AGENT_LIMITS.prompt_bytes_max)
      throw usage(`the prompt on stdin is over ${AGENT_LIMITS.prompt_bytes_max} bytes`);
  }
  const given_bytes = Buffer.concat(chunks);
  if (!isUtf8(given_bytes)) throw usage('the prompt on stdin is not UTF-8: convert it first');
  const prompt = given_bytes.toString('utf8');
  if (prompt.trim() === '') throw usage('the prompt on stdin is empty');
  return prompt;
}
