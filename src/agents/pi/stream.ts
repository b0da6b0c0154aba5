/**
 * stdout of `--mode json` (and of `--mode rpc`, which has the same events). Records have no times of their own, and almost
 * everything is repeated: a message in its updates, its end, its turn and its run; a result likewise.
 */
import { LIMITS } from '../../lib/limits.ts';
import { decoder } from '../kit/decoder.ts';
import { type Drafts, type End, OK } from '../kit/drafts.ts';
import type { FailureFacts } from '../kit/failures.ts';
import {
  countOf,
  durationOf,
  type Inside,
  idOf,
  isNative,
  listOf,
  nativeOf,
  textOf,
} from '../kit/native.ts';
import type { Stdout } from './generated/native.ts';
import {
  beginOf,
  Conversation,
  endAfter,
  endOf,
  failureOf,
  messageId,
  ROLES_IGNORED,
  spentOf,
} from './messages.ts';
import type { Block, Message } from './records.ts';
import { ofExecution } from './results.ts';

/** Known, and without an event. */
const IGNORED = [
  'auto_retry_end',
  'bash_execution_update',
  'entry_appended',
  'queue_update',
  'session_info_changed',
  'summarization_retry_attempt_start',
  'summarization_retry_finished',
  'thinking_level_changed',
];
const NOTICES = [
  'auto_compaction_start',
  'compaction_start',
  'extension_error',
  'extension_ui_request',
  'summarization_retry_scheduled',
];
/** `assistantMessageEvent` types that repeat what the finished message says. */
const UPDATES_IGNORED: ReadonlySet<string> = new Set([
  'done',
  'error',
  'start',
  'text_end',
  'text_start',
  'thinking_end',
  'thinking_start',
  'toolcall_delta',
  'toolcall_start',
]);

export const stream = () =>
  decoder<Stdout>((to) => {
    const run = new Run(to);
    return {
      records: {
        message_update: (record) => run.update(record),
        message_start: (record) => run.begin(nativeOf(record.message)),
        message_end: (record) => run.message(nativeOf(record.message)),
        tool_execution_start: (record) => run.talk.calls.announce(record, run.talk.measured),
        tool_execution_update: (record) => run.progress(record),
        tool_execution_end: (record) => run.talk.result(ofExecution(record)),
        turn_start() {
          run.abandon();
          to.step(null);
        },
        turn_end: (record) => run.turnEnd(record),
        agent_start: () => run.agentStart(),
        agent_end: (record) => run.agentEnd(record),
        agent_settled: (record) => run.agentSettled(record),
        session: (record) =>
          run.introduce({ session_id: idOf(record.id), cwd: textOf(record.cwd) }),
        response: (record) => run.response(record),
        auto_retry_start: (record) => run.retry(record),
        compaction_end: (record) => run.compacted('compaction_end', record),
        auto_compaction_end: (record) => run.compacted('auto_compaction_end', record),
      },
      ignored: IGNORED,
      notices: NOTICES,
      noticeText: ({ title, error, errorMessage, reason }) =>
        textOf([title, error, errorMessage, reason].find(textOf)),
      end: () => run.end(),
    };
  });

/** A message of the model that has begun and not ended. */
interface Unfinished {
  readonly message_id: string | null;
  /** Its text so far, by content block. */
  readonly texts: Map<number, string>;
  /** Its whole calls so far. */
  readonly calls: Block[];
  chars: number;
}

class Run {
  readonly talk: Conversation;
  readonly #to: Drafts;
  #session_id: string | null = null;
  #tools: string[] | null = null;
  #model_known = false;
  #message: Unfinished | null = null;
  /** After the model's last message. */
  #end: End = OK;
  /** A failure of the API that may still be retried. */
  #failure: FailureFacts | null = null;
  #retrying = false;
  /** Whether the last record about the run is that it ended. */
  #ended = false;
  #reopened = false;

  constructor(to: Drafts) {
    this.#to = to;
    this.talk = new Conversation(to);
  }

  end(): void {
    this.abandon();
    if (this.#ended) this.#giveUp();
    else if (this.#reopened) {
      this.#to.problem('no_end_record', 'the stream has no end record of its last prompt');
    }
  }

  introduce(facts: {
    session_id?: string | null;
    model?: string | null;
    cwd?: string | null;
  }): void {
    this.#session_id = facts.session_id ?? this.#session_id;
    this.#to.session({ tools: this.#tools, ...facts, session_id: this.#session_id });
  }

  /** Answers of RPC mode, which has no `session` record. */
  response(record: Stdout['response']): void {
    const state = record.command === 'get_state' ? nativeOf(record.data) : null;
    if (state === null || this.#session_id !== null) return;
    const model = idOf(nativeOf(state.model)?.id);
    this.#model_known = model !== null;
    this.introduce({ session_id: idOf(state.sessionId), model });
  }

  agentStart(): void {
    this.abandon();
    if (this.#ended && !this.#retrying) this.#giveUp();
    this.#failure = null;
    this.#retrying = false;
    if (!this.#ended) return;
    this.#ended = false;
    this.#reopened = true;
    const error = 'the stream stopped before the end of a later prompt';
    this.#to.ended({ exit_reason: 'incomplete', error }, 'none');
  }

  /** Versions without `willRetry` have no `agent_settled`: there this is the end, unless a retry follows. */
  agentEnd(record: Stdout['agent_end']): void {
    this.abandon();
    if (record.willRetry === true) this.#failure = null;
    if (record.willRetry === undefined) this.#close(this.#end);
  }

  agentSettled(record: Stdout['agent_settled']): void {
    this.abandon();
    this.#giveUp();
    const aborted = record.aborted === true && this.#end.exit_reason !== 'cancelled';
    this.#close(aborted ? { exit_reason: 'cancelled', error: null } : this.#end);
  }

  #close(end: End): void {
    this.#ended = true;
    this.#to.ended(end);
  }

  /** The failure is final. */
  #giveUp(): void {
    if (this.#failure) this.#to.failed(this.#failure);
    this.#failure = null;
  }

  /** Repeats the turn's message and results; what was lost of them is taken from here. */
  turnEnd(record: Stdout['turn_end']): void {
    const message = nativeOf(record.message) as Message | null;
    if (this.#message && message?.role === 'assistant') {
      // The message's own record is missing; its calls may have run and ended all the same.
      const isKnown = (block: unknown) =>
        isNative(block) && this.talk.calls.get(idOf(block.id) ?? '')?.open === false;
      const content = listOf(message.content).filter((block) => !isKnown(block));
      this.#assistant({ ...message, content } as Message);
    }
    for (const item of listOf(record.toolResults)) {
      const result = nativeOf(item) as Message | null;
      if (result !== null) this.#result(result);
    }
    this.#to.at_ms = undefined;
    this.#to.put('step_finished', { step_id: null, reason: textOf(message?.stopReason) });
  }

  begin(message: Inside<Stdout['message_start']['message']> | null): void {
    if (message?.role !== 'assistant') return;
    this.abandon();
    this.#message = { message_id: messageId(message), texts: new Map(), calls: [], chars: 0 };
    this.#nameModel(message);
  }

  #nameModel(message: Message): void {
    const model = this.#model_known ? null : idOf(message.model);
    if (model === null) return;
    this.#model_known = true;
    const { at_ms } = this.#to;
    this.#to.at_ms = beginOf(message);
    this.introduce({ model });
    this.#to.at_ms = at_ms;
  }

  update(record: Stdout['message_update']): void {
    const event = nativeOf(record.assistantMessageEvent);
    const type = textOf(event?.type);
    if (event === null || type === null) {
      this.#to.bad('message_update without its event');
    } else if (type === 'text_delta' || type === 'thinking_delta') {
      this.#delta(type, textOf(event.delta), countOf(event.contentIndex) ?? 0);
    } else if (type === 'toolcall_end') {
      const call = nativeOf(event.toolCall);
      const held = this.#message?.calls;
      if (call && held && held.length < LIMITS.unclaimed_prompts_max) held.push(call as Block);
    } else if (!UPDATES_IGNORED.has(type)) {
      this.#to.problem('unknown_record', `message_update/${type}`);
    }
  }

  #delta(type: 'text_delta' | 'thinking_delta', text: string | null, index: number): void {
    if (text === null) {
      this.#to.bad(`message_update/${type} without delta`);
      return;
    }
    const message = this.#message;
    const kind = type === 'text_delta' ? 'message_delta' : 'thinking_delta';
    this.#to.delta(kind, text, message?.message_id ?? null);
    if (type === 'thinking_delta' || message === null) return;
    message.chars += text.length;
    if (message.chars > LIMITS.line_bytes_max) return;
    message.texts.set(index, (message.texts.get(index) ?? '') + text);
  }

  message(message: Message | null): void {
    const role = textOf(message?.role);
    if (message === null || role === null) this.#to.bad('message_end without message');
    else if (role === 'assistant') this.#assistant(message);
    else if (role === 'toolResult') this.#result(message);
    else if (role === 'user') {
      this.#to.at_ms = beginOf(message);
      this.talk.user(message);
    } else if (role === 'system') this.#tools ??= toolNames(message);
    else if (!ROLES_IGNORED.has(role)) this.#to.problem('unknown_record', `message/${role}`);
  }

  #result(message: Message): void {
    this.#to.at_ms = beginOf(message);
    this.talk.resultMessage(message);
  }

  #assistant(message: Message): void {
    this.#message = null;
    this.#nameModel(message);
    this.#to.at_ms = endOf(message);
    this.talk.assistant(message);
    const spent = spentOf(message.usage);
    if (spent) this.#to.usage('add', spent, textOf(message.model));
    this.#end = endAfter(message);
    this.#failure = message.stopReason === 'error' ? failureOf(message) : null;
  }

  /** A message that never ended: its pieces are all there is. */
  abandon(): void {
    const message = this.#message;
    if (message === null) return;
    this.#message = null;
    const { message_id } = message;
    for (const text of message.texts.values()) {
      this.#to.message('assistant', text, { message_id, partial: true });
    }
    const origin = { measured: this.talk.measured, cut: false };
    for (const call of message.calls) this.talk.calls.request(call, origin);
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
    const attempt = countOf(record.attempt);
    const max_attempts = countOf(record.maxAttempts);
    const backoff_ms = durationOf(record.delayMs);
    this.#to.retried({ attempt, max_attempts, backoff_ms }, failureOf(record));
  }

  /** The summary is written by the model too, and costs. */
  compacted(code: string, record: Stdout['compaction_end']): void {
    const spent = spentOf(nativeOf(record.result)?.usage);
    if (spent) this.#to.usage('add', spent);
    this.#to.notice(code, textOf(record.errorMessage) ?? textOf(record.reason));
  }
}

function toolNames({ toolsAdded }: Message): string[] | null {
  if (!Array.isArray(toolsAdded)) return null;
  return toolsAdded.map((tool) => idOf(nativeOf(tool)?.name)).filter((name) => name !== null);
}
