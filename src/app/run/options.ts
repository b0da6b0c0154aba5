/** What a caller may ask of a run. */
import type { Clock } from '../../lib/clock.ts';
import type { RandomSource } from '../../lib/ids.ts';
import type { RunLimits } from '../../model/parts.ts';
import type { ApproveMode, OutputMode } from '../../model/words.ts';
import type { StreamLog } from '../config/log.ts';
import type { LiveRunOptions } from '../live/destination.ts';

export interface RunOptions {
  /** Id of the agent, as `tacho agents` lists them; default: that of the target. */
  agent?: string | undefined;
  prompt: string;
  /** Work folder of the agent; default: the current folder. */
  cwd?: string | undefined;
  model?: string | undefined;
  /** What the agent may do without asking; default: what its CLI does by default. */
  approve?: ApproveMode | undefined;
  /** Passed to the agent unchanged. */
  args?: readonly string[] | undefined;
  /** Added to the agent's environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** The program to start instead of the agent's own, with leading arguments. */
  command?: readonly string[] | undefined;
  timeout_ms?: number | undefined;
  /** Over which the run is ended. */
  limits?: Partial<RunLimits> | undefined;
  /** Session of the agent to go on with. */
  resume?: string | undefined;
  /** Whether text deltas are wanted. */
  stream?: boolean | undefined;
  /** Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  state_dir?: string | undefined;
  /** Keep the agent's raw output after the run is recorded. */
  keep_raw?: boolean | undefined;
  /** A log beside the transcript: readable lines, or the agent's stdout; default: none. */
  stream_log?: StreamLog | undefined;
  /** Patterns of secrets to redact, beyond the known ones. */
  redact?: readonly string[] | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
  /** Where the run is sent as it happens; default: nowhere. */
  live?: LiveRunOptions | null | undefined;
  /** A named entry of tacho.yaml; default where no agent is named: the file's default target. */
  target?: string | undefined;
  /** How often the agent is run again when the model API failed or it stopped at once; default: 0. */
  retries?: number | undefined;
  /** Before the first retry; each next one waits twice as long. Default: 2000. */
  retry_wait_ms?: number | undefined;
  /** Whether `say`, `interrupt` and `confirm` may reach the agent, where it can take input while it runs (LP-14). */
  accept_input?: boolean | undefined;
  output_mode?: OutputMode | undefined;
  tui?: boolean | undefined;
  events_path?: string | undefined;
  final_output_path?: string | undefined;
  /** Time and chance as parameters; a fixed clock and seed make the output byte-identical (RE-19). */
  clock?: Clock | undefined;
  random?: RandomSource | undefined;
}

/** Options of a run whose agent is known. */
export type AgentRunOptions = RunOptions & { agent: string };

/** Of `RunOptions`, what has a meaning without a process. */
export type RecordOptions = Pick<
  RunOptions,
  'cwd' | 'model' | 'state_dir' | 'redact' | 'labels' | 'clock' | 'random' | 'env'
> & { agent: string; prompt?: string | undefined };
