/** The locked contract `openagent.run_event.v1`: the envelope is frozen, `data` may only gain keys. */
import { type Static, Type } from 'typebox';
import { Evidence, Nullable, NullableInteger, NullableString, OneOf, Usage } from './parts.ts';
import { CALL_STATUSES, COMPLETENESS_GRADES, DECISIONS, EXIT_REASONS } from './words.ts';

const Cut = { truncated: Type.Boolean(), original_bytes: NullableInteger };
const open = { additionalProperties: true };

/** Declared data keys of each external type (RE-9): always present, null when not known. */
export const RunEventData = {
  run_started: Type.Object(
    {
      agent: Type.String(),
      agent_version: NullableString,
      model: NullableString,
      session_id: NullableString,
      cwd: NullableString,
      fingerprint: NullableString,
    },
    open,
  ),
  step_started: Type.Object(
    {
      step_id: NullableString,
      step_index: Type.Integer(),
      allowed_tools: Nullable(Type.Array(Type.String())),
      enforcement_mode: NullableString,
    },
    open,
  ),
  tool_call_detected: Type.Object(
    {
      tool_call_id: Type.String(),
      tool: Type.String(),
      native_tool: Type.String(),
      parent_tool_call_id: NullableString,
      input_preview: NullableString,
      ...Cut,
    },
    open,
  ),
  tool_decision: Type.Object(
    {
      tool_call_id: Type.String(),
      tool: Type.String(),
      decision: OneOf(DECISIONS),
      reason: NullableString,
      source: NullableString,
    },
    open,
  ),
  tool_exec_started: Type.Object({ tool_call_id: Type.String(), tool: Type.String() }, open),
  tool_exec_finished: Type.Object(
    {
      tool_call_id: Type.String(),
      tool: Type.String(),
      ok: Type.Boolean(),
      status: OneOf(CALL_STATUSES),
      exit_code: NullableInteger,
      duration_ms: NullableInteger,
      content_preview: NullableString,
      ...Cut,
    },
    open,
  ),
  tool_retry: Type.Object(
    {
      tool_call_id: Type.String(),
      tool: Type.String(),
      attempt: Type.Integer(),
      max_retries: NullableInteger,
      failure_class: NullableString,
      action: NullableString,
    },
    open,
  ),
  step_blocked: Type.Object(
    { reason: Type.String(), tool: NullableString, step_id: NullableString },
    open,
  ),
  provider_retry: Type.Object(
    {
      attempt: NullableInteger,
      max_attempts: NullableInteger,
      kind: NullableString,
      status: NullableInteger,
      backoff_ms: NullableInteger,
    },
    open,
  ),
  provider_error: Type.Object(
    {
      kind: NullableString,
      status: NullableInteger,
      retryable: Nullable(Type.Boolean()),
      message_short: Type.String(),
    },
    open,
  ),
  run_finished: Type.Object(
    {
      exit_reason: OneOf(EXIT_REASONS),
      ok: Type.Boolean(),
      final_output: Type.String(),
      error: NullableString,
      session_id: NullableString,
      model: NullableString,
      usage: Nullable(Usage),
      cost_usd: Nullable(Type.Number()),
      duration_ms: NullableInteger,
      tool_calls: Type.Integer(),
      terminal_evidence: Evidence,
      completeness: Type.Object(
        { grade: OneOf(COMPLETENESS_GRADES), gaps: Type.Array(Type.String()) },
        open,
      ),
      agent_exit_code: NullableInteger,
      agent_signal: NullableString,
      ...Cut,
    },
    open,
  ),
  /** Extra type, only with `--stream` (RE-17). */
  model_delta: Type.Object({ text: Type.String(), message_id: NullableString, ...Cut }, open),
} as const;

type Types = keyof typeof RunEventData;

const recordOf = <K extends Types>(type: K) =>
  Type.Object(
    {
      schema_version: Type.Literal('openagent.run_event.v1'),
      sequence: Type.Integer({ minimum: 1 }),
      ts: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
      run_id: Type.String(),
      step: Type.Integer({ minimum: 0 }),
      type: Type.Literal(type),
      data: RunEventData[type],
    },
    { additionalProperties: false },
  );

export const RunEventSchema = Type.Union(
  (Object.keys(RunEventData) as Types[]).map((type) => recordOf(type)),
);

export type RunEventDataOf<K extends Types> = Static<(typeof RunEventData)[K]>;
export type RunEvent = {
  [K in Types]: {
    schema_version: 'openagent.run_event.v1';
    sequence: number;
    ts: string;
    run_id: string;
    step: number;
    type: K;
    data: RunEventDataOf<K>;
  };
}[Types];
