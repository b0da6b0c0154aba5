/** Messages, thoughts, the root agent's turns, and the end of a run. */
import type { DataOf } from '../../model/event.ts';
import { type End, OK, Writer } from '../kit/drafts.ts';
import { filledOf, idOf, listOf, nativeOf, statusOf, textOf } from '../kit/native.ts';
import { wordSet } from '../kit/text.ts';
import { Calls } from './calls.ts';
import type { Data } from './records.ts';

const FACTS = ['session_id', 'model', 'agent_version', 'cwd'] as const;
type Facts = Partial<Pick<DataOf<'session_started'>, (typeof FACTS)[number]>>;

/** `session.error` types that are failures of the model API even without an HTTP status. */
const PROVIDER_ERRORS = wordSet(
  'authentication authorization context_limit model_call query quota rate_limit',
);
const REOPENED: End = {
  exit_reason: 'incomplete',
  error: 'the session continued after its end record',
};

class Conversation extends Writer {
  readonly calls = new Calls(this.to);
  readonly #known: Facts = {};
  /** The root agent's turn has begun, without a message so far. */
  #silent = false;
  /** The root agent's last message requests no tool, and no turn began after it. */
  finished = false;
  #last: { readonly text: string; readonly message_id: string | null } | null = null;
  #thought: string | null = null;

  /** Reports new facts about the session. The first value of each fact is kept. */
  introduce(news: Facts): void {
    if (!this.to.root) return;
    const fresh = FACTS.filter((name) => (news[name] ?? null) !== null && !this.#known[name]);
    for (const name of fresh) this.#known[name] = news[name] ?? null;
    if (fresh.length > 0) this.to.session(this.#known);
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
    this.to.step(turn === null || interaction === null ? turn : `${interaction}/${turn}`);
  }

  /** The beginning of a step resets the final text, so after a turn without a message the last message is repeated. */
  settleTurn(): void {
    this.repeatLast();
    this.#silent = false;
  }

  repeatLast(): void {
    if (this.#silent && this.#last) this.to.message('assistant', this.#last.text, this.#last);
  }

  message(data: Data<'assistant.message'>): void {
    const synthetic = this.calls.isCliOwn(data);
    const message_id = idOf(data.messageId);
    const text = filledOf(data.content);
    const requests = listOf(data.toolRequests);
    const own = this.to.root && !synthetic;
    if (own) {
      this.#silent = false;
      this.finished = requests.length === 0;
      this.introduce({ model: idOf(data.model) });
    }
    this.thought(data.reasoningText, message_id);
    if (text !== null) {
      this.to.message('assistant', text, { message_id, synthetic });
      if (own) this.#last = { text, message_id };
    }
    for (const item of requests) {
      const request = nativeOf(item);
      if (request === null) this.to.bad('a tool request that is not an object');
      else if (synthetic) this.calls.foreign(request);
      else this.calls.request(request);
    }
  }

  /** stdout repeats a thought: with its message and after it. */
  thought(said: unknown, message_id: string | null): void {
    const text = filledOf(said);
    if (text === null || text === this.#thought) return;
    this.#thought = text;
    this.to.thinking(text, message_id);
  }

  user(data: Data<'user.message'>): void {
    const text = textOf(data.content);
    if (text === null) return;
    if (this.to.root) this.finished = false;
    const source = data.source ?? 'user';
    const synthetic = source !== 'user' || data.isAutopilotContinuation === true;
    this.to.message('user', text, { message_id: idOf(data.messageId), synthetic });
  }

  delta(kind: 'message_delta' | 'thinking_delta', text: unknown, id: unknown): void {
    if (typeof text === 'string') this.to.delta(kind, text, idOf(id));
  }
}

/** The end comes from `result` on stdout or `session.shutdown` in the session file. Earlier aborts or errors decide. */
export class Ending extends Writer {
  readonly talk = new Conversation(this.to);
  /** The failure of the current interaction. */
  #failure: End | null = null;
  #aborted: End | null = null;
  /** An end record was seen, and nothing after it. */
  #ended = false;
  #reopened = false;

  /** The model or the user continues: earlier failures no longer count. */
  continues(): void {
    this.#failure = null;
    this.#aborted = null;
    if (this.#ended) this.#reopened = true;
    this.#ended = false;
  }

  get #idle(): boolean {
    return this.talk.finished && this.talk.calls.open.size === 0;
  }

  abort(data: Data<'abort'>): void {
    if (!this.to.root) return;
    const reason = textOf(data.reason);
    // With sub-agents in the background the CLI ends with an abort, though there is nothing to abort.
    if (this.#idle && reason === 'user_initiated') return;
    const error = reason === null ? 'aborted' : `aborted: ${reason}`;
    this.#aborted = { exit_reason: 'cancelled', error };
  }

  /** A sub-agent's failure is reported, but does not fail the run. */
  error(data: Data<'session.error'>): void {
    const native_kind = textOf(data.errorType);
    const status = statusOf(data.statusCode);
    const message = textOf(data.message) ?? '';
    const provider = status !== null || PROVIDER_ERRORS.has(native_kind);
    if (provider) this.to.failed({ native_kind, status, message });
    else this.to.notice('session.error', message);
    if (!this.to.root) return;
    this.#failure = { exit_reason: provider ? 'provider_error' : 'agent_error', error: message };
  }

  /** `said`: the end as the end record reports it, which is "ok" after an interruption too. */
  end(said: End): void {
    this.talk.settleTurn();
    this.#ended = true;
    this.to.ended(this.#aborted ?? this.#failure ?? said);
  }

  /**
   * The input ended. An abort or a failure counts without an end record too, but the missing record is a problem.
   * `filed`: a session file has its end record only when the CLI exits, which may be many turns later.
   */
  close(filed: boolean): void {
    this.talk.repeatLast();
    if (this.#ended) return;
    if (filed && this.#idle && this.#aborted === null && this.#failure === null) {
      this.to.ended(OK, 'inferred');
      return;
    }
    const failure = this.#aborted ?? this.#failure ?? (this.#reopened ? REOPENED : null);
    if (failure === null) return;
    this.to.problem('no_end_record', 'the stream has no end record');
    this.to.ended(failure, 'none');
  }
}
