/** The end record of stdout, and the provider's failures that the CLI prints as if the model had said them. */
import type { Draft } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import type { ExitReason } from '../../model/words.ts';
import type { Stdout } from './generated/native.ts';
import { type Inside, isNative, listOf, nativeOf, type Result, textOf } from './native.ts';
import { isPlaceholder } from './usage.ts';

const API_ERROR = /^\[API Error: (?:(\d{3})\b)?/;
const CANCELLED = /^(?:Operation cancelled|This operation was aborted|Request was aborted)/i;
const TURN_LIMIT = /\bmax(?:imum)? session turns\b/i;
const BUDGET = /^Run aborted: /;

export function isApiError(text: string): boolean {
  return API_ERROR.test(text);
}

/** The CLI's own words in a message's place: one text, and no tokens were paid for it. */
export function isFailureMessage(message: Inside<Stdout['assistant']['message']>): boolean {
  const content = listOf(message.content);
  if (content.length !== 1 || !isPlaceholder(nativeOf(message.usage))) return false;
  const [block] = content;
  return isNative(block) && typeof block.text === 'string' && isApiError(block.text);
}

export function providerFailed(text: string): Draft {
  const status = Number(API_ERROR.exec(text)?.[1] ?? 0) || null;
  return { kind: 'provider_failed', data: failure(text, status) };
}

export function failure(message: string, status: number | null): DataOf<'provider_failed'> {
  const retryable = status === null ? null : status === 408 || status === 429 || status >= 500;
  return { kind: null, status, retryable, message };
}

function reasonOf(result: Result, error: string, failed: boolean): ExitReason {
  const subtype = textOf(result.subtype) ?? '';
  if (result.is_error !== true && !subtype.startsWith('error')) {
    // Versions before 0.24 end with success after a failure of the provider.
    return failed ? 'provider_error' : 'ok';
  }
  if (subtype === 'error_max_turns' || TURN_LIMIT.test(error)) return 'max_steps';
  if (BUDGET.test(error)) return 'budget_exceeded';
  if (CANCELLED.test(error)) return 'cancelled';
  return isApiError(error) ? 'provider_error' : 'agent_error';
}

/** `failed`: the last thing the root agent printed was a failure of the provider. */
export function endOf(result: Result, failed: boolean): DataOf<'agent_ended'> {
  const said = textOf(nativeOf(result.error)?.message) ?? textOf(result.result);
  const exit_reason = reasonOf(result, said ?? '', failed);
  return { exit_reason, error: exit_reason === 'ok' ? null : said, evidence: 'native_result' };
}
