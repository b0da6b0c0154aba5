/** RunOutcome: one small object per run, with the same fields whether the run succeeded or not (RO-1). */
import { type Static, Type } from 'typebox';
import {
  Completeness,
  CostOrigin,
  Count,
  Evidence,
  Nullable,
  NullableInteger,
  NullableString,
  OneOf,
  Project,
  Usage,
} from './parts.ts';
import { CALL_STATUSES, EXIT_REASONS, FILE_OPERATIONS, OUTPUT_MODES } from './words.ts';

export const Artifact = Type.Object({
  path: Type.String(),
  operation: OneOf(FILE_OPERATIONS),
  size: Type.Optional(NullableInteger),
  type: Type.Optional(NullableString),
  /** tool: reported by a call; git: seen in the work tree; both: by both. */
  source: Type.Optional(OneOf(['tool', 'git', 'both'] as const)),
});
/** A file that a run created, modified or deleted. */
export type Artifact = Static<typeof Artifact>;

/** `inputs` and `outputs` are omitted from the stored outcome (ST-1). */
export const OutcomeCall = Type.Object({
  id: Type.String(),
  name: Type.String(),
  native_name: Type.String(),
  status: OneOf(CALL_STATUSES),
  exit_code: NullableInteger,
  duration_ms: NullableInteger,
  parent_id: NullableString,
  inputs: Type.Optional(Type.Unknown()),
  outputs: Type.Optional(NullableString),
});
/** A tool call of a run. `name` is the common name of the tool, `native_name` the name that the agent uses. */
export type OutcomeCall = Static<typeof OutcomeCall>;

export const OutcomeSchema = Type.Object({
  schema_version: Type.Literal('tacho.outcome.v1'),
  run_id: Type.String(),
  session_id: NullableString,
  agent: Type.String(),
  agent_version: NullableString,
  success: Type.Boolean(),
  exit_reason: OneOf(EXIT_REASONS),
  terminal_evidence: Evidence,
  completeness: Completeness,
  message: Type.String(),
  error_details: Nullable(
    Type.Object({
      type: Type.Optional(Type.String()),
      message: Type.Optional(Type.String()),
      stack_trace: Type.Optional(Type.String()),
      file_path: Type.Optional(Type.String()),
      line_number: Type.Optional(Type.Integer()),
    }),
  ),
  artifacts: Type.Array(Artifact),
  tool_calls: Type.Array(OutcomeCall),
  skills_used: Type.Array(Type.String()),
  warnings: Type.Array(Type.String()),
  metrics: Type.Object({
    start_time_ms: NullableInteger,
    end_time_ms: NullableInteger,
    duration_ms: NullableInteger,
    tokens_used: NullableInteger,
    tokens: Usage,
    cost: Nullable(Type.Number()),
    cost_source: CostOrigin,
    model_name: NullableString,
    steps: Count,
    provider_retries: Count,
    provider_errors: Count,
    api_calls_count: NullableInteger,
    tool_calls_count: Count,
  }),
  metadata: Type.Object({
    session_id: NullableString,
    attempt_number: Count,
    retry_count: Count,
    phase_total_duration_ms: NullableInteger,
    initial_prompt: NullableString,
    fingerprint: NullableString,
    output_mode: Nullable(OneOf(OUTPUT_MODES)),
    labels: Type.Record(Type.String(), Type.String()),
    /** Absent in records of versions before 0.2. */
    project: Type.Optional(Nullable(Project)),
  }),
});
/** The record of a run in one object. Times are milliseconds, `cost` is in US dollars, null is unknown. */
export type RunOutcome = Static<typeof OutcomeSchema>;
