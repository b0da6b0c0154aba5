/** What the CLI says of failed requests: the texts are the only thing that tells a retry, the provider and itself apart. */
import { own } from '../../lib/own.ts';
import type { Draft } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import type { ExitReason } from '../../model/words.ts';
import { jsonOf, nativeOf, statusOf, textOf } from './native.ts';

const RETRY = /^(?:Re-?connecting\.\.\.|stream error: [\s\S]*; retrying)/;
const ATTEMPT = /^(?:Re-?connecting\.\.\.|[\s\S]*?; retrying) (\d{1,6})\/(\d{1,6})/;
const STATUS = /\bstatus:? (\d{3})\b/;
/** Failures that happened before any request, or beside it. Everything else is the provider's. */
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
/** An escaped character beyond ASCII, which in byte text would not become its bytes. */
const ESCAPED = /\\u(?!00[0-7])/;
/** `codex_error_info`: what the words of a failure mean, where the session file names it. */
const REASONS: Readonly<Record<string, ExitReason>> = {
  sandbox_error: 'agent_error',
  thread_rollback_failed: 'agent_error',
  session_budget_exceeded: 'budget_exceeded',
};

export function statusIn(text: string): number | null {
  const found = STATUS.exec(text);
  return found === null ? null : Number(found[1]);
}

/** The retry that an `error` record tells of; null when it is no retry. */
export function retryOf(message: string): DataOf<'provider_retried'> | null {
  if (!RETRY.test(message)) return null;
  const counted = ATTEMPT.exec(message);
  const status = statusIn(message);
  return {
    attempt: counted === null ? null : Number(counted[1]),
    max_attempts: counted === null ? null : Number(counted[2]),
    kind: kindOf(message, status),
    status,
    backoff_ms: null,
  };
}

function kindOf(message: string, status: number | null): string | null {
  if (status === 429) return 'rate_limit';
  if (status !== null) return `http_${status}`;
  if (message.includes('Connection failed') || message.includes('waiting for network')) {
    return 'connection';
  }
  return message.includes('stream disconnected') ? 'stream' : null;
}

/** A retry that the app-server calls one, whatever its text. */
export function retried(
  message: string,
  details: string | null,
  info: unknown,
): DataOf<'provider_retried'> {
  const text = details === null ? message : `${message} (${details})`;
  const { status } = classOf(info);
  const told = retryOf(text) ?? { attempt: null, max_attempts: null, status, backoff_ms: null };
  const known = status ?? statusIn(text);
  return { ...told, status: known, kind: kindOf(text, known) };
}

/** The class that the CLI gives an error: a name, or an object of one name; the app-server writes it in camelCase. */
function classOf(info: unknown): { name: string | null; status: number | null } {
  const key = textOf(info) ?? Object.keys(nativeOf(info) ?? {})[0] ?? null;
  if (key === null) return { name: null, status: null };
  const detail = nativeOf(nativeOf(info)?.[key]);
  const name = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { name, status: statusOf(detail?.http_status_code ?? detail?.httpStatusCode) };
}

/** The end of a turn that failed. `info`: the CLI's own class of the error, where it is told. */
export function failed(
  message: string,
  info: unknown,
  at_ms: number | undefined,
  out: Draft[],
): End {
  const { name, status: told } = classOf(info);
  const ours = OWN_FAULTS.some((start) => message.startsWith(start)) ? 'agent_error' : null;
  const exit_reason = own(REASONS, name ?? '') ?? ours ?? 'provider_error';
  const said = saidIn(message);
  if (exit_reason === 'provider_error') {
    const status = told ?? statusIn(message);
    const kind = name === 'other' || name === null ? kindOf(message, status) : name;
    const data = { kind, status, retryable: null, message: said };
    out.push({ kind: 'provider_failed', at_ms, data });
  }
  return { exit_reason, error: said };
}

export type End = Omit<DataOf<'agent_ended'>, 'evidence'>;

/** A provider's answer comes as its raw body; its own message says it better. */
function saidIn(message: string): string {
  if (!message.startsWith('{') || ESCAPED.test(message)) return message;
  const body = nativeOf(jsonOf(message));
  return textOf(nativeOf(body?.error)?.message) ?? textOf(body?.message) ?? message;
}
