/** The root agent's turns, and the end of the run from the last one. No mode of the CLI has an end record. */
import type { ExitReason } from '../../../model/words.ts';
import { type End, endFor, OK, Writer } from '../drafts.ts';
import type { FailureFacts } from '../failures.ts';
import { nativeOf, statusOf, textOf } from '../native.ts';
import type { NativeError } from './native.ts';

interface Failure {
  end: End;
  facts: FailureFacts;
}

const NEW = {
  /** Whether the model call has ended. */
  closed: false,
  finish: null as string | null,
  failure: null as End | null,
  /** The text of a refusal that ends the run. */
  refused: null as string | null,
  calls: 0,
  /** A summary for the model itself: the answer follows. */
  summary: false,
};
type Turn = typeof NEW & { readonly message_id: string | null };

const PROVIDER_ERROR = /^(?:APIError|ApiError|ContextOverflowError|ProviderAuthError)$/;
const ABORT = /^(?:AbortError|MessageAbortedError)$/;
/** After these the CLI asks the model again; `unknown` comes from providers that report no reason. */
const CONTINUES: ReadonlySet<string> = new Set(['tool-calls', 'unknown']);

export class Turns extends Writer {
  last: Turn | null = null;
  /** The server reports that the model works. */
  busy = false;
  /** The last reported failure: the server reports it for the session and for the message. */
  #failed: string | null = null;
  #ended = false;

  begin(message_id: string | null): Turn {
    this.#failed = null;
    this.last = { ...NEW, message_id };
    return this.last;
  }

  /** The turn of this message. A new message starts a new turn. */
  of(message_id: string | null): Turn {
    if (this.last !== null && this.last.message_id === message_id) return this.last;
    this.#ended = false;
    return this.begin(message_id);
  }

  /** An error of the root session: in its last turn, or for a prompt without a turn. */
  fail({ end, facts }: Failure): void {
    // A refusal that ends the run may be followed by a text that says so.
    if (this.last?.closed && this.last.refused !== null && facts.native_kind === null) return;
    this.last ??= { ...NEW, message_id: null };
    this.last.failure = end;
    this.last.closed = true;
    this.#ended = false;
    const key = `${end.exit_reason} ${end.error}`;
    if (this.#failed === key) return;
    this.#failed = key;
    if (end.exit_reason === 'provider_error') this.to.failed(facts);
  }

  /** Whether something has begun and not ended; the server reports the end twice. */
  get open(): boolean {
    return !this.#ended && (this.busy || this.last !== null);
  }

  /** The server reports that the session waits for its next prompt. */
  idle(): void {
    const end = endOf(this.last, true);
    this.#ended = end !== null;
    if (end) this.to.ended(end);
  }

  end(): void {
    const end = this.#ended ? null : endOf(this.last, false);
    if (end) this.to.ended(end, 'inferred');
  }
}

/** `{name, data: {message, statusCode, isRetryable}}`, in earlier versions `{name, message}`, or a text. */
export function failureOf(value: NativeError): Failure | null {
  const error = nativeOf(value);
  const data = nativeOf(error?.data);
  const name = textOf(error?.name);
  const message = textOf(data?.message) ?? textOf(error?.message) ?? textOf(value) ?? name;
  if (message === null) return null;
  const status = statusOf(data?.statusCode);
  const retryable = typeof data?.isRetryable === 'boolean' ? data.isRetryable : null;
  let exit_reason: ExitReason = 'agent_error';
  if (ABORT.test(name ?? '')) exit_reason = 'cancelled';
  else if (status !== null || PROVIDER_ERROR.test(name ?? '')) exit_reason = 'provider_error';
  const facts = { native_kind: name, status, retryable, message };
  return { end: endFor(exit_reason, message), facts };
}

/** The end of the run if nothing follows this turn; null: it did not end. `idle`: the server reports idle. */
function endOf(turn: Turn | null, idle: boolean): End | null {
  if (turn?.failure) return turn.failure;
  const finish = turn?.finish ?? null;
  const continues = finish === null ? (turn?.calls ?? 0) > 0 : CONTINUES.has(finish);
  if (turn && turn.refused !== null && (continues || !turn.closed)) {
    return turn.closed || idle ? endFor('denied', turn.refused) : null;
  }
  if (finish === 'error') return endFor('agent_error', 'the model call ended with an error');
  return idle || (turn?.closed && !turn.summary && !continues) ? OK : null;
}
