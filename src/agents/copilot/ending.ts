/** How a run ended: by `result` on stdout, by `session.shutdown` in the session file; an abort or an error before it decides. */
import type { Drafts, End } from '../kit/drafts.ts';
import { statusOf, textOf } from '../kit/native.ts';
import type { Conversation } from './messages.ts';
import type { Data } from './records.ts';

/** `session.error` types that are the model API's even without an HTTP status. */
const PROVIDER_ERRORS: ReadonlySet<string | null> = new Set([
  'authentication',
  'authorization',
  'context_limit',
  'model_call',
  'query',
  'quota',
  'rate_limit',
]);
const REOPENED: End = {
  exit_reason: 'incomplete',
  error: 'the session went on after its end record',
};

export class Ending {
  readonly #to: Drafts;
  readonly #talk: Conversation;
  /** Of the present interaction. */
  #failure: End | null = null;
  #aborted: End | null = null;
  /** An end record came, and nothing after it. */
  #ended = false;
  #reopened = false;

  constructor(to: Drafts, talk: Conversation) {
    this.#to = to;
    this.#talk = talk;
  }

  /** The model or the user continues: earlier failures are over. */
  goesOn(): void {
    this.#failure = null;
    this.#aborted = null;
    if (this.#ended) this.#reopened = true;
    this.#ended = false;
  }

  abort(data: Data<'abort'>): void {
    if (!this.#to.root) return;
    const reason = textOf(data.reason);
    // The CLI ends with sub-agents in the background by an abort, though there is nothing to abort.
    const idle = this.#talk.finished && !this.#talk.calls.hasOpen();
    if (idle && reason === 'user_initiated') return;
    const error = reason === null ? 'aborted' : `aborted: ${reason}`;
    this.#aborted = { exit_reason: 'cancelled', error };
  }

  /** A sub-agent's failure is reported, but is not the run's. */
  error(data: Data<'session.error'>): void {
    const native_kind = textOf(data.errorType);
    const status = statusOf(data.statusCode);
    const message = textOf(data.message) ?? '';
    const provider = status !== null || PROVIDER_ERRORS.has(native_kind);
    if (provider) this.#to.failed({ native_kind, status, message });
    else this.#to.notice('session.error', message);
    if (!this.#to.root) return;
    this.#failure = { exit_reason: provider ? 'provider_error' : 'agent_error', error: message };
  }

  /** `said`: the end record's own word, which is "ok" after an interruption too. */
  end(said: End): void {
    this.#talk.settleTurn();
    this.#ended = true;
    this.#to.ended(this.#aborted ?? this.#failure ?? said);
  }

  /** The input has ended. An abort or a failure counts without an end record too, but the record is missing. */
  close(): void {
    this.#talk.settleTurn();
    if (this.#ended) return;
    const failure = this.#aborted ?? this.#failure ?? (this.#reopened ? REOPENED : null);
    if (failure === null) return;
    this.#to.problem('no_end_record', 'the stream has no end record');
    this.#to.ended(failure, 'none');
  }
}
