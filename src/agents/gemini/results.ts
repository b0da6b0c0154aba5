/** The end record of stdout: how the run ended. */
import type { Draft } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import type { ExitReason } from '../../model/words.ts';
import { type Native, nativeOf, statusOf, textOf } from './native.ts';
import {
  CANCELLATIONS,
  INVALID_STREAM_NOTICES,
  PROVIDER_FAILURES,
  TURN_LIMIT_NOTICE,
  TURN_LIMITS,
} from './records.ts';

/** `told`: the last error that the stream told in a record of its own. */
function reasonOf(result: Native, told: string | null): ExitReason {
  const type = textOf(nativeOf(result.error)?.type);
  if (type !== null) {
    if (TURN_LIMITS.has(type)) return 'max_steps';
    if (CANCELLATIONS.has(type)) return 'cancelled';
    if (PROVIDER_FAILURES.has(type)) return 'provider_error';
    return 'agent_error';
  }
  if (told === TURN_LIMIT_NOTICE) return 'max_steps';
  if (result.status === 'success') return 'ok';
  const invalid = INVALID_STREAM_NOTICES.some((start) => told?.startsWith(start));
  return invalid ? 'provider_error' : 'agent_error';
}

export function endOf(result: Native, told: string | null): DataOf<'agent_ended'> {
  const exit_reason = reasonOf(result, told);
  const said = textOf(nativeOf(result.error)?.message) ?? told;
  return { exit_reason, error: exit_reason === 'ok' ? null : said, evidence: 'native_result' };
}

/** `[API Error: {"error":{"code":400,"status":"INVALID_ARGUMENT",…}}]`: the API's own body, where it is JSON. */
function bodyOf(message: string): Native | null {
  const from = message.indexOf('{');
  const to = message.lastIndexOf('}');
  if (from < 0 || to < from || to - from > 65_536) return null;
  try {
    const body = nativeOf(JSON.parse(message.slice(from, to + 1)));
    return nativeOf(body?.error) ?? body;
  } catch {
    return null;
  }
}

export function providerFailure(message: string, at_ms: number | undefined): Draft {
  const body = bodyOf(message);
  const status = statusOf(body?.code);
  const retryable = status === null ? null : status === 408 || status === 429 || status >= 500;
  const kind = textOf(body?.status);
  return { kind: 'provider_failed', at_ms, data: { kind, status, retryable, message } };
}
