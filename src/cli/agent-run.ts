/** Flags of the commands that run agents, and the options of a run that they become. */
import { type Command, InvalidArgumentError } from 'commander';
import type { LiveRunOptions } from '../app/live/destination.ts';
import type { RunOptions } from '../app/run/request.ts';
import { TachoError } from '../lib/errors.ts';
import { oneLine } from '../lib/terminal-text.ts';
import { countFrom, INSECURE_HELP } from './arguments.ts';
import type { Io } from './command.ts';

export interface AgentRunFlags {
  live?: string;
  liveTokenFile?: string;
  liveCa?: string;
  insecure?: true;
  callTimeout?: number;
  maxCost?: number;
  maxTokens?: number;
  maxToolCalls?: number;
  maxSteps?: number;
  loopGuard?: number;
  retries?: number;
  retryWait?: number;
  acceptInput?: true;
}

export function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give a number of seconds over 0.');
  return value;
}

function dollars(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError('Give an amount in US dollars over 0.');
  return value;
}

export function liveFlags(command: Command): Command {
  return command
    .option(
      '--live <url>',
      'send the run to a collector while it goes on (unix:PATH, tcp://HOST:PORT …)',
    )
    .option('--live-token-file <file>', 'the token for the collector')
    .option('--live-ca <file>', "certificates that vouch for the collector's")
    .option('--insecure', INSECURE_HELP)
    .option(
      '--call-timeout <seconds>',
      'with --live: a call that runs longer is reported as timed out; it is not ended',
      seconds,
    );
}

export function limitFlags(command: Command): Command {
  return command
    .option('--max-cost <usd>', 'end the run when it has cost more', dollars)
    .option(
      '--max-tokens <n>',
      'end the run when it has used more, cached ones counted',
      countFrom(1),
    )
    .option('--max-tool-calls <n>', 'end the run at the call after so many', countFrom(0))
    .option('--max-steps <n>', 'end the run at the step after so many', countFrom(1))
    .option('--loop-guard <n>', 'end the run at the nth call with the same input', countFrom(2))
    .option(
      '--retries <n>',
      'run the agent again, up to so often, when the model API failed or it stopped at once',
      countFrom(0),
    )
    .option(
      '--retry-wait <seconds>',
      'before the first retry; each next one waits twice as long (default: 2)',
      seconds,
    );
}

export const ACCEPT_INPUT_FLAG = [
  '--accept-input',
  'let others talk to the agent while it runs, where it can take that: with --live, whoever may inject at the collector',
] as const;

export const inMs = (value: number | undefined) =>
  value === undefined ? undefined : Math.round(value * 1000);

/** What was not given is undefined. */
export function agentRunOptions(flags: AgentRunFlags): Partial<RunOptions> {
  return {
    live: liveOf(flags),
    limits: {
      cost_usd: flags.maxCost,
      tokens: flags.maxTokens,
      tool_calls: flags.maxToolCalls,
      steps: flags.maxSteps,
      same_calls: flags.loopGuard,
    } as NonNullable<RunOptions['limits']>,
    retries: flags.retries,
    retry_wait_ms: inMs(flags.retryWait),
    accept_input: flags.acceptInput,
  };
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'run' });

function liveOf(flags: AgentRunFlags): LiveRunOptions | undefined {
  const { live: url, liveTokenFile: token_file, liveCa: ca, insecure, callTimeout } = flags;
  if (url === undefined) {
    if (token_file ?? ca ?? insecure ?? callTimeout)
      throw usage('--live-token-file, --live-ca, --insecure and --call-timeout need --live URL');
    return undefined;
  }
  if (url === 'stdio:') throw usage('--live stdio: the run prints on standard output itself');
  return { url, token_file, ca, insecure, call_timeout_ms: inMs(callTimeout) };
}

const SAID_CHARS_MAX = 300;

/** Problems of a run's live session, on stderr. */
export const sayOfLive = (io: Io) => (text: string) =>
  void io.err.write(`tacho: ${oneLine(text, SAID_CHARS_MAX)}\n`);
