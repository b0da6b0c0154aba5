/** Options of a run. */
import type { Clock } from '../../lib/clock.ts';
import type { RandomSource } from '../../lib/ids.ts';
import type { ApproveMode, FailOn, OutputMode } from '../../model/words.ts';
import type { StreamLog } from '../config/log.ts';
import type { LiveRunOptions } from '../live/destination.ts';

/** Options of `run`. */
export interface RunOptions extends LimitOptions {
  /** Id of the agent, as `tacho agents` lists them. Default: the agent of the target. */
  agent?: string | undefined;
  /** Prompt for the agent. */
  prompt: string;
  /** Working directory of the agent. Default: the current folder. */
  cwd?: string | undefined;
  /** Model that the agent uses. Default: the agent's own choice. */
  model?: string | undefined;
  /** Actions that the agent may take without asking. Default: `'default'`, the default of its CLI. */
  approve?: ApproveMode | undefined;
  /** Passed to the agent unchanged. */
  args?: readonly string[] | undefined;
  /** Added to the agent's environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** The program to start instead of the agent's own, with leading arguments. */
  command?: readonly string[] | undefined;
  /** End the run after this many milliseconds. Default: no time limit. */
  timeoutMs?: number | undefined;
  /** Accept limits that the agent reports too late: they are checked when the run has ended. Default: such limits are refused. */
  bestEffortLimits?: boolean | undefined;
  /** Conditions that fail a run that ended well; see `failures` of the run. Default: none. */
  failOn?: readonly FailOn[] | undefined;
  /** Session of the agent to continue. */
  resume?: string | undefined;
  /** Whether the events include pieces of text as they arrive. Default: false. */
  stream?: boolean | undefined;
  /** Folder of the record. Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  stateDir?: string | undefined;
  /** Keep the agent's raw output after the run is recorded. Default: false. */
  keepRaw?: boolean | undefined;
  /** Write a log beside the transcript: readable lines, or the agent's stdout. Default: false. */
  streamLog?: StreamLog | undefined;
  /** Patterns of secrets to redact, in addition to the known ones. */
  redact?: readonly string[] | undefined;
  /** Stored with the run. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** Collector that the run is sent to while it happens. Default: none. */
  live?: LiveRunOptions | null | undefined;
  /** A named entry of tacho.yaml. Default, if no agent is named: the default target of the file. */
  target?: string | undefined;
  /**
   * Run the agent again, at most this many times, when the model API failed or the agent stopped immediately.
   * Default: 0.
   */
  retries?: number | undefined;
  /** Milliseconds before the first retry; each further retry waits twice as long. Default: 2000. */
  retryWaitMs?: number | undefined;
  /** Let `say`, `interrupt` and `confirm` reach the agent, if it can take input while it runs. Default: false. */
  acceptInput?: boolean | undefined;
  /** Ends the run when it is aborted. */
  signal?: AbortSignal | undefined;
  /** Receives messages for people: why the agent is retried, problems of the live session. */
  onNotice?: ((text: string) => void) | undefined;
  /** Source of time, for reproducible output. Default: the system clock. */
  clock?: Clock | undefined;
  /** Source of random bytes, for reproducible output. Default: the system. */
  random?: RandomSource | undefined;
}

/** Limits that end a run. Null, like undefined, is no limit; null also overrides the limit of a target. */
export interface LimitOptions {
  /** End the run when it has cost more than this many US dollars. */
  maxCostUsd?: number | null | undefined;
  /** End the run when it has used more than this many tokens. */
  maxTokens?: number | null | undefined;
  /** End the run at the next tool call after this many. */
  maxToolCalls?: number | null | undefined;
  /** End the run at the next step after this many. */
  maxSteps?: number | null | undefined;
  /** End the run when it makes the same call with the same input this many times. */
  loopGuard?: number | null | undefined;
}

/** Options that only the command line has: how it shows the run. */
interface ShownRunOptions extends RunOptions {
  outputMode?: OutputMode | undefined;
  tui?: boolean | undefined;
  eventsPath?: string | undefined;
  finalOutputPath?: string | undefined;
}

/** Options of a run with a known agent. */
export type AgentRunOptions = ShownRunOptions & { agent: string };

/** The options of a run that apply without a process. */
export interface RecordOptions
  extends Pick<
    RunOptions,
    'cwd' | 'model' | 'stateDir' | 'redact' | 'labels' | 'clock' | 'random' | 'env'
  > {
  /** Id of the agent that the messages come from. */
  agent: string;
  /** The messages, as the SDK yields them. */
  messages: AsyncIterable<unknown> | Iterable<unknown>;
  /** Prompt that the agent was given. Default: none. */
  prompt?: string | undefined;
  /** Stops reading the messages when it is aborted. */
  signal?: AbortSignal | undefined;
}
