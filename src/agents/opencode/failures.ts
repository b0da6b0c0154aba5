/** Errors as the CLI, the bus and messages tell them: `{name, data: {message, statusCode, isRetryable}}`, earlier `{name, message}`. */
import type { DataOf } from '../../model/event.ts';
import type { ExitReason } from '../../model/words.ts';
import { nativeOf, statusOf, textOf } from './native.ts';

export interface Failure {
  exit_reason: ExitReason;
  message: string;
  /** Set where the model API failed. */
  provider: DataOf<'provider_failed'> | null;
}

const PROVIDER_ERRORS: ReadonlySet<string> = new Set([
  'APIError',
  'ApiError',
  'ContextOverflowError',
  'ProviderAuthError',
]);
const ABORTS: ReadonlySet<string> = new Set(['AbortError', 'MessageAbortedError']);

export function failureOf(value: unknown): Failure | null {
  const error = nativeOf(value);
  const data = nativeOf(error?.data);
  const name = textOf(error?.name);
  const message = textOf(data?.message) ?? textOf(error?.message) ?? textOf(value) ?? name;
  if (message === null) return null;
  if (name !== null && ABORTS.has(name)) {
    return { exit_reason: 'cancelled', message, provider: null };
  }
  const status = statusOf(data?.statusCode);
  if (status === null && !(name !== null && PROVIDER_ERRORS.has(name))) {
    return { exit_reason: 'agent_error', message, provider: null };
  }
  const retryable = typeof data?.isRetryable === 'boolean' ? data.isRetryable : null;
  const provider = { kind: name, status, retryable, message };
  return { exit_reason: 'provider_error', message, provider };
}
