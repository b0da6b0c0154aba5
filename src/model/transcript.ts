/** A transcript: one line per run, for reading and grading (TR-1). The format is the same for every agent. */
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
  Usage,
} from './parts.ts';
import { CALL_STATUSES, EXIT_REASONS, TRANSCRIPT_SCHEMA } from './words.ts';

const TRANSCRIPT_ROLES = ['user', 'assistant', 'system'] as const;
const TRANSCRIPT_SOURCES = ['run', 'record', 'import', 'convert', 'eval'] as const;

export const TranscriptCall = Type.Object({
  id: Type.String(),
  /** The canonical name, and the agent's own name. */
  name: Type.String(),
  native_name: Type.String(),
  input: Type.Unknown(),
  /** Null: the agent reported none. */
  output: NullableString,
  status: OneOf(CALL_STATUSES),
  exit_code: NullableInteger,
  /** Files that simple read commands in a Bash call read. */
  reads: Type.Array(Type.String()),
  start_time_ms: NullableInteger,
  end_time_ms: NullableInteger,
  duration_ms: NullableInteger,
});
/** A tool call in a transcript. `name` is the common name of the tool, `native_name` the name that the agent uses. */
export type TranscriptCall = Static<typeof TranscriptCall>;

export const TranscriptMessage = Type.Object({
  index: Count,
  role: OneOf(TRANSCRIPT_ROLES),
  content: Type.String(),
  /** Separate from the message text; null: unknown. */
  thinking: NullableString,
  /** In the order of their requests, each with its result. */
  tool_calls: Type.Array(TranscriptCall),
  step: NullableInteger,
  time_ms: NullableInteger,
  /** The call that started the sub-agent of this message; null for the root agent. */
  parent_tool_call_id: NullableString,
});
/** A message in a transcript, with the calls that it made. */
export type TranscriptMessage = Static<typeof TranscriptMessage>;

export const TranscriptSchema = Type.Object({
  schema_version: Type.Literal(TRANSCRIPT_SCHEMA),
  /** The eval test that started this run. */
  test_id: NullableString,
  run_id: Type.String(),
  session_id: NullableString,
  agent: Type.String(),
  agent_version: NullableString,
  target: NullableString,
  model: NullableString,
  success: Type.Boolean(),
  exit_reason: OneOf(EXIT_REASONS),
  terminal_evidence: Evidence,
  final_output: Type.String(),
  skills_used: Type.Array(Type.String()),
  messages: Type.Array(TranscriptMessage),
  start_time_ms: NullableInteger,
  end_time_ms: NullableInteger,
  duration_ms: NullableInteger,
  steps: Count,
  tool_calls_count: Count,
  token_usage: Usage,
  cost_usd: Nullable(Type.Number()),
  cost_source: CostOrigin,
  completeness: Completeness,
  source: Type.Object({
    kind: OneOf(TRANSCRIPT_SOURCES),
    /** The file that was imported or converted. */
    path: NullableString,
    cwd: NullableString,
  }),
});
/** The conversation of a run. Times are milliseconds, `cost_usd` is in US dollars, null is unknown. */
export type Transcript = Static<typeof TranscriptSchema>;
