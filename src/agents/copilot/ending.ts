/** How a run ended: by `result` on stdout, by `session.shutdown` in the session file; before that an abort or an error was said. */
import type { Draft } from '../../model/draft.ts';
import type { ExitReason } from '../../model/words.ts';
import { codeOf, type Native, problem, statusOf, textOf } from './native.ts';
import { PROVIDER_ERRORS } from './records.ts';

interface Failure {
  readonly exit_reason: ExitReason;
  readonly error: string;
}

export class Ending {
  /** What went wrong in the interaction that goes on. */
  #failure: Failure | null = null;
  #aborted: Failure | null = null;
  /** An end record came, and nothing after it. */
  #ended = false;
  #reopened = false;

  /** The model or the user goes on: what was wrong before is over. */
  goesOn(): void {
    this.#failure = null;
    this.#aborted = null;
    if (this.#ended) this.#reopened = true;
    this.#ended = false;
  }

  /** `idle`: there was nothing to abort. The CLI writes such a record when it ends with sub-agents in the background. */
  abort(data: Native, idle: boolean): void {
    const reason = textOf(data.reason);
    if (idle && reason === 'user_initiated') return;
    const error = reason === null ? 'aborted' : `aborted: ${reason}`;
    this.#aborted = { exit_reason: 'cancelled', error };
  }

  /** `root`: a sub-agent's failure is told, but is not the run's. */
  error(data: Native, root: boolean, at_ms: number | undefined, out: Draft[]): void {
    const kind = textOf(data.errorType);
    const status = statusOf(data.statusCode);
    const message = textOf(data.message) ?? '';
    const provider = status !== null || (kind !== null && PROVIDER_ERRORS.has(kind));
    if (provider) {
      const retryable = status === null ? null : status === 408 || status === 429 || status >= 500;
      out.push({ kind: 'provider_failed', at_ms, data: { kind, status, retryable, message } });
    } else {
      out.push({ kind: 'notice', at_ms, data: { code: 'session.error', text: message } });
    }
    if (!root) return;
    this.#failure = { exit_reason: provider ? 'provider_error' : 'agent_error', error: message };
  }

  /** stdout's end record. Its exit code is 0 after an interruption too. */
  result(record: Native, at_ms: number | undefined, out: Draft[]): void {
    const code = codeOf(record.exitCode);
    const said = code === null ? 'the end record has no exit code' : `exit code ${code}`;
    const failed: Failure | null = code === 0 ? null : { exit_reason: 'agent_error', error: said };
    this.#end(this.#aborted ?? this.#failure ?? failed, at_ms, out);
  }

  /** The session file's end record. */
  shutdown(data: Native, at_ms: number | undefined, out: Draft[]): void {
    const error = textOf(data.errorReason) ?? 'the session was shut down by an error';
    const failed: Failure | null =
      data.shutdownType === 'error' ? { exit_reason: 'agent_error', error } : null;
    this.#end(this.#aborted ?? this.#failure ?? failed, at_ms, out);
  }

  #end(failure: Failure | null, at_ms: number | undefined, out: Draft[]): void {
    this.#ended = true;
    const { exit_reason, error } = failure ?? { exit_reason: 'ok' as const, error: null };
    out.push({
      kind: 'agent_ended',
      at_ms,
      data: { exit_reason, error, evidence: 'native_result' },
    });
  }

  /** The input is over. An abort or a failure counts without an end record too, but the record is missed. */
  close(out: Draft[]): void {
    if (this.#ended) return;
    const stopped: Failure | null = this.#reopened
      ? { exit_reason: 'incomplete', error: 'the session went on after its end record' }
      : null;
    const failure = this.#aborted ?? this.#failure ?? stopped;
    if (failure === null) return;
    out.push(problem('no_end_record', 'the stream has no end record'));
    out.push({ kind: 'agent_ended', data: { ...failure, evidence: 'none' } });
  }
}
