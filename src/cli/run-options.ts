/** The flags of commands that run agents, as options of a run. */
import type { LiveRunOptions } from '../app/live/destination.ts';
import type { RunOptions } from '../app/run/options.ts';
import { TachoError } from '../lib/errors.ts';
import { oneLine } from '../lib/terminal-text.ts';
import type { Output } from './command.ts';

/** The flags of a connection to a collector. */
export interface LiveFlags {
  /** True: the collector of the state folder. */
  live?: string | true;
  liveTokenFile?: string;
  liveCa?: string;
  insecure?: true;
  callTimeout?: number;
}

export interface AgentRunFlags extends LiveFlags {
  maxCost?: number;
  maxTokens?: number;
  maxToolCalls?: number;
  maxSteps?: number;
  loopGuard?: number;
  bestEffortLimits?: true;
  retries?: number;
  retryWait?: number;
  acceptInput?: true;
}

export const inMs = (value: number | undefined) =>
  value === undefined ? undefined : Math.round(value * 1000);

/** A flag that was not given is undefined. */
export function agentRunOptions(flags: AgentRunFlags): Partial<RunOptions> {
  return {
    live: liveOf(flags),
    maxCostUsd: flags.maxCost,
    maxTokens: flags.maxTokens,
    maxToolCalls: flags.maxToolCalls,
    maxSteps: flags.maxSteps,
    loopGuard: flags.loopGuard,
    bestEffortLimits: flags.bestEffortLimits,
    retries: flags.retries,
    retryWaitMs: inMs(flags.retryWait),
    acceptInput: flags.acceptInput,
  };
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'run' });

export function liveOf(flags: LiveFlags): LiveRunOptions | undefined {
  const { live, liveTokenFile: tokenFile, liveCa: ca, insecure, callTimeout } = flags;
  if (live === undefined) {
    if (tokenFile ?? ca ?? insecure ?? callTimeout)
      throw usage('--live-token-file, --live-ca, --insecure and --call-timeout need --live');
    return undefined;
  }
  if (live === 'stdio:') throw usage('--live stdio: the run prints on standard output itself');
  const url = live === true ? 'unix:' : live;
  return { url, tokenFile, ca, insecure, callTimeoutMs: inMs(callTimeout) };
}

const SAID_CHARS_MAX = 300;

/** Problems of a run's live session, on stderr. */
export const sayOfLive = (io: { err: Pick<Output, 'write'> }) => (text: string) =>
  void io.err.write(`tacho: ${oneLine(text, SAID_CHARS_MAX)}\n`);
