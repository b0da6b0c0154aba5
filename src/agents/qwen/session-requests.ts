/** The model requests of a session file: their cost, which failed, and which of those were retried. */
import type { Drafts, Time } from '../kit/drafts.ts';
import type { FailureFacts } from '../kit/failures.ts';
import { idOf, statusOf, textOf } from '../kit/native.ts';
import { add, isEmpty, type Spent, spent } from '../kit/usage.ts';
import { type MessageUsage, ofMessage, ofTelemetry, type Telemetry } from './usage.ts';

const ABORTED = /abort/i;
/** A failed request costs nothing, and that is known. */
const FREE = spent({ input: 0, output: 0, cache_read: 0, reasoning: 0 });

export class Requests {
  readonly #to: Drafts;
  /** Of all requests, sub-agents' and the CLI's own too. */
  readonly #requests = spent();
  /** Of messages: counts where the version writes no telemetry. */
  readonly #messages = spent();
  #failed: { readonly failure: FailureFacts; readonly at_ms: Time } | null = null;

  constructor(to: Drafts) {
    this.#to = to;
  }

  message(usage: MessageUsage): void {
    add(this.#messages, ofMessage(usage));
  }

  answered(event: Telemetry): void {
    add(this.#requests, ofTelemetry(event));
  }

  unanswered(): void {
    add(this.#requests, FREE);
  }

  /** The root agent's request failed; false when it was aborted, which is nobody's failure. */
  fail(event: Telemetry): boolean {
    if (ABORTED.test(textOf(event.error_type) ?? '')) return false;
    const message = textOf(event.error_message) ?? '';
    const failure = { message, status: statusOf(event.status_code) };
    this.#failed = { failure, at_ms: this.#to.at_ms };
    return true;
  }

  /** Another request follows in the same turn. */
  retried(): void {
    if (this.#failed) this.#to.retried({}, this.#failed.failure, this.#failed.at_ms);
    this.#failed = null;
  }

  /** The turn is over: its last failure was final. */
  giveUp(): void {
    if (this.#failed) this.#to.failed(this.#failed.failure, this.#failed.at_ms);
    this.#failed = null;
  }

  total(): Spent | null {
    const sum = isEmpty(this.#requests) ? this.#messages : this.#requests;
    return isEmpty(sum) ? null : sum;
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
