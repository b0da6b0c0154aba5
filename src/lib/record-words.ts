/** The codes in records as plain words, for people. Records keep the codes. */
import type { Completeness } from '../model/parts.ts';
import type { ExitReason, ProblemCode, TerminalEvidence } from '../model/words.ts';
import { plural } from './figures.ts';
import { own } from './own.ts';

type GapCode = ProblemCode | 'usage_unknown' | 'not_finished' | 'journal_entries_left_out';

const GAPS: Record<GapCode, string | ((count: number) => string)> = {
  no_end_record: 'no end record',
  usage_unknown: 'tokens unknown',
  not_finished: 'the run has not finished',
  journal_entries_left_out: (count) =>
    `${plural(count, 'damaged journal entry', 'damaged journal entries')} left out`,
  not_json: (count) => `${plural(count, 'line')} that are not JSON`,
  oversize_line: (count) => `${plural(count, 'line')} over the size limit`,
  torn_line: (count) => plural(count, 'torn line'),
  too_deep: (count) => `${plural(count, 'line')} nested too deeply`,
  invalid_utf8: (count) => `${plural(count, 'line')} with invalid UTF-8`,
  salvaged_line: (count) => `${plural(count, 'line')} read only in part`,
  unknown_record: (count) => plural(count, 'unknown record'),
  bad_record: (count) => `${plural(count, 'record')} in an unexpected format`,
  decoder_fault: (count) => `${plural(count, 'record')} that tacho failed to read`,
  orphan_result: (count) => `${plural(count, 'result')} without a call`,
  duplicate_result: (count) => `${plural(count, 'call')} with a second result`,
  unfinished_call: (count) => plural(count, 'unfinished call'),
  exit_contradicts_result: 'the exit code contradicts the end record',
  contradiction: (count) => `${plural(count, 'contradiction')} between stream and session file`,
  store_failed: 'a part could not be stored',
  recovered: 'recovered after tacho was killed',
  truncated_value: (count) => `${plural(count, 'value')} truncated to the size limit`,
  lossy_number: (count) => `${plural(count, 'number')} without an exact value`,
  spool_truncated: 'the raw output was truncated',
  spool_overwritten: 'the raw output was overwritten',
  drain_failed: 'the raw output could not be read to its end',
  worktree_unread: 'the work tree could not be read',
  spool_unusable: 'the raw output could not be used',
  events_over_limit: 'more events than the limit',
  clock_went_back: 'the clock went back',
  processes_left: 'processes were left running',
  limit_unwatched: 'a limit could not be checked',
  output_refused: 'output was not accepted',
  view_failed: 'an output failed',
  history_rewritten: 'the agent rewrote its session file',
  figure_invalid: (count) => `${plural(count, 'figure')} out of range`,
};

/** One gap: `unfinished_call:2` → `2 unfinished calls`. An unknown code, from another version, is shown as it is. */
export function gapText(gap: string): string {
  const [, code = gap, count = '1'] = /^([a-z_0-9]+?)(?::(\d+))?$/.exec(gap) ?? [];
  const words = own(GAPS, code);
  if (words === undefined) return gap.replaceAll('_', ' ');
  return typeof words === 'string' ? words : words(Number(count));
}

/** The gaps of an incomplete record: `no end record, 1 unfinished call`. */
export const gapsText = ({ gaps }: Completeness): string => gaps.map(gapText).join(', ');

/** How complete the record of the run is. */
export function recordText(completeness: Completeness): string {
  const { grade, gaps } = completeness;
  if (grade === 'complete') return 'record complete';
  // The run itself is recorded completely.
  if (gaps.length === 1 && gaps[0] === 'usage_unknown')
    return 'record complete, without token figures';
  const named = gaps.length === 0 ? '' : `: ${gapsText(completeness)}`;
  return `${grade === 'unavailable' ? 'record empty' : 'record incomplete'}${named}`;
}

const RESULTS: Record<ExitReason, string> = {
  ok: 'ok',
  agent_error: 'the agent failed',
  incomplete: 'the agent ended without a result',
  provider_error: 'the model provider failed',
  denied: 'a permission was denied',
  approval_required: 'an approval was required',
  max_steps: 'the agent reached its step limit',
  budget_exceeded: 'the run exceeded one of its limits',
  pre_run_error: 'the run did not start',
  capture_error: 'tacho could not record the run',
  timeout: 'the run reached its time limit',
  cancelled: 'the run was cancelled',
};

const EVIDENCE: Record<TerminalEvidence, string> = {
  native_result: "from the agent's end record",
  inferred: "inferred from the agent's output",
  process_exit: "from the exit of the agent's process",
  none: 'the record has no end',
};

/** `agent_error: the agent failed`. */
export function resultText(reason: ExitReason): string {
  const words = own(RESULTS, reason) ?? '';
  return words === '' || words === reason ? reason : `${reason}: ${words}`;
}

export function evidenceText(evidence: TerminalEvidence): string {
  return own(EVIDENCE, evidence) ?? evidence;
}
