/** One run of the stream: the model's messages and results, and the ends of its prompts. */
import { type Drafts, type End, OK, Writer } from '../drafts.ts';
import { type FailureFacts, retryOf } from '../failures.ts';
import { type Inside, idOf, isNative, listOf, nativeOf, textOf, timeOf } from '../native.ts';
import type { Stdout } from './generated/native.ts';
import {
  Conversation,
  endAfter,
  endOf,
  failureOf,
  messageId,
  ROLES_IGNORED,
  spentOf,
} from './messages.ts';
import { Pieces } from './pieces.ts';
import type { Message } from './results.ts';

export class Run extends Writer {
  readonly talk = new Conversation(this.to);
  readonly pieces = new Pieces(this.to);
  #session_id: string | null = null;
  #tools: string[] | null = null;
  #model_known = false;
  /** The end of the run after the model's last message. */
  #end: End = OK;
  /** A failure of the API that may still be retried. */
  #failure: FailureFacts | null = null;
  #retrying = false;
  /** Whether the last record about the run is its end. */
  #ended = false;
  #reopened = false;

  end(): void {
    this.pieces.abandon(this.talk);
    if (this.#ended) this.#giveUp();
    else if (this.#reopened) {
      this.to.problem('no_end_record', 'the stream has no end record for its last prompt');
    }
  }

  introduce(facts: Parameters<Drafts['session']>[0]): void {
    this.#session_id = facts.session_id ?? this.#session_id;
    this.to.session({ tools: this.#tools, ...facts, session_id: this.#session_id });
  }

  /** Responses of RPC mode, which has no `session` record. */
  response(record: Stdout['response']): void {
    const state = record.command === 'get_state' ? nativeOf(record.data) : null;
    if (state === null || this.#session_id !== null) return;
    const model = idOf(nativeOf(state.model)?.id);
    this.#model_known = model !== null;
    this.introduce({ session_id: idOf(state.sessionId), model });
  }

  agentStart(): void {
    this.pieces.abandon(this.talk);
    if (this.#ended && !this.#retrying) this.#giveUp();
    this.#failure = null;
    this.#retrying = false;
    if (!this.#ended) return;
    this.#ended = false;
    this.#reopened = true;
    const error = 'the stream stopped before the end of a later prompt';
    this.to.ended({ exit_reason: 'incomplete', error }, 'none');
  }

  /** Versions without `willRetry` have no `agent_settled`: there this is the end, unless a retry follows. */
  agentEnd(record: Stdout['agent_end']): void {
    this.pieces.abandon(this.talk);
    if (record.willRetry === true) this.#failure = null;
    if (record.willRetry === undefined) this.#close(this.#end);
  }

  agentSettled(record: Stdout['agent_settled']): void {
    this.pieces.abandon(this.talk);
    this.#giveUp();
    const aborted = record.aborted === true && this.#end.exit_reason !== 'cancelled';
    this.#close(aborted ? { exit_reason: 'cancelled', error: null } : this.#end);
  }

  #close(end: End): void {
    this.#ended = true;
    this.to.ended(end);
  }

  /** The failure is final. */
  #giveUp(): void {
    if (this.#failure) this.to.failed(this.#failure);
    this.#failure = null;
  }

  /** Repeats the turn's message and results. Lost ones are read from here. */
  turnEnd(record: Stdout['turn_end']): void {
    const message = nativeOf(record.message) as Message | null;
    if (this.pieces.open && message?.role === 'assistant') {
      // The message's own record is missing. Its calls may nevertheless have run and ended.
      const isKnown = (block: unknown) =>
        isNative(block) && this.talk.calls.get(idOf(block.id) ?? '')?.open === false;
      const content = listOf(message.content).filter((block) => !isKnown(block));
      this.#assistant({ ...message, content } as Message);
    }
    for (const item of listOf(record.toolResults)) {
      const result = nativeOf(item) as Message | null;
      if (result !== null) this.#result(result);
    }
    this.to.at_ms = undefined;
    this.to.put('step_finished', { step_id: null, reason: textOf(message?.stopReason) });
  }

  begin(message: Inside<Stdout['message_start']['message']> | null): void {
    if (message?.role !== 'assistant') return;
    this.pieces.abandon(this.talk);
    this.pieces.begin(messageId(message));
    this.#nameModel(message);
  }

  #nameModel(message: Message): void {
    const model = this.#model_known ? null : idOf(message.model);
    if (model === null) return;
    this.#model_known = true;
    const { at_ms } = this.to;
    this.to.at_ms = timeOf(message);
    this.introduce({ model });
    this.to.at_ms = at_ms;
  }

  message(message: Message | null): void {
    const role = textOf(message?.role);
    if (message === null || role === null) this.to.bad('message_end without message');
    else if (role === 'assistant') this.#assistant(message);
    else if (role === 'toolResult') this.#result(message);
    else if (role === 'user') {
      this.to.at_ms = timeOf(message);
      this.talk.user(message);
    } else if (role === 'system') this.#tools ??= toolNames(message);
    else if (!ROLES_IGNORED.has(role)) this.to.problem('unknown_record', `message/${role}`);
  }

  #result(message: Message): void {
    this.to.at_ms = timeOf(message);
    this.talk.resultMessage(message);
  }

  #assistant(message: Message): void {
    this.pieces.drop();
    this.#nameModel(message);
    this.to.at_ms = endOf(message);
    this.talk.assistant(message);
    const spent = spentOf(message.usage);
    if (spent) this.to.usage('add', spent, textOf(message.model));
    this.#end = endAfter(message);
    this.#failure = message.stopReason === 'error' ? failureOf(message) : null;
  }

  progress(record: Stdout['tool_execution_update']): void {
    this.talk.calls.progress(record);
    const call_id = idOf(record.toolCallId);
    const details = nativeOf(nativeOf(record.partialResult)?.details);
    if (call_id !== null && details) this.talk.children(call_id, details);
  }

  retry(record: Stdout['auto_retry_start']): void {
    this.#retrying = true;
    this.#failure = null;
    const retry = retryOf(record.attempt, record.maxAttempts, record.delayMs);
    this.to.retried(retry, failureOf(record));
  }

  /** The model also writes the summary, which costs tokens. */
  compacted(code: string, record: Stdout['compaction_end']): void {
    const spent = spentOf(nativeOf(record.result)?.usage);
    if (spent) this.to.usage('add', spent);
    this.to.notice(code, textOf(record.errorMessage) ?? textOf(record.reason));
  }
}

function toolNames({ toolsAdded }: Message): string[] | null {
  if (!Array.isArray(toolsAdded)) return null;
  return toolsAdded.map((tool) => idOf(nativeOf(tool)?.name)).filter((name) => name !== null);
}
