/** Failed requests. Often only the text shows whether it was a retry, the provider's failure or the CLI's own. */
import { jsonInside } from '../../lib/byte-text.ts';
import type { ExitReason } from '../../model/words.ts';
import type { Drafts, End } from '../kit/drafts.ts';
import { nativeOf, statusOf, textOf } from '../kit/native.ts';

const RETRY = /^(?:Re-?connecting\.\.\.|stream error: [\s\S]*; retrying)/;
const ATTEMPT = /^(?:Re-?connecting\.\.\.|[\s\S]*?; retrying) (\d{1,6})\/(\d{1,6})/;
const STATUS = /\bstatus:? (\d{3})\b/;
/** Failures of the CLI before or outside of a request. All others are the provider's. */
const OWN_FAULTS = [
  'Missing environment variable: ',
  'no thread with id',
  'agent thread limit reached',
  'session configured event was not the first event',
  'timeout waiting for child process',
  'spawn failed:',
  'internal error; agent loop died',
  'sandbox error:',
  'codex-linux-sandbox was required but not provided',
  'unsupported operation:',
  'Fatal error:',
];
/** Error classes that are not the provider's, in lower case without underscores. */
const REASONS: ReadonlyMap<string, ExitReason> = new Map([
  ['sandboxerror', 'agent_error'],
  ['threadrollbackfailed', 'agent_error'],
  ['sessionbudgetexceeded', 'budget_exceeded'],
]);

export function isRetry(message: string): boolean {
  return RETRY.test(message);
}

/** `info`: the CLI's class of the error, if the record has one. */
export function retried(to: Drafts, message: string, info: unknown = null): void {
  const counted = isRetry(message) ? ATTEMPT.exec(message) : null;
  const [attempt = null, max_attempts = null] = counted?.slice(1).map(Number) ?? [];
  const { native_kind, status } = classOf(info, message);
  to.retried({ attempt, max_attempts, status }, { native_kind, message });
}

export function failed(to: Drafts, message: string, info: unknown = null): End {
  const { native_kind, status } = classOf(info, message);
  const ours = OWN_FAULTS.some((start) => message.startsWith(start));
  const named = REASONS.get((native_kind ?? '').replaceAll('_', '').toLowerCase());
  const exit_reason = named ?? (ours ? 'agent_error' : 'provider_error');
  const error = saidIn(message);
  if (exit_reason === 'provider_error') to.failed({ native_kind, status, message: error });
  return { exit_reason, error };
}

/** A name, or an object with one name and its status; the app-server uses camelCase. */
function classOf(info: unknown, message: string) {
  const native_kind = textOf(info) ?? Object.keys(nativeOf(info) ?? {})[0] ?? null;
  const detail = nativeOf(nativeOf(info)?.[native_kind ?? '']);
  const status = statusOf(detail?.http_status_code ?? detail?.httpStatusCode);
  const found = status === null ? STATUS.exec(message) : null;
  return { native_kind, status: found === null ? status : Number(found[1]) };
}

/** The provider's answer is its raw body; the message inside is more readable. */
function saidIn(message: string): string {
  if (!message.startsWith('{')) return message;
  const body = nativeOf(jsonInside(message));
  return textOf(nativeOf(body?.error)?.message) ?? textOf(body?.message) ?? message;
}
