/** The closed vocabularies of tacho, as plain data: importing this file loads no schema library. */

export const RUN_EVENT_SCHEMA = 'openagent.run_event.v1';
export const OUTCOME_SCHEMA = 'tacho.outcome.v1';
export const TRANSCRIPT_SCHEMA = 'tacho.transcript.v1';
export const COMPARISON_SCHEMA = 'tacho.comparison.v1';
export const AUDIT_SCHEMA = 'tacho.audit.v1';

/** The source of a run's events in the journal. */
export const CAPTURE_SOURCE = 'capture';
/**
 * The journal source of provisional ends. Each end is a group of entries with one event each; `run_finished` is the last
 * of a group. The events are numbered after the last event of the capture.
 */
export const CLOSING_SOURCE = 'closing';

/** Labels that record the origin of a run: the session file it was imported from, or the eval test that started it. */
export const IMPORTED_FILE_LABEL = 'imported';
/** The label with the digest that the id of an imported run is derived from: of the session, not of its content. */
export const IMPORTED_SHA256_LABEL = 'imported_sha256';
export const EVAL_TEST_LABEL = 'eval_test';
/** The label of a run that was stored without texts, inputs and outputs (`watch.metadata_only`). */
export const METADATA_ONLY_LABEL = 'metadata_only';

/** Maximum bytes of a string in a run-event's data (RE-10). */
export const CONTENT_PREVIEW_MAX_BYTES = 4096;

/** AG-6. MCP calls are `mcp__<server>__<tool>`; other names pass through unchanged. */
export const CANONICAL_TOOLS = [
  'Read',
  'Write',
  'Edit',
  'Bash',
  'Grep',
  'Glob',
  'LS',
  'WebFetch',
  'WebSearch',
  'Task',
  'Skill',
  'TodoWrite',
  'AskUser',
] as const;

export const CALL_STATUSES = ['ok', 'error', 'denied', 'timeout', 'cancelled', 'unknown'] as const;
export const DECISIONS = ['allow', 'deny', 'require_approval'] as const;
export const TERMINAL_EVIDENCES = ['native_result', 'inferred', 'process_exit', 'none'] as const;
export const COMPLETENESS_GRADES = ['complete', 'partial', 'unavailable'] as const;
export const COST_SOURCES = ['agent', 'computed', 'unknown'] as const;
export const FILE_OPERATIONS = ['created', 'modified', 'deleted'] as const;
export const OUTPUT_MODES = ['human', 'json'] as const;
export const APPROVE_MODES = ['default', 'edits', 'all'] as const;
/** Conditions of `--fail-on`. */
export const FAIL_ON = ['denied', 'failed-call', 'incomplete'] as const;
/** How a call of one run relates to the calls of another. */
export const CALL_MARKS = ['equal', 'changed', 'moved', 'added', 'removed'] as const;
/** How bad a finding of the audit may be, worst first. */
export const AUDIT_SEVERITIES = ['high', 'medium', 'low', 'info'] as const;
export const AUDIT_CATEGORIES = [
  'destructive',
  'secret',
  'network',
  'outside',
  'denial',
  'custom',
] as const;
/** Whether a call with a finding was carried out. */
export const AUDIT_STATUSES = ['ran', 'failed', 'denied', 'unknown'] as const;
export const CHANNELS = ['stdout', 'stderr', 'session'] as const;

/** Kinds of provider failures, with the same meaning for every agent. */
export const PROVIDER_FAILURE_KINDS = [
  'rate_limit',
  'overloaded',
  'auth',
  'invalid_request',
  'not_found',
  'timeout',
  'network',
  'server',
  'unknown',
] as const;

export const EXIT_REASONS = [
  'ok',
  'agent_error',
  'incomplete',
  'provider_error',
  'denied',
  'approval_required',
  'max_steps',
  'budget_exceeded',
  'pre_run_error',
  'capture_error',
  'timeout',
  'cancelled',
] as const;

export const RUN_EVENT_TYPES = [
  'run_started',
  'step_started',
  'tool_call_detected',
  'tool_decision',
  'tool_exec_started',
  'tool_exec_finished',
  'tool_retry',
  'step_blocked',
  'provider_retry',
  'provider_error',
  'run_finished',
] as const;

/** The stage that detected a problem. */
export const PROBLEM_STAGES = [
  'frame',
  'decode',
  'normalise',
  'correlate',
  'reconcile',
  'store',
  'process',
] as const;

/** The closed set of problem codes. A code that means lost information is a gap in the run's completeness. */
export const PROBLEM_CODES = [
  'not_json',
  'oversize_line',
  'torn_line',
  'too_deep',
  'invalid_utf8',
  'salvaged_line',
  'unknown_record',
  'bad_record',
  'decoder_fault',
  'orphan_result',
  'duplicate_result',
  'unfinished_call',
  'clock_went_back',
  'exit_contradicts_result',
  'contradiction',
  'processes_left',
  'no_end_record',
  'store_failed',
  'recovered',
  'truncated_value',
  'lossy_number',
  'limit_unwatched',
  'spool_truncated',
  'spool_overwritten',
  'drain_failed',
  'output_refused',
  'worktree_unread',
  'spool_unusable',
  'events_over_limit',
  'view_failed',
  'figure_invalid',
  'history_rewritten',
] as const;

/** How a tool call ended. */
export type CallStatus = (typeof CALL_STATUSES)[number];
export type Decision = (typeof DECISIONS)[number];
export type TerminalEvidence = (typeof TERMINAL_EVIDENCES)[number];
export type FileOperation = (typeof FILE_OPERATIONS)[number];
export type OutputMode = (typeof OUTPUT_MODES)[number];
/** Actions that an agent may take without asking: the default of its CLI, edits of files, or all. */
export type ApproveMode = (typeof APPROVE_MODES)[number];
/** A condition that fails a run that ended well: a denied call, a failed call, or an incomplete record. */
export type FailOn = (typeof FAIL_ON)[number];
export type CallMark = (typeof CALL_MARKS)[number];
/** How bad a finding may be. */
export type AuditSeverity = (typeof AUDIT_SEVERITIES)[number];
/** Kinds of findings. */
export type AuditCategory = (typeof AUDIT_CATEGORIES)[number];
export type AuditStatus = (typeof AUDIT_STATUSES)[number];
export type Channel = (typeof CHANNELS)[number];
/** Where the cost of a run comes from: the agent's own report, or tacho's list of prices. */
export type CostSource = (typeof COST_SOURCES)[number];
/** Why a run ended; `ok` if the agent finished its work. */
export type ExitReason = (typeof EXIT_REASONS)[number];
export type ProviderFailureKind = (typeof PROVIDER_FAILURE_KINDS)[number];
export type ProblemStage = (typeof PROBLEM_STAGES)[number];
export type ProblemCode = (typeof PROBLEM_CODES)[number];
