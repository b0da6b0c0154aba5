/**
 * Canonical events → `openagent.run_event.v1` records (RE-4, RE-8 to RE-10, RE-13, RE-17).
 * Contract: one record per mapped event, in order, `sequence` from 1 without a gap; every string is well-formed and
 * within CONTENT_PREVIEW_MAX_BYTES.
 */
import { writableTime } from '../lib/iso-time.ts';
import { own } from '../lib/own.ts';
import { pick } from '../lib/pick.ts';
import { cutUtf8, utf8Bytes, wellFormed } from '../lib/utf8.ts';
import type { DataOf, Event, EventOf } from '../model/event.ts';
import type { Completeness } from '../model/parts.ts';
import type { RunEvent, RunEventDataOf } from '../model/run-event.ts';
import { CONTENT_PREVIEW_MAX_BYTES, RUN_EVENT_SCHEMA } from '../model/words.ts';

type ExternalType = RunEvent['type'];
/** A record's data before its strings are cut; cutting sets `truncated` and `original_bytes`. */
type Uncut<K extends ExternalType> = Omit<RunEventDataOf<K>, 'truncated' | 'original_bytes'>;
type Projected = { [K in ExternalType]: { type: K; data: Uncut<K> } }[ExternalType];
type Table = { [K in Event['kind']]?: (event: EventOf<K>) => Projected };

/** Types with `truncated` and `original_bytes` in their contract; other types have these keys only when cut. */
const DECLARES_CUT: ReadonlySet<ExternalType> = new Set([
  'tool_call_detected',
  'tool_exec_finished',
  'run_finished',
  'model_delta',
]);

/** An additional key: the started program with the requested leading arguments, when known. */
function commandOf(config: DataOf<'run_started'>['config']): { command?: string[] } {
  const { program, command = [] } = config ?? {};
  return program === undefined ? {} : { command: [program, ...command.slice(1)] };
}

/** The only mapping from internal kinds to external types; other kinds are ignored (RE-8). */
const TABLE: Table = {
  run_started: ({ data }) => ({
    type: 'run_started',
    data: {
      ...pick(data, 'agent', 'agent_version', 'model', 'session_id', 'cwd', 'fingerprint'),
      ...commandOf(data.config),
    },
  }),
  step_started: ({ data }) => ({
    type: 'step_started',
    data: pick(data, 'step_id', 'step_index', 'allowed_tools', 'enforcement_mode'),
  }),
  call_requested: ({ data }) => ({
    type: 'tool_call_detected',
    data: {
      tool_call_id: data.call_id,
      ...pick(data, 'tool', 'native_tool'),
      parent_tool_call_id: data.parent_call_id,
      input_preview: jsonText(data.input),
    },
  }),
  call_decided: ({ data }) => ({
    type: 'tool_decision',
    data: { tool_call_id: data.call_id, ...pick(data, 'tool', 'decision', 'reason', 'source') },
  }),
  call_started: ({ data }) => ({
    type: 'tool_exec_started',
    data: { tool_call_id: data.call_id, tool: data.tool },
  }),
  call_finished: ({ data }) => ({
    type: 'tool_exec_finished',
    data: {
      tool_call_id: data.call_id,
      ...pick(data, 'tool', 'ok', 'status', 'exit_code', 'duration_ms'),
      content_preview: data.output,
    },
  }),
  call_retried: ({ data }) => ({
    type: 'tool_retry',
    data: {
      tool_call_id: data.call_id,
      ...pick(data, 'tool', 'attempt', 'max_retries', 'failure_class', 'action'),
    },
  }),
  step_blocked: ({ data }) => ({
    type: 'step_blocked',
    data: pick(data, 'reason', 'tool', 'step_id'),
  }),
  provider_retried: ({ data }) => ({
    type: 'provider_retry',
    data: pick(data, 'attempt', 'max_attempts', 'kind', 'status', 'backoff_ms'),
  }),
  provider_failed: ({ data }) => ({
    type: 'provider_error',
    data: { ...pick(data, 'kind', 'status', 'retryable'), message_short: data.message },
  }),
  run_finished: ({ data }) => ({
    type: 'run_finished',
    data: {
      ...pick(data, 'exit_reason', 'ok', 'final_output', 'error', 'session_id', 'model', 'usage'),
      ...pick(data, 'cost_usd', 'duration_ms', 'tool_calls', 'terminal_evidence', 'completeness'),
      ...pick(data, 'agent_exit_code', 'agent_signal'),
    },
  }),
  message_delta: ({ data }) => ({
    type: 'model_delta',
    data: { text: data.text, message_id: data.message_id },
  }),
};

/** `project` returns the external record of an event; null if the contract has none. */
export function createRunEventProjection(options: { stream: boolean }) {
  let sequence = 0;
  return {
    project(event: Event): RunEvent | null {
      if (event.kind === 'message_delta') {
        const { text, parent_call_id } = event.data;
        if (!options.stream || parent_call_id !== null || text === '') return null;
      }
      // The table pairs each kind with its own event type; the union of rows cannot show that to the compiler.
      const row = own(TABLE, event.kind) as ((event: Event) => Projected) | undefined;
      if (row === undefined) return null;
      sequence += 1;
      return record(row(event), { sequence, at_ms: event.at_ms, event });
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

/** One line of output: the seven keys in order, valid UTF-8. The output stream escapes further characters (RE-3). */
export function serialiseRunEvent(record: RunEvent): string {
  const { schema_version, sequence, ts, run_id, step, type, data } = record;
  const ordered = { schema_version, sequence, ts, run_id, step, type, data };
  let line = JSON.stringify(ordered);
  // JSON.stringify escapes a lone surrogate, and a reader would turn it into a lone surrogate again.
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
    ts: new Date(writableTime(at.at_ms)).toISOString(),
    run_id: at.event.run_id,
    step: at.event.step,
    type,
    data: { ...cut, ...mark },
  } as RunEvent;
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
