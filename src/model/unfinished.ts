/**
 * The state of a run that may not be finished, with the evidence for it. Contract: pure. A guess is never presented as a
 * fact: what the evidence does not show is `unknown`.
 */

/**
 * State of an unfinished run. working: a record within the last minute, or an open call of a process that runs.
 * waiting: the turn ended, or a permission was requested. stuck: an open call, and nothing new for five minutes. gone: its
 * process no longer exists. unknown: the evidence shows none of these.
 */
export type RunStateName = 'working' | 'waiting' | 'stuck' | 'gone' | 'unknown';

/** The state of an unfinished run at a time. */
export interface UnfinishedState {
  /** Name of the state. */
  state: RunStateName;
  /** The evidence, as a sentence part: `Bash has no result since 10:32`. */
  reason: string;
  /** Since when it is in this state, in milliseconds since 1970. */
  since_ms: number;
}

/** The facts in the record of a run that show its state. */
export interface Evidence {
  /** When the last bytes were written or the last record was made. */
  last_ms: number;
  /** Whether the last turn ended. */
  ended: boolean;
  /** The first call without an end. */
  call: { tool: string; since_ms: number } | null;
  /** A permission that was requested and not answered. */
  asked: { tool: string | null; since_ms: number } | null;
  /** The agent's working folder. */
  cwd: string | null;
}

/** The facts in the process table about the agent's process. `what`: for people, such as `demo (process 123) runs`. */
export type ProcessEvidence =
  | { is: 'alive'; what: string }
  | { is: 'gone'; what: string }
  | { is: 'unknown' };

const WORKING_MS = 60_000;
const STUCK_MS = 5 * 60_000;

/** Null: the run is finished, because its turn ended and its process is gone. */
export function stateOf(
  evidence: Evidence,
  process: ProcessEvidence,
  now_ms: number,
): UnfinishedState | null {
  const { last_ms, ended, call, asked } = evidence;
  const quiet_ms = now_ms - last_ms;
  if (ended && process.is === 'gone') return null;
  const known = process.is === 'unknown' ? 'it is unknown whether its process runs' : process.what;
  if (ended) return { state: 'waiting', reason: `the turn ended; ${known}`, since_ms: last_ms };
  if (quiet_ms >= WORKING_MS && process.is === 'gone')
    return { state: 'gone', reason: `the turn did not end; ${known}`, since_ms: last_ms };
  if (asked !== null) {
    const what = asked.tool === null ? '' : ` for ${asked.tool}`;
    const reason = `a permission${what} was requested; ${known}`;
    return { state: 'waiting', reason, since_ms: asked.since_ms };
  }
  if (quiet_ms < WORKING_MS)
    return {
      state: 'working',
      reason: 'the last record is less than a minute old',
      since_ms: last_ms,
    };
  if (call !== null && quiet_ms >= STUCK_MS) {
    const reason = `${call.tool} has no result, and nothing was written for over 5 minutes; ${known}`;
    return { state: 'stuck', reason, since_ms: last_ms };
  }
  if (call !== null && process.is === 'alive')
    return { state: 'working', reason: `${call.tool} runs; ${known}`, since_ms: call.since_ms };
  const open = call === null ? 'no call is open' : `${call.tool} has no result`;
  const reason = `${open}, and nothing was written for over a minute; ${known}`;
  return { state: 'unknown', reason, since_ms: last_ms };
}
