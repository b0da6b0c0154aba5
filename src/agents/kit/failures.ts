/**
 * Failures of model providers in one vocabulary. Agents report them as an HTTP status, a word, or only a text.
 * The status takes precedence, then the word, then the text. `retryable`: the same request could succeed later.
 */
import { headOf } from '../../lib/byte-text.ts';
import { countOf, durationOf } from '../../lib/foreign.ts';
import type { DataOf } from '../../model/event.ts';
import type { ProviderFailureKind } from '../../model/words.ts';

export interface FailureFacts {
  /** The agent's own name for the failure. */
  native_kind?: string | null;
  status?: number | null;
  message?: string;
  /** As the agent reports it; used only when the kind does not decide. */
  retryable?: boolean | null;
}

export type Failure = Required<DataOf<'provider_failed'>> & { kind: ProviderFailureKind };

const RETRYABLE: Readonly<Record<ProviderFailureKind, boolean | null>> = {
  rate_limit: true,
  overloaded: true,
  timeout: true,
  network: true,
  server: true,
  auth: false,
  invalid_request: false,
  not_found: false,
  unknown: null,
};

const STATUSES: ReadonlyMap<number, ProviderFailureKind> = new Map([
  [401, 'auth'],
  [403, 'auth'],
  [404, 'not_found'],
  [408, 'timeout'],
  [409, 'server'],
  [425, 'server'],
  [429, 'rate_limit'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [529, 'overloaded'],
]);

/** Parts of agents' words, in snake_case. The first match decides. */
const WORDS: readonly (readonly [RegExp, ProviderFailureKind])[] = [
  [/rate_?limit|too_many|resource_exhausted|usage_limit|quota/i, 'rate_limit'],
  [/overload|unavailable|high_demand/i, 'overloaded'],
  [/auth|unauthorized|permission|forbidden|api_key/i, 'auth'],
  [/invalid|bad_request|context|too_large|unsupported/i, 'invalid_request'],
  [/not_?found/i, 'not_found'],
  [/time_?d?_?out|deadline/i, 'timeout'],
  [/connect|network|stream|socket|fetch/i, 'network'],
  [/server|internal|^api_error$/i, 'server'],
];

/** Phrases in texts. A text may contain anything, so only phrases that clients and providers use for failures. */
const TEXTS: readonly (readonly [RegExp, ProviderFailureKind])[] = [
  [
    /\b(?:ECONN|ENOTFOUND|EAI_AGAIN|EPIPE)|\b(?:connection|network) (?:failed|error|lost)|stream disconnected|waiting for network|fetch failed|socket hang up/i,
    'network',
  ],
  [/\b(?:ETIMEDOUT|timed out|timeout)\b/i, 'timeout'],
  [/\brate limit|\btoo many requests/i, 'rate_limit'],
  [/\boverloaded\b|experiencing high demand/i, 'overloaded'],
  [/\b(?:invalid|incorrect) api key|\bunauthorized\b|authentication failed/i, 'auth'],
  [/\binvalid request\b|\bbad request\b/i, 'invalid_request'],
];
/** Only the beginning of a text is searched: the phrase is there, and the provider's whole answer may follow. */
const SEARCHED_CHARS = 2_000;

export function failureOf(facts: FailureFacts): Failure {
  const { native_kind = null, status = null, message = '' } = facts;
  const kind = kindOf(native_kind, status, message);
  const retryable = RETRYABLE[kind] ?? facts.retryable ?? null;
  return { kind, native_kind, status, retryable, message };
}

function kindOf(word: string | null, status: number | null, text: string): ProviderFailureKind {
  if (status !== null && status >= 400 && status < 600) {
    return STATUSES.get(status) ?? (status < 500 ? 'invalid_request' : 'server');
  }
  const snake = (word ?? '').replaceAll(/([a-z])([A-Z])/g, '$1_$2');
  return found(WORDS, snake) ?? found(TEXTS, headOf(text, SEARCHED_CHARS)) ?? 'unknown';
}

function found(table: typeof WORDS, text: string): ProviderFailureKind | null {
  return text === '' ? null : (table.find(([pattern]) => pattern.test(text))?.[1] ?? null);
}

/** Facts about a retry: its number, the maximum, and the pause before it in milliseconds. */
export function retryOf(attempt: unknown, max: unknown, delay: unknown) {
  return { attempt: countOf(attempt), max_attempts: countOf(max), backoff_ms: durationOf(delay) };
}
