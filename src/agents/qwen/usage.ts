/** Token figures as the CLI spells them, and the model requests of a session file. Native input includes the cache. */
import { type Time, Writer } from '../kit/drafts.ts';
import type { FailureFacts } from '../kit/failures.ts';
import { type Inside, idOf, type Merged, statusOf, textOf, tokensOf } from '../kit/native.ts';
import { add, isEmpty, type Spent, spent, without } from '../kit/usage.ts';
import type { Session, Stdout } from './generated/native.ts';

/** The end record of any outcome. */
export type Result = Merged<Stdout, `result/${string}`>;
type StreamUsage = Inside<Result['usage']>;
export type Telemetry = Inside<Inside<Session['system/ui_telemetry']['systemPayload']>['uiEvent']>;
type MessageUsage = Inside<Session['assistant']['usageMetadata']>;

/** `usage` of an assistant line or of the result on stdout. */
export function ofStream(usage: StreamUsage): Spent {
  const cache_read = tokensOf(usage.cache_read_input_tokens);
  const input = without(tokensOf(usage.input_tokens), cache_read);
  const cache_write = tokensOf(usage.cache_creation_input_tokens);
  return spent({ input, output: tokensOf(usage.output_tokens), cache_read, cache_write });
}

/** A session file's record of one answered model request. */
function ofTelemetry(event: Telemetry): Spent {
  const cache_read = tokensOf(event.cached_content_token_count);
  const input = without(tokensOf(event.input_token_count), cache_read);
  const reasoning = tokensOf(event.thoughts_token_count);
  return spent({ input, output: tokensOf(event.output_token_count), cache_read, reasoning });
}

/** `usageMetadata` of a session file's message. */
function ofMessage(usage: MessageUsage): Spent {
  const cache_read = tokensOf(usage.cachedContentTokenCount);
  const input = without(tokensOf(usage.promptTokenCount), cache_read);
  const reasoning = tokensOf(usage.thoughtsTokenCount);
  return spent({ input, output: tokensOf(usage.candidatesTokenCount), cache_read, reasoning });
}

/** Lines before the last one of a turn have zeros as placeholders. */
export function isPlaceholder(usage: StreamUsage | null): boolean {
  return !usage || (!tokensOf(usage.input_tokens) && !tokensOf(usage.output_tokens));
}

const ABORTED = /abort/i;
/** A failed request is known to cost nothing. */
const FREE = spent({ input: 0, output: 0, cache_read: 0, reasoning: 0 });

/** The model requests of a session file: their cost, failures and retries. */
export class Requests extends Writer {
  /** Sum of all requests, including sub-agents' and the CLI's own. */
  readonly #requests = spent();
  /** Sum of messages, for versions without telemetry. */
  readonly #messages = spent();
  #failed: { readonly failure: FailureFacts; readonly at_ms: Time } | null = null;

  message(usage: MessageUsage): void {
    add(this.#messages, ofMessage(usage));
  }

  answered(event: Telemetry): void {
    const spent = ofTelemetry(event);
    add(this.#requests, spent);
    if (!isEmpty(spent)) this.to.usage('add', spent, textOf(event.model));
  }

  unanswered(): void {
    add(this.#requests, FREE);
  }

  /** The root agent's request failed. False if it was aborted, which is not a failure. */
  fail(event: Telemetry): boolean {
    if (ABORTED.test(textOf(event.error_type) ?? '')) return false;
    const message = textOf(event.error_message) ?? '';
    const failure = { message, status: statusOf(event.status_code) };
    this.#failed = { failure, at_ms: this.to.at_ms };
    return true;
  }

  /** Another request follows in the same turn. */
  retried(): void {
    if (this.#failed) this.to.retried({}, this.#failed.failure, this.#failed.at_ms);
    this.#failed = null;
  }

  /** The turn ended: its last failure was final. */
  giveUp(): void {
    this.putFailure();
    this.#failed = null;
  }

  putFailure(): void {
    if (this.#failed) this.to.failed(this.#failed.failure, this.#failed.at_ms);
  }

  total(): Spent | null {
    const sum = isEmpty(this.#requests) ? this.#messages : this.#requests;
    return isEmpty(sum) ? null : sum;
  }
}

/** The sub-agent of a telemetry event; null for the root agent, which has an empty part in its prompt ids. */
export function agentOf(event: Telemetry): string | null {
  const named = idOf(event.subagent_name) ?? idOf(event.subagent_id);
  if (named !== null) return named;
  const prompt_id = textOf(event.prompt_id) ?? '';
  const from = prompt_id.indexOf('#');
  const middle = from < 0 ? '' : prompt_id.slice(from, prompt_id.lastIndexOf('#'));
  return idOf(middle.replaceAll('#', ''));
}
