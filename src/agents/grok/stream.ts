/**
 * stdout of `--output-format streaming-json`. A response of the model is its pieces of text and thought, then `usage`,
 * then its calls. Records have no times.
 */
import { decoder } from '../kit/decoder.ts';
import { type Drafts, Writer } from '../kit/drafts.ts';
import { idOf, listOf, nativeOf, textOf } from '../kit/native.ts';
import { Talk } from '../kit/pieces.ts';
import { Calls } from './calls.ts';
import { endOf, failureOf, modelIn, spentOf } from './ending.ts';
import type { Stdout } from './generated/native.ts';
import type { Update } from './native.ts';

export const stream = () =>
  decoder<Stdout>((to) => {
    const run = new Run(to);
    return {
      records: {
        text: ({ data }) => run.piece('message', data),
        thought: ({ data }) => run.piece('thinking', data),
        usage: (record) => run.response(record),
        tool_call(record) {
          run.talk.finish(false);
          run.speak();
          run.calls.request(record as Update, record.toolName);
        },
        tool_call_update: (record) => run.calls.update(record),
        available_commands: ({ tools }) => run.offer(listOf(tools)),
        max_turns_reached() {
          run.limited = true;
        },
        end: (record) => run.ended(record),
        error: ({ message }) => run.failed(textOf(message) ?? ''),
      },
      ignored: ['plan'],
      notices: ['auto_compact_completed', 'auto_compact_failed', 'auto_compact_started'],
      noticeText: ({ message }) => textOf(message),
      end: () => run.talk.finish(true),
    };
  });

class Run extends Writer {
  readonly talk: Talk;
  readonly calls: Calls;
  limited = false;
  /** A response has begun, and its `usage` has not been seen. */
  #open = false;
  /** The model has responded since the last call of the root agent: while a task is open, this is a sub-agent. */
  #responded = false;

  constructor(to: Drafts) {
    super(to);
    this.talk = new Talk(to);
    this.calls = new Calls(to);
  }

  /**
   * Sub-agents are not marked. The root agent waits for the calls of its response: what the model says while one of
   * them is a task comes from the task's sub-agent. With several tasks the sub-agent is unknown.
   */
  speak(): void {
    const { tasks } = this.calls;
    if (tasks.length === 0 || !this.#responded) this.to.speak(null);
    else this.to.speak(tasks.length === 1 ? (tasks[0] ?? null) : null, false);
  }

  #respond(): void {
    this.#responded = this.calls.tasks.length > 0;
    this.speak();
    if (this.#open) return;
    this.#open = true;
    if (this.to.root) this.to.step(null);
  }

  piece(kind: 'message' | 'thinking', data: unknown): void {
    const text = this.to.need(textOf(data), `${kind} without data`);
    if (text === null) return;
    this.#respond();
    if (!this.to.lost)
      this.talk.piece({ kind, message_id: null, parent_call_id: this.to.parent }, text);
  }

  /** The end of a response. */
  response(record: Stdout['usage']): void {
    this.talk.finish(false);
    this.#respond();
    this.#open = false;
    const figures = spentOf(nativeOf(record.usage), null);
    if (figures) this.to.usage('add', figures);
  }

  /** The list is repeated. */
  offer(tools: readonly unknown[]): void {
    const names = tools.map(idOf).filter((name) => name !== null);
    this.to.introduce({ tools: names });
  }

  ended(record: Stdout['end']): void {
    this.talk.finish(false);
    const model = modelIn(record.modelUsage);
    this.to.session({ session_id: idOf(record.sessionId), model });
    const figures = spentOf(nativeOf(record.usage), record.total_cost_usd);
    if (figures) this.to.usage('total', figures, model);
    const { refused } = this.calls;
    this.to.ended(endOf({ reason: textOf(record.stopReason), refused, limited: this.limited }));
  }

  failed(error: string): void {
    this.talk.finish(true);
    const failure = failureOf(error);
    if (failure.status !== null) this.to.failed(failure);
    const exit_reason = failure.status === null ? 'agent_error' : 'provider_error';
    this.to.ended({ exit_reason, error });
  }
}
