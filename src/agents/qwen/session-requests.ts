/** The model requests of a session file: what they cost, which failed, and which of those were tried again. */
import type { Draft } from '../../model/draft.ts';
import type { Usage } from '../../model/parts.ts';
import type { Session } from './generated/native.ts';
import { type Inside, idOf, statusOf, type Telemetry, textOf } from './native.ts';
import { failure } from './results.ts';
import { add, isEmpty, nothing, ofMessage, ofTelemetry } from './usage.ts';

interface Failed {
  readonly message: string;
  readonly status: number | null;
  readonly at_ms: number | undefined;
}

const ABORTED = /abort/i;

export class Requests {
  /** Of all requests, sub-agents' and the CLI's own too. */
  readonly #requests = nothing();
  /** Of messages: counts where the version writes no telemetry. */
  readonly #messages = nothing();
  #failed: Failed | null = null;

  message(usage: Inside<Session['assistant']['usageMetadata']>): void {
    add(this.#messages, ofMessage(usage));
  }

  answered(event: Telemetry): void {
    add(this.#requests, ofTelemetry(event));
  }

  /** A failed request costs nothing, and that is known. */
  unanswered(): void {
    const zero = { input: 0, output: 0, cache_read: 0, cache_write: null, reasoning: 0 };
    add(this.#requests, zero);
  }

  /** The root agent's request failed; false when it was aborted, which is nobody's failure. */
  fail(event: Telemetry, at_ms: number | undefined): boolean {
    if (ABORTED.test(textOf(event.error_type) ?? '')) return false;
    const message = textOf(event.error_message) ?? '';
    this.#failed = { message, status: statusOf(event.status_code), at_ms };
    return true;
  }

  /** Another request follows in the same turn. */
  retried(out: Draft[]): void {
    if (!this.#failed) return;
    const { status, at_ms } = this.#failed;
    this.#failed = null;
    const rest = { attempt: null, max_attempts: null, kind: null, backoff_ms: null };
    out.push({ kind: 'provider_retried', at_ms, data: { ...rest, status } });
  }

  /** The turn is over: its last failure was final. */
  giveUp(out: Draft[]): void {
    if (!this.#failed) return;
    const { message, status, at_ms } = this.#failed;
    this.#failed = null;
    out.push({ kind: 'provider_failed', at_ms, data: failure(message, status) });
  }

  total(): Usage | null {
    const usage = isEmpty(this.#requests) ? this.#messages : this.#requests;
    return isEmpty(usage) ? null : usage;
  }
}

/** The sub-agent of a telemetry event; null for the root agent, whose prompt ids have nothing between their marks. */
export function agentOf(event: Telemetry): string | null {
  const named = idOf(event.subagent_name) ?? idOf(event.subagent_id);
  if (named !== null) return named;
  const prompt_id = textOf(event.prompt_id) ?? '';
  const from = prompt_id.indexOf('#');
  const middle = from < 0 ? '' : prompt_id.slice(from, prompt_id.lastIndexOf('#'));
  return idOf(middle.replaceAll('#', ''));
}
