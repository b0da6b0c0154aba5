/**
 * The messages of the live protocol, v1: one JSON object per line.
 * Contract: a nullable field may be omitted; unlisted fields are kept and forwarded. Messages from an agent are numbered:
 * `seq` counts the session's messages from 1 without gaps.
 */
import { type Static, Type } from 'typebox';
import {
  EXECUTION_STATUSES,
  LIVE_ROLES,
  type LiveType,
  SESSION_STATUSES,
  SEVERITIES,
  TIME_SOURCES,
} from './live-words.ts';
import { Count, Nullable, OneOf } from './parts.ts';

const Text = Type.String({ minLength: 1 });
const Fields = Type.Record(Type.String(), Type.Unknown());
const Maybe = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) =>
  Type.Optional(Nullable(schema));
const MaybeText = Maybe(Type.String());
const Seq = Type.Integer({ minimum: 1 });
/** Exactly the form `2026-03-03T10:00:00.037Z` (LP-3). */
const Timestamp = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
});
const Trace = Maybe(Type.Object({ traceparent: Text, tracestate: MaybeText }));
const TimeSource = Type.Optional(OneOf(TIME_SOURCES));
const Call = { call_id: Text, time_source: TimeSource };
const Block = { message_id: Text, index: Count, time_source: TimeSource };

/** `data` of every type. */
const LiveData = {
  handshake_request: Type.Object({
    version: Text,
    role: OneOf(LIVE_ROLES),
    client_info: Type.Object({
      name: Text,
      version: Text,
      capabilities: Type.Array(Type.String()),
    }),
    /** A session to resume: an agent's own session, or one that a client has read up to `last_seq`. */
    resume: Maybe(Type.Object({ session_id: Text, last_seq: Count })),
    token: MaybeText,
  }),
  handshake_response: Type.Object({
    success: Type.Boolean(),
    session_id: MaybeText,
    server_info: Type.Object({ name: Text, version: Text, protocol_version: Text }),
    supported_features: Type.Array(Type.String()),
    max_message_bytes: Count,
    heartbeat_interval_ms: Count,
    credits: Count,
    /** The required number of the resumed session's next message; null without `resume`. */
    resume_from_seq: Maybe(Seq),
    error: Maybe(Type.Object({ error_code: Text, message: Text })),
  }),
  session_start: Type.Object({
    agent: Text,
    model: MaybeText,
    cwd: MaybeText,
    parent_session_id: MaybeText,
    labels: Maybe(Fields),
    time_source: TimeSource,
  }),
  session_end: Type.Object({
    status: Text,
    reason: MaybeText,
    totals: Maybe(Fields),
    time_source: TimeSource,
  }),
  tool_call_request: Type.Object({
    ...Call,
    name: Text,
    native_name: MaybeText,
    args: Fields,
    is_client_initiated: Type.Boolean(),
  }),
  tool_call_confirmation: Type.Object({ ...Call, request: Fields, prompt: Text }),
  tool_confirmation_response: Type.Object({
    call_id: Text,
    confirmed: Type.Boolean(),
    message: MaybeText,
  }),
  tool_execution_status: Type.Object({
    ...Call,
    status: OneOf(EXECUTION_STATUSES),
    progress: Maybe(Fields),
    details: Maybe(Fields),
  }),
  /** Exactly one of `result` and `error` is not null; this is checked in addition to the schema. */
  tool_call_response: Type.Object({
    ...Call,
    result: Type.Optional(Type.Unknown()),
    error: Maybe(Fields),
    execution_time_ms: Maybe(Type.Number({ minimum: 0 })),
  }),
  message_start: Type.Object({
    message: Type.Object({ id: Text, role: Text, model: MaybeText }),
    time_source: TimeSource,
  }),
  content_block_start: Type.Object({ ...Block, content_type: Text }),
  content_block_delta: Type.Object({ ...Block, delta: Type.Union([Fields, Type.String()]) }),
  content_block_stop: Type.Object(Block),
  message_stop: Type.Object({ message_id: MaybeText, time_source: TimeSource }),
  user_input: Type.Object({ content: Text, input_type: MaybeText }),
  interrupt: Type.Object({ reason: MaybeText }),
  session_state: Type.Object({
    status: OneOf(SESSION_STATUSES),
    open_calls: Type.Array(Type.String()),
    last_seq: Count,
    counters: Fields,
    time_source: TimeSource,
  }),
  subscribe_events: Type.Object({
    filter: Maybe(
      Type.Object({
        session_ids: Maybe(Type.Array(Text)),
        types: Maybe(Type.Array(Text)),
        /** The first sequence number to read from every session; null: only new messages. */
        from_seq: Maybe(Count),
      }),
    ),
  }),
  unsubscribe_events: Type.Object({ filter: Maybe(Fields) }),
  ack: Type.Object({
    acked: Type.Array(Type.Object({ session_id: Text, seq: Count })),
    durable: Type.Boolean(),
  }),
  flow_control: Type.Object({ available_credits: Count, capacity: Count }),
  heartbeat: Type.Object({}),
  error: Type.Object({
    error_code: Text,
    message: Text,
    details: Maybe(Fields),
    severity: OneOf(SEVERITIES),
    retriable: Type.Boolean(),
    /** The message that caused the error. */
    caused_by: Maybe(
      Type.Object({ correlation_id: MaybeText, message_id: MaybeText, seq: Maybe(Count) }),
    ),
  }),
} as const;

/** The envelope around `data`, by sender. */
const AGENT = { session_id: Text, message_id: Text, seq: Seq };
const AGENT_CALL = { ...AGENT, correlation_id: Text };
const AGENT_OTHER = { ...AGENT, correlation_id: MaybeText };
const CLIENT = { session_id: Text, message_id: Text, seq: Maybe(Count), correlation_id: MaybeText };
const CONTROL = {
  session_id: MaybeText,
  message_id: MaybeText,
  seq: Maybe(Count),
  correlation_id: MaybeText,
};

const LIVE_ENVELOPES = {
  session_start: AGENT_OTHER,
  session_end: AGENT_OTHER,
  tool_call_request: AGENT_CALL,
  tool_call_confirmation: AGENT_CALL,
  tool_execution_status: AGENT_CALL,
  tool_call_response: AGENT_CALL,
  message_start: AGENT_OTHER,
  content_block_start: AGENT_OTHER,
  content_block_delta: AGENT_OTHER,
  content_block_stop: AGENT_OTHER,
  message_stop: AGENT_OTHER,
  /** Absent in the collector's own messages. */
  session_state: { ...AGENT_OTHER, seq: Maybe(Count) },
  tool_confirmation_response: { ...CLIENT, correlation_id: Text },
  user_input: CLIENT,
  interrupt: CLIENT,
  handshake_request: CONTROL,
  handshake_response: CONTROL,
  subscribe_events: CONTROL,
  unsubscribe_events: CONTROL,
  ack: CONTROL,
  flow_control: CONTROL,
  heartbeat: { ...CONTROL, data: Maybe(Type.Object({})) },
  error: CONTROL,
} as const satisfies Record<LiveType, object>;

const liveOf = <T extends LiveType>(type: T) =>
  Type.Object({
    type: Type.Literal(type),
    timestamp: Timestamp,
    ack_required: Maybe(Type.Boolean()),
    trace: Trace,
    data: LiveData[type],
    ...LIVE_ENVELOPES[type],
  });

/** By type: each message is checked against the schema of its type. */
export const LiveSchemas = Object.fromEntries(
  (Object.keys(LiveData) as LiveType[]).map((type) => [type, liveOf(type)]),
) as { [T in LiveType]: ReturnType<typeof liveOf<T>> };

export const LiveSchema = Type.Union(Object.values(LiveSchemas));

/** The data of every type of message. */
export type LiveData = { [T in LiveType]: Static<(typeof LiveData)[T]> };
export type LiveDataOf<T extends LiveType> = LiveData[T];

/** A message as tacho writes it: with all fields. */
export interface LiveMessage<T extends LiveType = LiveType> {
  type: T;
  timestamp: string;
  session_id: string | null;
  correlation_id: string | null;
  message_id: string;
  seq: number | null;
  ack_required: boolean;
  trace: { traceparent: string; tracestate?: string | null } | null;
  data: LiveDataOf<T>;
}

/** A valid message of a known type. Fields that the sender omitted are undefined. */
export type WireMessage = Pick<LiveMessage, 'type' | 'timestamp'> & {
  [K in Exclude<keyof LiveMessage, 'type' | 'timestamp' | 'data'>]?: LiveMessage[K] | null;
} & { data: Record<string, unknown> };
