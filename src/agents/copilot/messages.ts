/** Messages, thoughts, and the root agent's turns. */
import type { DataOf } from '../../model/event.ts';
import type { Drafts } from '../kit/drafts.ts';
import { filledOf, idOf, listOf, nativeOf, textOf } from '../kit/native.ts';
import type { Calls } from './calls.ts';
import type { Data } from './records.ts';

const FACTS = ['session_id', 'model', 'agent_version', 'cwd'] as const;
type Facts = Partial<Pick<DataOf<'session_started'>, (typeof FACTS)[number]>>;

export class Conversation {
  readonly calls: Calls;
  readonly #to: Drafts;
  readonly #known: Facts = {};
  /** The root agent's turn has begun, without a message so far. */
  #silent = false;
  /** The root agent's last message asks for no tool, and no turn began after it. */
  finished = false;
  #last: { readonly text: string; readonly message_id: string | null } | null = null;
  #thought: string | null = null;

  constructor(to: Drafts, calls: Calls) {
    this.#to = to;
    this.calls = calls;
  }

  /** Reports what is new about the session; what was known first stays. */
  introduce(news: Facts): void {
    if (!this.#to.root) return;
    const fresh = FACTS.filter((name) => (news[name] ?? null) !== null && !this.#known[name]);
    for (const name of fresh) this.#known[name] = news[name] ?? null;
    if (fresh.length > 0) this.#to.session(this.#known);
  }

  start(data: Data<'session.start'>): void {
    this.introduce({
      session_id: idOf(data.sessionId),
      model: idOf(data.selectedModel),
      agent_version: idOf(data.copilotVersion),
      cwd: filledOf(nativeOf(data.context)?.cwd),
    });
  }

  turn(data: Data<'assistant.turn_start'>): void {
    this.settleTurn();
    this.#silent = true;
    this.finished = false;
    const turn = textOf(data.turnId);
    const interaction = textOf(data.interactionId);
    // Turns count from 0 in every interaction.
    this.#to.step(turn === null || interaction === null ? turn : `${interaction}/${turn}`);
  }

  /** The beginning of a step resets the final text: after a turn without a message the last message is repeated. */
  settleTurn(): void {
    if (this.#silent && this.#last) this.#to.message('assistant', this.#last.text, this.#last);
    this.#silent = false;
  }

  message(data: Data<'assistant.message'>): void {
    const synthetic = this.calls.isCliOwn(data);
    const message_id = idOf(data.messageId);
    const text = filledOf(data.content);
    const requests = listOf(data.toolRequests);
    const own = this.#to.root && !synthetic;
    if (own) {
      this.#silent = false;
      this.finished = requests.length === 0;
      this.introduce({ model: idOf(data.model) });
    }
    this.thought(data.reasoningText, message_id);
    if (text !== null) {
      this.#to.message('assistant', text, { message_id, synthetic });
      if (own) this.#last = { text, message_id };
    }
    for (const item of requests) {
      const request = nativeOf(item);
      if (request === null) this.#to.bad('a tool request that is no object');
      else if (synthetic) this.calls.foreign(request);
      else this.calls.request(request);
    }
  }

  /** stdout has a thought twice: with its message and after it. */
  thought(said: unknown, message_id: string | null): void {
    const text = filledOf(said);
    if (text === null || text === this.#thought) return;
    this.#thought = text;
    this.#to.thinking(text, message_id);
  }

  user(data: Data<'user.message'>): void {
    const text = textOf(data.content);
    if (text === null) return;
    const source = data.source ?? 'user';
    const synthetic = source !== 'user' || data.isAutopilotContinuation === true;
    this.#to.message('user', text, { message_id: idOf(data.messageId), synthetic });
  }

  delta(kind: 'message_delta' | 'thinking_delta', text: unknown, id: unknown): void {
    if (typeof text === 'string') this.#to.delta(kind, text, idOf(id));
  }
}
