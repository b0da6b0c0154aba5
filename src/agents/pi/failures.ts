/** A model API's failure as the CLI words it: `429: {…}`. */
import type { DraftOf } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import { type Native, textOf } from './native.ts';

export interface Failure {
  readonly status: number | null;
  readonly kind: string | null;
  readonly message: string;
}

const STATUS = /^(\d{3})\b/;
const KINDS: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_failed'],
  [403, 'permission_denied'],
  [429, 'rate_limit'],
  [529, 'overloaded'],
]);

export function failureOf(record: Native): Failure {
  const message = textOf(record.errorMessage) ?? '';
  const match = STATUS.exec(message);
  const status = match === null ? null : Number(match[1]);
  if (status === null) return { status, kind: null, message };
  return { status, kind: KINDS.get(status) ?? (status >= 500 ? 'server_error' : null), message };
}

export function providerFailed(
  { status, kind, message }: Failure,
  at_ms: number | undefined,
): DraftOf<'provider_failed'> {
  const retryable = status === null ? null : status === 429 || status >= 500;
  return { kind: 'provider_failed', at_ms, data: { kind, status, retryable, message } };
}

export type End = Omit<DataOf<'agent_ended'>, 'evidence'>;

export const OK: End = { exit_reason: 'ok', error: null };

/** How a run ended whose last message from the model is this one. */
export function endAfter(message: Native): End {
  const error = textOf(message.errorMessage);
  if (message.stopReason === 'error') return { exit_reason: 'provider_error', error };
  if (message.stopReason === 'aborted') return { exit_reason: 'cancelled', error };
  return OK;
}
