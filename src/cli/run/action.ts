/** The action of `tacho run`: reads the prompt, starts the run, shows it, and turns its end into an exit code. */
import { resolve } from 'node:path';
import { AGENT_LIMITS } from '../../agents/kit/limits.ts';
import { redactedMessage } from '../../app/config/redaction.ts';
import {
  EXIT_CAUGHT,
  EXIT_SOFTWARE,
  EXIT_USAGE,
  exitCodeOf,
  exitCodeOfError,
} from '../../app/run/exit-codes.ts';
import { clockOf, prepareRun } from '../../app/run/request.ts';
import { type AgentRun, type AgentRunResult, runAgent } from '../../app/run/run-agent.ts';
import { startLeft } from '../../app/run/sweep.ts';
import { withTarget } from '../../app/run/with-target.ts';
import { TachoError } from '../../lib/errors.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { isUtf8 } from '../../lib/utf8.ts';
import type { ApproveMode, FailOn, OutputMode } from '../../model/words.ts';
import { preRunFinished, serialiseRunEvent } from '../../projections/run-event.ts';
import { callName, type ReportedCall } from '../../projections/run-report.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { noFullScreen } from '../full-screen.ts';
import { type AgentRunFlags, agentRunOptions, inMs } from '../run-options.ts';
import { catchSignals } from '../signals.ts';
import { type FileFlags, RunFiles, reportToCi, writeRecords } from './files.ts';
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
  failOn?: string[];
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

export async function runCommand(given: RunArguments): Promise<number> {
  const input = withoutPromptInLive(given);
  const { flags, io } = input;
  if (flags.tui && flags.output === 'json') {
    await io.err.write('error: --output json cannot be combined with --tui\n');
    return EXIT_USAGE;
  }
  const unable = flags.tui ? noFullScreen(io) : null;
  if (unable !== null) {
    const text = `--tui needs a terminal, and ${unable}: run the command without --tui`;
    throw new TachoError('not_a_terminal', text, { stage: 'run' });
  }
  const progress: { show: Show | null } = { show: null };
  try {
    return await runRecorded(input, progress);
  } catch (error) {
    if (!(error instanceof TachoError) || progress.show?.begun) throw error;
    await notStarted(error, input);
    if (flags.output !== 'json' || exitCodeOfError(error) === EXIT_USAGE) throw error;
    return exitCodeOfError(error);
  }
}

/** A run that did not start has one record, where records are wanted (RE-12). A mistake in the request has none. */
async function notStarted(error: TachoError, { flags, io }: RunArguments): Promise<void> {
  const text = await redactedMessage(error, io.env);
  const { jsonFile, agent, target = null } = flags;
  const recorded = exitCodeOfError(error) !== EXIT_USAGE;
  const record = serialiseRunEvent(preRunFinished(text, clockOf(io.env).now()));
  const wrong = await reportToCi({ agent: agent ?? target, error: text }, flags, io);
  if (recorded && jsonFile !== undefined) wrong.push(writeRecords(jsonFile, record));
  for (const each of wrong)
    if (each !== null && each !== text) await io.err.write(`error: ${each}\n`);
  if (!recorded || flags.output !== 'json') return;
  await io.out.json(record);
  await io.err.write(`error: ${text}\n`);
}

/** `--live` may be followed by the prompt: a collector's URL has a colon and no white space. */
function withoutPromptInLive(input: RunArguments): RunArguments {
  const { flags, prompt } = input;
  const { live } = flags;
  if (typeof live !== 'string' || /^\S+:\S*$/.test(live)) return input;
  if (prompt !== null)
    throw usage(`--live: ${JSON.stringify(live)} is not the URL of a collector; write --live=URL`);
  return { ...input, flags: { ...flags, live: true }, prompt: live };
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
  const present = { stream: flags.stream ?? false, cwd: request.cwd };
  const files = new RunFiles(flags, io, present);
  let control: AgentRun | null = null;
  const release = catchSignals((signal) => control?.abort(signal));
  try {
    const show = new Show(io, {
      ...present,
      output: flags.output,
      tui: flags.tui ? (flags.agent ?? flags.target ?? '') : null,
      files: files.views,
      onInterrupt: () => control?.abort('SIGINT'),
    });
    progress.show = show;
    control = runAgent(request, show);
    const result = await control.result;
    await show.rest(request.state_dir, result.run_id);
    const wrong = [
      result.unlisted,
      ...files.finish(result.outcome.message),
      ...(await reportToCi(result, flags, io)),
    ].filter((text) => text !== null);
    await show.left();
    for (const text of wrong) await io.err.write(`error: ${text}\n`);
    await io.err.write(caughtText(result));
    return wrong.length === 0 ? codeOf(result) : EXIT_SOFTWARE;
  } finally {
    release();
    await progress.show?.close();
    await finishLeft((text) => io.err.write(text));
    files.close();
  }
}

/** `--fail-on` changes only an exit code of 0. */
function codeOf({ exit_reason, cause, caught }: AgentRunResult): number {
  const code = exitCodeOf(exit_reason, cause);
  return code === 0 && caught.length > 0 ? EXIT_CAUGHT : code;
}

const CALLS_NAMED_MAX = 10;
const LINE_CHARS_MAX = 300;

/** The conditions of --fail-on that the run meets, each with its calls. */
function caughtText({ caught, run_id }: AgentRunResult): string {
  const callLine = (call: ReportedCall) => {
    const why = call.reason === null ? '' : ` (${call.reason})`;
    return `  ${oneLine(`${callName(call)}${why}`, LINE_CHARS_MAX)}`;
  };
  const lines = caught.flatMap(({ condition, message, calls }) => {
    const named = calls.slice(0, CALLS_NAMED_MAX).map(callLine);
    const more = calls.length > named.length ? [`  … all of them: tacho show ${run_id}`] : [];
    return [`error: --fail-on ${condition}: ${message}`, ...named, ...more];
  });
  return lines.map((line) => `${line}\n`).join('');
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
    failOn: flags.failOn as FailOn[] | undefined,
    outputMode: flags.output,
    eventsPath: flags.events,
    finalOutputPath: flags.finalOutput,
  };
  const options = await withTarget(asked, actingOf(flags.trust, io));
  return { ...options, prompt: await promptOf(prompt, io) };
}

const NO_PROMPT = 'no prompt: give it as an argument, or pipe it in';

async function promptOf(given: string | null, io: Io): Promise<string> {
  if (given !== null && given !== '-') {
    // As from an empty variable of a CI job.
    if (given.trim() === '') throw usage('the prompt is empty');
    return given;
  }
  if (given === null && io.in_is_terminal) throw usage(NO_PROMPT);
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
  if (prompt.trim() === '')
    throw usage(given === null ? NO_PROMPT : 'the prompt on stdin is empty');
  return prompt;
}
