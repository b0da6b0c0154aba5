/**
 * The canonical event: one vocabulary for all agents.
 * Contract: within a run, `seq` counts from 1 without gaps and `at_ms` never decreases; `raw` names the line that the
 * event was decoded from, or is null if tacho itself is the source. Unknown values are null, never omitted.
 */
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
  RunConfig,
  Usage,
} from './parts.ts';
import {
  CALL_STATUSES,
  CHANNELS,
  DECISIONS,
  EXIT_REASONS,
  FILE_OPERATIONS,
  PROBLEM_CODES,
  PROBLEM_STAGES,
} from './words.ts';

/** The raw line: its channel, 1-based number and byte offset; `file` if a channel has several files. */
export const Raw = Type.Object({
  channel: OneOf(CHANNELS),
  line: Count,
  offset: Count,
  file: Type.Optional(Type.String()),
});
/** The raw line that an event was decoded from. */
export type Raw = Static<typeof Raw>;

const Names = Nullable(Type.Array(Type.String()));
const Text = Type.Object({
  message_id: NullableString,
  /** The call that started the sub-agent of this event; null for the root agent. */
  parent_call_id: NullableString,
  text: Type.String(),
});
const CallRef = { call_id: Type.String(), tool: Type.String() };

/** `data` of every kind; kinds are named `<noun>_<past participle>`. */
export const EventData = {
  run_started: Type.Object({
    agent: Type.String(),
    agent_version: NullableString,
    model: NullableString,
    session_id: NullableString,
    cwd: NullableString,
    fingerprint: NullableString,
    prompt: NullableString,
    config: Nullable(RunConfig),
    /** Absent in recordings, and in runs of versions before 0.2. */
    project: Type.Optional(Project),
  }),
  session_started: Type.Object({
    session_id: NullableString,
    model: NullableString,
    agent_version: NullableString,
    cwd: NullableString,
    tools: Names,
    permission_mode: NullableString,
  }),
  step_started: Type.Object({
    step_id: NullableString,
    step_index: Count,
    allowed_tools: Names,
    enforcement_mode: NullableString,
  }),
  step_finished: Type.Object({ step_id: NullableString, reason: NullableString }),
  message_delta: Text,
  message_finished: Type.Object({
    message_id: NullableString,
    parent_call_id: NullableString,
    role: OneOf(['assistant', 'user', 'system'] as const),
    text: Type.String(),
    /** Written by the CLI or a harness, not by the model or the user. */
    synthetic: Type.Boolean(),
    /** Cut off by an interruption. */
    partial: Type.Boolean(),
  }),
  thinking_delta: Text,
  thinking_finished: Text,
  call_requested: Type.Object({
    ...CallRef,
    /** The agent's own id; differs from call_id only if the agent used an id twice. */
    native_call_id: Type.String(),
    native_tool: Type.String(),
    /** The tool-table row that matched: `<agent>:<native name>`, `mcp` or `pass`. */
    row: Type.String(),
    input: Type.Unknown(),
    /** Files that simple read commands in a shell call read (AG-8). */
    reads: Type.Array(Type.String()),
    parent_call_id: NullableString,
  }),
  call_decided: Type.Object({
    ...CallRef,
    decision: OneOf(DECISIONS),
    reason: NullableString,
    source: NullableString,
  }),
  call_started: Type.Object(CallRef),
  call_progress: Type.Object({
    ...CallRef,
    text: NullableString,
    elapsed_ms: NullableInteger,
    stream: NullableString,
  }),
  call_finished: Type.Object({
    ...CallRef,
    ok: Type.Boolean(),
    status: OneOf(CALL_STATUSES),
    exit_code: NullableInteger,
    duration_ms: NullableInteger,
    output: NullableString,
  }),
  /** Facts about a call that arrived after its end (a background command's exit code, the session file). Null: unchanged. */
  call_updated: Type.Object({
    ...CallRef,
    status: Nullable(OneOf(CALL_STATUSES)),
    exit_code: NullableInteger,
  }),
  call_retried: Type.Object({
    ...CallRef,
    attempt: Count,
    max_retries: NullableInteger,
    failure_class: NullableString,
    action: NullableString,
  }),
  step_blocked: Type.Object({
    reason: Type.String(),
    tool: NullableString,
    step_id: NullableString,
  }),
  permission_asked: Type.Object({
    request_id: NullableString,
    call_id: NullableString,
    tool: NullableString,
    reason: NullableString,
  }),
  permission_answered: Type.Object({
    request_id: NullableString,
    call_id: NullableString,
    tool: NullableString,
    decision: OneOf(DECISIONS),
    source: NullableString,
  }),
  file_changed: Type.Object({
    path: Type.String(),
    operation: OneOf(FILE_OPERATIONS),
    call_id: NullableString,
    /** tool: reported by a call; git: seen in the work tree. */
    source: OneOf(['tool', 'git'] as const),
    /** Unified diff, if the agent provides one. */
    diff: NullableString,
    size: NullableInteger,
  }),
  /** A skill that the agent itself reports as used. Uses that appear as calls are derived from the calls. */
  skill_used: Type.Object({ skill: Type.String(), call_id: NullableString }),
  usage_reported: Type.Object({
    /** add: adds to the run's figures; total: replaces them. */
    mode: OneOf(['add', 'total'] as const),
    usage: Usage,
    cost_usd: Nullable(Type.Number()),
    model: NullableString,
    /** The call that started the sub-agent that used it. Absent or null: the root agent, or both. */
    parent_call_id: Type.Optional(NullableString),
  }),
  provider_retried: Type.Object({
    attempt: NullableInteger,
    max_attempts: NullableInteger,
    /** One of PROVIDER_FAILURE_KINDS. Events of earlier versions have the agent's own word, or null. */
    kind: NullableString,
    /** The agent's own word. */
    native_kind: Type.Optional(NullableString),
    status: NullableInteger,
    backoff_ms: NullableInteger,
  }),
  provider_failed: Type.Object({
    kind: NullableString,
    native_kind: Type.Optional(NullableString),
    status: NullableInteger,
    retryable: Nullable(Type.Boolean()),
    message: Type.String(),
  }),
  hook_finished: Type.Object({
    name: Type.String(),
    event: NullableString,
    exit_code: NullableInteger,
    outcome: NullableString,
    output: NullableString,
  }),
  /** A message for people that has no other kind. */
  notice: Type.Object({
    code: Type.String(),
    text: NullableString,
    /** The number of lines, if several were joined. */
    lines: Type.Optional(Type.Integer({ minimum: 1 })),
  }),
  problem: Type.Object({
    stage: OneOf(PROBLEM_STAGES),
    code: OneOf(PROBLEM_CODES),
    detail: Type.String(),
    /** Size of the unreadable input. */
    bytes: NullableInteger,
    /** Hash of the unreadable input, if it is not kept completely. */
    sha256: NullableString,
    /** The unreadable input, or its beginning. */
    excerpt: NullableString,
    /** The number of lines, if a long series was only counted. */
    count: Type.Optional(Type.Integer({ minimum: 1 })),
  }),
  /** The agent's own end record. There may be several; the last one counts. */
  agent_ended: Type.Object({
    exit_reason: OneOf(EXIT_REASONS),
    error: NullableString,
    evidence: Evidence,
  }),
  process_exited: Type.Object({
    exit_code: NullableInteger,
    signal: NullableString,
    /** Why tacho stopped the agent: timeout, SIGINT, SIGTERM, SIGHUP, abort; null if the agent exited on its own. */
    cause: NullableString,
  }),
  run_finished: Type.Object({
    exit_reason: OneOf(EXIT_REASONS),
    ok: Type.Boolean(),
    final_output: Type.String(),
    error: NullableString,
    session_id: NullableString,
    model: NullableString,
    usage: Nullable(Usage),
    cost_usd: Nullable(Type.Number()),
    cost_source: CostOrigin,
    duration_ms: NullableInteger,
    tool_calls: Count,
    steps: Count,
    provider_retries: Count,
    provider_errors: Count,
    terminal_evidence: Evidence,
    completeness: Completeness,
    agent_exit_code: NullableInteger,
    agent_signal: NullableString,
    /** How many secrets were redacted, by kind. */
    redactions: Type.Record(Type.String(), Count),
    /** SHA-256 of the journal bodies of all earlier events of the run; null if nothing was journalled. */
    digest: Nullable(Type.Object({ events: Count, sha256: Type.String() })),
  }),
} as const;

const eventOf = <K extends keyof typeof EventData>(kind: K) =>
  Type.Object({
    v: Type.Literal(1),
    run_id: Type.String(),
    seq: Type.Integer({ minimum: 1 }),
    at_ms: Type.Integer(),
    /** native: the agent's own time; observed: when tacho read it; clamped: raised so that time never decreases. */
    at_source: OneOf(['native', 'observed', 'clamped'] as const),
    step: Count,
    kind: Type.Literal(kind),
    raw: Nullable(Raw),
    data: EventData[kind],
  });

/** The data of every kind of event. */
export type EventData = { [K in keyof typeof EventData]: Static<(typeof EventData)[K]> };
/** A kind of event. */
export type EventKind = keyof EventData;

export const EventSchema = Type.Union(
  (Object.keys(EventData) as EventKind[]).map((kind) => eventOf(kind)),
);

/** The data of one kind of event. */
export type DataOf<K extends EventKind> = EventData[K];
/** The fields of every event, in addition to its kind and data. */
export type EventEnvelope = Omit<Static<ReturnType<typeof eventOf<'notice'>>>, 'data' | 'kind'>;
/** An event of one kind, such as `EventOf<'call_finished'>`. */
export type EventOf<K extends EventKind> = EventEnvelope & { kind: K; data: DataOf<K> };
/** An event of a run. `kind` decides the type of `data`. */
export type Event = { [K in EventKind]: EventOf<K> }[EventKind];
