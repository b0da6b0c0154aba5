/** The locked contract `openagent.run_event.v1`: the envelope is frozen, `data` may only gain keys. */
import { type Static, Type } from 'typebox';
import { Evidence, Nullable, NullableInteger, NullableString, OneOf, Usage } from './parts.ts';
import { CALL_STATUSES, COMPLETENESS_GRADES, DECISIONS, EXIT_REASONS } from './words.ts';

const Cut = { truncated: Type.Boolean(), original_bytes: NullableInteger };
const Open = <T extends Parameters<typeof Type.Object>[0]>(fields: T) =>
  Type.Object(fields, { additionalProperties: true });

/** Declared data keys of each external type (RE-9): always present, null if unknown. */
export const RunEventData = {
  run_started: Open({
    agent: Type.String(),
    agent_version: NullableString,
    model: NullableString,
    session_id: NullableString,
    cwd: NullableString,
    fingerprint: NullableString,
  }),
  step_started: Open({
    step_id: NullableString,
    step_index: Type.Integer(),
    allowed_tools: Nullable(Type.Array(Type.String())),
    enforcement_mode: NullableString,
  }),
  tool_call_detected: Open({
    tool_call_id: Type.String(),
    tool: Type.String(),
    native_tool: Type.String(),
    parent_tool_call_id: NullableString,
    input_preview: NullableString,
    ...Cut,
  }),
  tool_decision: Open({
    tool_call_id: Type.String(),
    tool: Type.String(),
    decision: OneOf(DECISIONS),
    reason: NullableString,
    source: NullableString,
  }),
  tool_exec_started: Open({ tool_call_id: Type.String(), tool: Type.String() }),
  tool_exec_finished: Open({
    tool_call_id: Type.String(),
    tool: Type.String(),
    ok: Type.Boolean(),
    status: OneOf(CALL_STATUSES),
    exit_code: NullableInteger,
    duration_ms: NullableInteger,
    content_preview: NullableString,
    ...Cut,
  }),
  tool_retry: Open({
    tool_call_id: Type.String(),
    tool: Type.String(),
    attempt: Type.Integer(),
    max_retries: NullableInteger,
    failure_class: NullableString,
    action: NullableString,
  }),
  step_blocked: Open({ reason: Type.String(), tool: NullableString, step_id: NullableString }),
  provider_retry: Open({
    attempt: NullableInteger,
    max_attempts: NullableInteger,
    kind: NullableString,
    status: NullableInteger,
    backoff_ms: NullableInteger,
  }),
  provider_error: Open({
    kind: NullableString,
    status: NullableInteger,
    retryable: Nullable(Type.Boolean()),
    message_short: Type.String(),
  }),
  run_finished: Open({
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
    completeness: Open({ grade: OneOf(COMPLETENESS_GRADES), gaps: Type.Array(Type.String()) }),
    agent_exit_code: NullableInteger,
    agent_signal: NullableString,
    ...Cut,
  }),
  /** Extra type, only with `--stream` (RE-17). */
  model_delta: Open({ text: Type.String(), message_id: NullableString, ...Cut }),
} as const;

/** The data of every type of record. */
export type RunEventData = {
  [K in keyof typeof RunEventData]: Static<(typeof RunEventData)[K]>;
};
export type RunEventType = keyof RunEventData;

const recordOf = <K extends RunEventType>(type: K) =>
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
  (Object.keys(RunEventData) as RunEventType[]).map((type) => recordOf(type)),
);

export type RunEventDataOf<K extends RunEventType> = RunEventData[K];
export type RunEvent = {
  [K in RunEventType]: {
    schema_version: 'openagent.run_event.v1';
    sequence: number;
    ts: string;
    run_id: string;
    step: number;
    type: K;
    data: RunEventDataOf<K>;
  };
}[RunEventType];
