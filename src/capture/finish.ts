/**
 * How a run ended, decided by evidence in this order: tacho's own reason, the agent's end record, the process's end
 * (AG-11).
 */

import type { Agent } from '../model/agent.ts';
import type { DraftOf } from '../model/draft.ts';
import type { DataOf } from '../model/event.ts';
import type { Completeness } from '../model/parts.ts';
import type { ExitReason, ProblemCode, TerminalEvidence } from '../model/words.ts';
import { problem } from './decode.ts';
import { CAPTURE_LIMITS } from './limits.ts';
import type { RunState } from './run-state.ts';

/** Why tacho itself ended the run, or could not record it. */
export interface Ending {
  /** `timeout`, `limit`, the name of a signal, or `abort`. Null if the agent ended by itself. */
  cause: string | null;
  /** The limit that the run exceeded, as text, or null. */
  limit: string | null;
  /** How long the run took by a monotonic clock. Null if unknown. */
  elapsed_ms?: number | null;
  /** Why tacho could not record the run, or null. */
  capture_error: string | null;
}

export const QUIET_ENDING: Ending = { cause: null, limit: null, capture_error: null };

export interface Exit {
  exit_code: number | null;
  signal: string | null;
}

interface Verdict {
  exit_reason: ExitReason;
  error: string | null;
  evidence: TerminalEvidence;
}

/** Problems that lose no information. */
const NO_GAP = new Set<ProblemCode>([
  'clock_went_back',
  'processes_left',
  'limit_unwatched',
  'output_refused',
  'view_failed',
]);

function decide(state: RunState, ending: Ending): Verdict {
  const { ended, exited } = state;
  const evidence: TerminalEvidence = ended?.evidence ?? (exited === null ? 'none' : 'process_exit');
  if (ending.capture_error !== null)
    return { exit_reason: 'capture_error', error: ending.capture_error, evidence };
  if (ending.cause === 'timeout')
    return { exit_reason: 'timeout', error: timeoutText(state), evidence };
  if (ending.limit !== null && (ending.cause === null || ending.cause === 'limit'))
    return { exit_reason: 'budget_exceeded', error: ending.limit, evidence };
  if (ending.cause !== null)
    return { exit_reason: 'cancelled', error: `cancelled by ${ending.cause}`, evidence };
  // An end record followed by a cut-off line is not the end (AG-14).
  if (ended?.exit_reason === 'ok' && state.torn) {
    const error = 'the stream stopped in the middle of a line, after an end record';
    return { exit_reason: 'incomplete', error, evidence };
  }
  if (ended !== null) return { exit_reason: ended.exit_reason, error: ended.error, evidence };
  return { ...undeclaredEnd(state), evidence };
}

function timeoutText({ started }: RunState): string {
  const timeout_ms = started?.data.config?.timeout_ms ?? null;
  return timeout_ms === null
    ? 'the run reached its time limit'
    : `the run took longer than --timeout ${timeout_ms / 1000}`;
}

function undeclaredEnd(state: RunState): { exit_reason: ExitReason; error: string } {
  const { exited } = state;
  const said = state.stderr_tail.length > 0 ? `: ${state.stderr_tail.join(' / ')}` : '';
  if (exited?.signal)
    return {
      exit_reason: 'incomplete',
      error: `the agent was ended by ${exited.signal} before its end record`,
    };
  // Only a failing exit code, no output: the agent refused to start, so the exit code is its own verdict.
  if (exited?.exit_code && state.step === 0 && state.calls.open.count === 0) {
    return {
      exit_reason: 'agent_error',
      error: `the agent exited with code ${exited.exit_code}${said}`,
    };
  }
  const code = exited?.exit_code == null ? '' : ` (exit code ${exited.exit_code})`;
  return {
    exit_reason: 'incomplete',
    error: `the stream stopped without the agent's end record${code}`,
  };
}

function completeness(state: RunState, agent: Agent): Completeness {
  const gaps = [...state.problems]
    .filter(([code]) => !NO_GAP.has(code))
    .map(([code, count]) => (code === 'no_end_record' ? code : `${code}:${count}`));
  if (state.usage.tokens === null && agent.capabilities.usage !== 'never')
    gaps.push('usage_unknown');
  const nothing =
    state.step === 0 &&
    state.calls.open.count === 0 &&
    state.ended === null &&
    state.text.parts.length === 0;
  return {
    grade: nothing ? 'unavailable' : gaps.length > 0 ? 'partial' : 'complete',
    gaps: gaps.sort(),
    filled: [...state.filled].sort(),
  };
}

/** By a monotonic clock if one process saw the whole run, otherwise by the events' times. */
function durationOf({ started, at_ms }: RunState, { elapsed_ms }: Ending): number | null {
  if (elapsed_ms != null) return Math.round(elapsed_ms);
  return started === null || started.at_ms <= 0 ? null : at_ms - started.at_ms;
}

export function runFinished(state: RunState, agent: Agent, ending: Ending): DataOf<'run_finished'> {
  const { exit_reason, error, evidence } = decide(state, ending);
  const { tokens, cost_usd } = state.usage;
  return {
    exit_reason,
    ok: exit_reason === 'ok',
    final_output: state.text.value,
    error: exit_reason === 'ok' ? null : error,
    session_id: state.session_id,
    model: state.model,
    usage: tokens,
    cost_usd,
    cost_source: cost_usd === null ? 'unknown' : 'agent',
    duration_ms: durationOf(state, ending),
    tool_calls: state.calls.open.count,
    steps: state.step,
    provider_retries: state.provider_retries,
    provider_errors: state.provider_errors,
    terminal_evidence: evidence,
    completeness: completeness(state, agent),
    agent_exit_code: state.exited?.exit_code ?? null,
    agent_signal: state.exited?.signal ?? null,
    redactions: {},
    digest: null,
  };
}

/** Problems for everything that this run lost to the limits of a record. */
export function limitProblems(state: RunState): DraftOf<'problem'>[] {
  const { over_limit, text, problems } = state;
  const found: DraftOf<'problem'>[] = [];
  if (over_limit > 0 && !problems.has('events_over_limit')) {
    const detail = `the run has over ${CAPTURE_LIMITS.run_events_max} events: ${over_limit} later ones were not recorded`;
    found.push(problem('store', 'events_over_limit', detail));
  }
  if (text.missing > 0) {
    const kept = text.chars - text.missing;
    const detail = `the final output has ${text.chars} characters: ${kept} were kept`;
    found.push(problem('store', 'truncated_value', detail));
  }
  return found;
}

/** A missing end record, or one that the end of the process contradicts. `exited`: null if unknown. */
export function endProblems(
  { ended }: RunState,
  agent: Agent,
  ending: Ending,
  exited: Exit | null,
): DraftOf<'problem'>[] {
  const found: DraftOf<'problem'>[] = [];
  if (ended === null && agent.capabilities.end_record === 'live')
    found.push(problem('correlate', 'no_end_record', 'the stream has no end record'));
  const failed = exited !== null && (exited.signal !== null || (exited.exit_code ?? 0) !== 0);
  if (failed && ended?.exit_reason === 'ok' && ending.cause === null) {
    const how = exited.signal ?? `code ${exited.exit_code}`;
    const detail = `the agent says ok, but its process ended with ${how}`;
    found.push(problem('process', 'exit_contradicts_result', detail));
  }
  return found;
}
