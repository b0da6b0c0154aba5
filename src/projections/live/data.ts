/** `data` of live messages, made from the data of events (LP-2: nothing is cut). */

import { checkValue } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { isMap, own } from '../../lib/own.ts';
import { pick } from '../../lib/pick.ts';
import { utf8Bytes } from '../../lib/utf8.ts';
import type { DataOf, EventOf } from '../../model/event.ts';
import type { CallStatus } from '../../model/words.ts';
import { PROJECTION_LIMITS } from '../limits.ts';
import type { DataAndMore } from './writer.ts';

/** Bytes that one long value may take in a message. */
const BYTES_MAX = LIMITS.live_message_bytes_max - 64 * 1024;
/** Depth of a call's arguments in a message, also when wrapped or in the request of a confirmation. */
const ARGS_DEPTH = 4;
/** Length of a secondary text; two of them fit into a message however they are escaped. */
const PASSING_CHARS_MAX = 400_000;
/** Length of a sentence for people next to a value that may fill the message. */
export const SAID_CHARS_MAX = 4_000;

export interface Args {
  args: Record<string, unknown>;
  /** How `args` contains an input that is not an object, is too deep or too long; null if unchanged. */
  args_wrapped: 'value' | 'json' | 'parts' | null;
  /** The input's JSON, to be sent in parts after the request. */
  rest: string | null;
}

/** Whether a JSON string of this text is too long for one message. */
export function tooLong(text: string): boolean {
  // JSON makes at most six bytes of a character.
  if (text.length <= PROJECTION_LIMITS.live_part_chars_max) return false;
  return utf8Bytes(JSON.stringify(text)) > BYTES_MAX;
}

export function argsOf(input: unknown): Args {
  const found = { too_deep: false, lossy_number: false };
  checkValue(input, LIMITS.depth_max - ARGS_DEPTH, found);
  const json = JSON.stringify(input) ?? 'null';
  if (found.too_deep ? tooLong(json) : utf8Bytes(json) > BYTES_MAX)
    return { args: {}, args_wrapped: 'parts', rest: json };
  if (found.too_deep) return { args: { json }, args_wrapped: 'json', rest: null };
  if (isMap(input)) return { args: input, args_wrapped: null, rest: null };
  return { args: { value: input ?? null }, args_wrapped: 'value', rest: null };
}

/** Shortens texts that are too long for a message: keeps the beginning, and adds the length as `<name>_chars`. */
export function passing(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    if (typeof value !== 'string' || value.length <= PASSING_CHARS_MAX) return [[name, value]];
    return [
      [name, value.slice(0, PASSING_CHARS_MAX)],
      [`${name}_chars`, value.length],
    ];
  });
  // fromEntries treats `__proto__` as an ordinary key.
  return Object.fromEntries(kept);
}

export function sessionStart(data: DataOf<'run_started'>): DataAndMore<'session_start'> {
  const { config } = data;
  return {
    agent: data.agent || 'unknown',
    ...pick(data, 'model', 'cwd'),
    parent_session_id: null,
    labels: config?.labels ?? null,
    agent_version: data.agent_version,
    agent_session_id: data.session_id,
    resumed_session_id: config?.resume ?? null,
    fingerprint: data.fingerprint,
    ...passing({ prompt: data.prompt }),
  };
}

export function sessionEnd(
  data: DataOf<'run_finished'>,
  counted: Record<string, unknown>,
): DataAndMore<'session_end'> {
  return {
    status: data.exit_reason,
    reason: data.error === null ? null : data.error.slice(0, PASSING_CHARS_MAX),
    totals: {
      tokens: data.usage,
      ...pick(data, 'cost_usd', 'cost_source'),
      calls: data.tool_calls,
      ...pick(data, 'steps', 'duration_ms', 'provider_retries', 'provider_errors', 'redactions'),
      ...counted,
    },
    ...pick(data, 'ok', 'model'),
    agent_session_id: data.session_id,
    ...pick(data, 'agent_exit_code', 'agent_signal'),
    ...pick(data, 'terminal_evidence', 'completeness', 'digest'),
    ...passing({ final_output: data.final_output }),
  };
}

/** Errors by status of a call. `unknown` is not an error: nothing reported one. */
const FAILURES: Partial<Record<CallStatus, { code: string; retriable: boolean; say: string }>> = {
  error: { code: 'TOOL_EXECUTION_FAILED', retriable: true, say: 'failed' },
  timeout: { code: 'TOOL_TIMEOUT', retriable: true, say: 'timed out' },
  denied: { code: 'PERMISSION_DENIED', retriable: false, say: 'was not permitted' },
  cancelled: { code: 'CANCELLED', retriable: false, say: 'was cancelled' },
};

/** `output_parts`: the number of earlier statuses with the output; 0 when it is in this message. */
export function responseOf(
  data: Omit<DataOf<'call_finished'>, 'call_id'>,
  extra: { call_id: string; reason: string | null; output_parts: number },
): DataAndMore<'tool_call_response'> {
  const { tool, status, exit_code, duration_ms } = data;
  const { call_id, reason, output_parts } = extra;
  const output = output_parts > 0 ? null : data.output;
  const facts = { output, exit_code, status, ...(output_parts > 0 && { output_parts }) };
  const execution_time_ms = duration_ms === null ? null : Math.max(0, duration_ms);
  const failure = own(FAILURES, status);
  if (failure === undefined) return { call_id, result: facts, error: null, execution_time_ms };
  const { code, retriable, say } = failure;
  const why = reason !== null && reason !== '' ? `: ${reason.slice(0, SAID_CHARS_MAX)}` : '';
  const exit = exit_code !== null && exit_code !== 0 ? ` with exit code ${exit_code}` : '';
  const message = `${tool || 'the tool'} ${say}${exit}${why}`;
  const error = { code, message, retriable, tool_name: tool, ...facts };
  return { call_id, result: null, error, execution_time_ms };
}

export function providerError(data: DataOf<'provider_failed'>): DataAndMore<'error'> {
  return {
    error_code: 'PROVIDER_ERROR',
    message: data.message.slice(0, PASSING_CHARS_MAX) || 'the provider failed',
    details: pick(data, 'kind', 'status', 'retryable'),
    severity: 'error',
    retriable: data.retryable ?? false,
  };
}

export function providerRetry(data: DataOf<'provider_retried'>): DataAndMore<'error'> {
  return {
    error_code: 'PROVIDER_ERROR',
    message: 'the agent retries its request to the provider',
    details: { ...data },
    severity: 'warning',
    retriable: true,
  };
}

export function captureProblem({ data, raw }: EventOf<'problem'>): DataAndMore<'error'> {
  return {
    error_code: 'CAPTURE_PROBLEM',
    message: data.detail.slice(0, PASSING_CHARS_MAX) || data.code,
    details: { ...pick(data, 'stage', 'code', 'bytes', 'sha256', 'excerpt'), raw },
    severity: 'warning',
    retriable: false,
  };
}
