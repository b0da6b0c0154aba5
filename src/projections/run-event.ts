/**
 * Canonical events → `openagent.run_event.v1` records (RE-4, RE-8 to RE-10, RE-13, RE-17).
 * Contract: one record per mapped event, in order, `sequence` from 1 without a gap; every string is well-formed and
 * within CONTENT_PREVIEW_MAX_BYTES.
 */
import { cutUtf8, utf8Bytes, wellFormed } from '../lib/utf8.ts';
import type { DataOf, Event, EventOf } from '../model/event.ts';
import type { Completeness } from '../model/parts.ts';
import type { RunEvent, RunEventDataOf } from '../model/run-event.ts';
import { CONTENT_PREVIEW_MAX_BYTES, RUN_EVENT_SCHEMA } from '../model/words.ts';

type ExternalType = RunEvent['type'];
/** A record's data before its strings are cut; the cut is what fills `truncated` and `original_bytes`. */
type Uncut<K extends ExternalType> = Omit<RunEventDataOf<K>, 'truncated' | 'original_bytes'>;
type Projected = { [K in ExternalType]: { type: K; data: Uncut<K> } }[ExternalType];
type Table = { [K in Event['kind']]?: (event: EventOf<K>) => Projected };

/** Types whose contract declares `truncated` and `original_bytes`; the others get the keys only when cut. */
const DECLARES_CUT: ReadonlySet<ExternalType> = new Set([
  'tool_call_detected',
  'tool_exec_finished',
  'run_finished',
  'model_delta',
]);

/** The last moment that RFC 3339 can write with four digits of year. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Beyond the declared keys: the program that was started, with the leading arguments that were asked for, where known. */
function commandOf(config: DataOf<'run_started'>['config']): { command?: string[] } {
  const { program, command = [] } = config ?? {};
  return program === undefined ? {} : { command: [program, ...command.slice(1)] };
}

/** The one mapping from internal kinds to external types; kinds that are not in it are ignored (RE-8). */
const TABLE: Table = {
  run_started: ({ data }) => ({
    type: 'run_started',
    data: {
      agent: data.agent,
      agent_version: data.agent_version,
      model: data.model,
      session_id: data.session_id,
      cwd: data.cwd,
      fingerprint: data.fingerprint,
      ...commandOf(data.config),
    },
  }),
  step_started: ({ data }) => ({
    type: 'step_started',
    data: {
      step_id: data.step_id,
      step_index: data.step_index,
      allowed_tools: data.allowed_tools,
      enforcement_mode: data.enforcement_mode,
    },
  }),
  call_requested: ({ data }) => ({
    type: 'tool_call_detected',
    data: {
      tool_call_id: data.call_id,
      tool: data.tool,
      native_tool: data.native_tool,
      parent_tool_call_id: data.parent_call_id,
      input_preview: jsonText(data.input),
    },
  }),
  call_decided: ({ data }) => ({
    type: 'tool_decision',
    data: {
      tool_call_id: data.call_id,
      tool: data.tool,
      decision: data.decision,
      reason: data.reason,
      source: data.source,
    },
  }),
  call_started: ({ data }) => ({
    type: 'tool_exec_started',
    data: { tool_call_id: data.call_id, tool: data.tool },
  }),
  call_finished: ({ data }) => ({
    type: 'tool_exec_finished',
    data: {
      tool_call_id: data.call_id,
      tool: data.tool,
      ok: data.ok,
      status: data.status,
      exit_code: data.exit_code,
      duration_ms: data.duration_ms,
      content_preview: data.output,
    },
  }),
  call_retried: ({ data }) => ({
    type: 'tool_retry',
    data: {
      tool_call_id: data.call_id,
      tool: data.tool,
      attempt: data.attempt,
      max_retries: data.max_retries,
      failure_class: data.failure_class,
      action: data.action,
    },
  }),
  step_blocked: ({ data }) => ({
    type: 'step_blocked',
    data: { reason: data.reason, tool: data.tool, step_id: data.step_id },
  }),
  provider_retried: ({ data }) => ({
    type: 'provider_retry',
    data: {
      attempt: data.attempt,
      max_attempts: data.max_attempts,
      kind: data.kind,
      status: data.status,
      backoff_ms: data.backoff_ms,
    },
  }),
  provider_failed: ({ data }) => ({
    type: 'provider_error',
    data: {
      kind: data.kind,
      status: data.status,
      retryable: data.retryable,
      message_short: data.message,
    },
  }),
  run_finished: ({ data }) => ({
    type: 'run_finished',
    data: {
      exit_reason: data.exit_reason,
      ok: data.ok,
      final_output: data.final_output,
      error: data.error,
      session_id: data.session_id,
      model: data.model,
      usage: data.usage,
      cost_usd: data.cost_usd,
      duration_ms: data.duration_ms,
      tool_calls: data.tool_calls,
      terminal_evidence: data.terminal_evidence,
      completeness: data.completeness,
      agent_exit_code: data.agent_exit_code,
      agent_signal: data.agent_signal,
    },
  }),
  message_delta: ({ data }) => ({
    type: 'model_delta',
    data: { text: data.text, message_id: data.message_id },
  }),
};

export interface RunEventProjection {
  /** The external record of an event; null where the contract has none. */
  project(event: Event): RunEvent | null;
}

export function createRunEventProjection(options: { stream: boolean }): RunEventProjection {
  let sequence = 0;
  return {
    project(event) {
      if (event.kind === 'message_delta') {
        const { text, parent_call_id } = event.data;
        if (!options.stream || parent_call_id !== null || text === '') return null;
      }
      const row = Object.hasOwn(TABLE, event.kind) ? TABLE[event.kind] : undefined;
      if (row === undefined) return null;
      sequence += 1;
      // The table pairs each kind with its own event type; the union of rows cannot show that to the compiler.
      const projected = (row as (event: Event) => Projected)(event);
      return record(projected, { sequence, at_ms: event.at_ms, event });
    },
  };
}

/** The only record of a failure that happened before a run id existed (RE-13). */
export function preRunFinished(error: string, at_ms: number): RunEvent {
  const completeness: Completeness = { grade: 'unavailable', gaps: ['not_started'], filled: [] };
  const data: Uncut<'run_finished'> = {
    exit_reason: 'pre_run_error',
    ok: false,
    final_output: '',
    error,
    session_id: null,
    model: null,
    usage: null,
    cost_usd: null,
    duration_ms: null,
    tool_calls: 0,
    terminal_evidence: 'none',
    completeness,
    agent_exit_code: null,
    agent_signal: null,
  };
  const event = { run_id: '', step: 0 };
  return record({ type: 'run_finished', data }, { sequence: 1, at_ms, event });
}

/** One line of output: the seven keys in order, valid UTF-8. The output stream escapes what JSON itself does not (RE-3). */
export function serialiseRunEvent(record: RunEvent): string {
  const { schema_version, sequence, ts, run_id, step, type, data } = record;
  const ordered = { schema_version, sequence, ts, run_id, step, type, data };
  let line = JSON.stringify(ordered);
  // JSON.stringify writes a lone surrogate as an escape, which a reader would turn into a lone surrogate again.
  if (/\\ud[89a-f]/.test(line)) line = JSON.stringify(mapStrings(ordered, wellFormed));
  return `${line}\n`;
}

function record(
  { type, data }: Projected,
  at: { sequence: number; at_ms: number; event: { run_id: string; step: number } },
): RunEvent {
  let longest: number | null = null;
  const cut = mapStrings(data, (text) => {
    const whole = wellFormed(text);
    const kept = cutUtf8(whole, CONTENT_PREVIEW_MAX_BYTES);
    if (kept.length < whole.length) longest = Math.max(longest ?? 0, utf8Bytes(whole));
    return kept;
  });
  const mark =
    longest !== null || DECLARES_CUT.has(type)
      ? { truncated: longest !== null, original_bytes: longest }
      : {};
  return {
    schema_version: RUN_EVENT_SCHEMA,
    sequence: at.sequence,
    ts: timestamp(at.at_ms),
    run_id: at.event.run_id,
    step: at.event.step,
    type,
    data: { ...cut, ...mark },
  } as RunEvent;
}

function timestamp(at_ms: number): string {
  const safe = Number.isFinite(at_ms) ? Math.min(Math.max(at_ms, 0), LAST_MS) : 0;
  return new Date(safe).toISOString();
}

function jsonText(input: unknown): string | null {
  return input === null || input === undefined ? null : (JSON.stringify(input) ?? null);
}

/** A copy of plain data with every string and every key passed through `change`. */
function mapStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change)) as T;
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, item]) => [
    change(key),
    mapStrings(item, change),
  ]);
  return Object.fromEntries(entries) as T;
}
