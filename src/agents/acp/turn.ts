/** What happens between a prompt and its answer: the model's turns, their texts and calls, and how it ends. */
import { own } from '../../lib/own.ts';
import type { ExitReason } from '../../model/words.ts';
import { type Drafts, endFor } from '../kit/drafts.ts';
import { type Claim, codeOf, type Inside, idOf, nativeOf, textOf, wordOf } from '../kit/native.ts';
import { type Call, Calls, PARENT_FIELDS } from './calls.ts';
import { type Said, Talk } from './messages.ts';
import { Permissions, subjectOf } from './permissions.ts';
import {
  type ClientParams,
  type FromAgent,
  type FromClient,
  firstText,
  metaField,
  nativesOf,
  type Params,
  type Result,
  type Update,
} from './protocol.ts';
import type { Session } from './speaker.ts';
import { PLAN } from './tools.ts';
import { Spending } from './usage.ts';

/** Updates that say nothing of the run: what an editor would show beside it. */
const UPDATES_IGNORED: ReadonlySet<string> = new Set([
  'available_commands_update',
  'compaction_summary_chunk',
  'compaction_update',
  'config_option_update',
  'current_mode_update',
  'session_info_update',
  'terminal_output_chunk',
  'terminal_update',
  'tool_call_content_chunk',
  'user_message',
  'user_message_chunk',
]);
/** `max_tokens` is the model's limit for one answer: the run has ended all the same. */
const STOP_REASONS: Readonly<Record<string, ExitReason>> = {
  end_turn: 'ok',
  max_tokens: 'ok',
  max_turn_requests: 'max_steps',
  refusal: 'agent_error',
  cancelled: 'cancelled',
};
const ERRORS: Partial<Record<ExitReason, string>> = {
  cancelled: 'the turn was cancelled',
  denied: 'the agent stopped when a permission was refused',
  max_steps: 'the limit of turns is reached',
};
/** Without these there is no run. */
const FATAL_METHODS = ['initialize', 'session/load', 'session/new', 'session/resume'];
/** The code of an error that the agent could not handle: the model API's. */
const INTERNAL_ERROR = -32603;
/** `Internal error: 400 invalid request` */
const STATUS_IN_TEXT = /(?:^|: )([45]\d\d)\b/;

export class Turn {
  readonly #to: Drafts;
  readonly #session: Session;
  readonly #calls: Calls;
  readonly #permissions: Permissions;
  readonly #talk: Talk;
  readonly #spending: Spending;
  /** The model's turn has begun and nothing has answered it yet. */
  #open = false;
  #plans = 0;
  /** The last thing that happened is that a call was refused: the agent stopped there. */
  #refused_last = false;

  constructor(to: Drafts, session: Session, resumed: boolean) {
    this.#to = to;
    this.#session = session;
    this.#calls = new Calls(to, session);
    this.#permissions = new Permissions(to);
    this.#talk = new Talk(to);
    this.#spending = new Spending(to, resumed);
  }

  /** Updates by their kind. */
  readonly #updates: Readonly<Record<string, (update: Update) => void>> = {
    agent_message_chunk: (update) => this.#say('message', update),
    agent_thought_chunk: (update) => this.#say('thinking', update),
    agent_message: (update) => this.#sayWhole('message', update),
    agent_thought: (update) => this.#sayWhole('thinking', update),
    tool_call: (update) => this.#call(update),
    tool_call_update: (update) => this.#call(update),
    plan: (update) => this.#plan(update.entries),
    plan_update: (update) => this.#plan(nativeOf(update.plan)?.entries),
    usage_update: (update) => this.#spending.update(update),
    state_update: (update) => {
      if (update.state === 'idle') this.answered(update);
    },
    notice: (update) => this.#to.notice('agent', firstText(update, ['message', 'text', 'title'])),
  };

  update(update: Update | null): void {
    const kind = textOf(update?.sessionUpdate);
    if (update === null || kind === null) {
      this.#to.bad('session/update without an update');
      return;
    }
    const row = own(this.#updates, kind);
    if (row !== undefined) row(update);
    else if (!UPDATES_IGNORED.has(kind) && !kind.startsWith('_')) {
      this.#to.problem('unknown_record', `session/update ${kind}`);
    }
  }

  prompt({ prompt }: ClientParams): void {
    this.#talk.finish(false);
    this.#open = false;
    this.#refused_last = false;
    this.#to.message('user', joined(prompt));
  }

  #say(kind: Said['kind'], update: Update): void {
    this.#spending.request(nativeOf(update._meta));
    const text = wordOf(nativeOf(update.content)?.text);
    if (text === '') return;
    const { own_texts = [] } = this.#session.speaker;
    const first = kind === 'message' && !this.#talk.open;
    if (first && own_texts.some((start) => text.startsWith(start))) this.#to.notice('agent', text);
    else this.#talk.piece(this.#said(kind, update), text);
  }

  /** Version 2: a message given whole. */
  #sayWhole(kind: Said['kind'], update: Update): void {
    const text = joined(update.content);
    if (text !== '') this.#talk.whole(this.#said(kind, update), text);
  }

  #said(kind: Said['kind'], update: Update): Said {
    const marked = metaField(nativeOf(update._meta), PARENT_FIELDS);
    const { unmarked_sub_agents } = this.#session.speaker;
    const parent_call_id = marked ?? (unmarked_sub_agents ? this.#calls.runningTask : null);
    if (parent_call_id === null) {
      this.#calls.finishRefused();
      this.#openTurn();
      this.#refused_last = false;
    }
    return { kind, message_id: idOf(update.messageId), parent_call_id };
  }

  #call(update: Update): void {
    const call_id = idOf(update.toolCallId);
    if (call_id === null) {
      this.#to.bad('a tool call without toolCallId');
      return;
    }
    const call = this.#calls.take(update, call_id, update.sessionUpdate === 'tool_call');
    if (call === null) return;
    this.#begin(call);
    const status = textOf(update.status) ?? 'pending';
    if (call.input !== null || status !== 'pending') this.#calls.request(call);
    const end = this.#calls.finish(call, update);
    if (end !== null && call.parent === null) this.#answeredCall(end.status === 'denied');
  }

  /** The first word of a call, or another one before it is requested, belongs to the model's turn. */
  #begin(call: Call): void {
    this.#talk.finish(false);
    if (call.tool !== null || this.#calls.parentOf(call) !== null) return;
    this.#openTurn();
    this.#refused_last = false;
  }

  #answeredCall(refused: boolean): void {
    this.#open = this.#calls.waiting;
    this.#refused_last ||= refused;
  }

  /** Some agents name a call first by asking whether it may run. */
  permission(key: string | null, params: Params): void {
    const update = subjectOf(params);
    const call_id = idOf(update?.toolCallId);
    const call = update && call_id ? this.#calls.take(update, call_id, false) : null;
    if (call === null) {
      this.#to.bad('a permission is asked for no open call');
      return;
    }
    this.#begin(call);
    this.#calls.request(call);
    this.#permissions.ask(key, call, params);
  }

  permissionAnswer(key: string, result: Inside<FromClient['result']> | null): void {
    if (this.#permissions.answer(key, result)) this.#answeredCall(true);
  }

  /** A plan is what a todo tool wrote, where that has no call of its own. */
  #plan(entries: unknown): void {
    if (this.#calls.writesTodos) return;
    this.#talk.finish(false);
    this.#openTurn();
    this.#plans += 1;
    const call_id = `${PLAN}-${this.#plans}`;
    this.#to.requested(call_id, PLAN, { entries });
    this.#to.finished({ call_id, status: 'ok', exit_code: null, output: null });
    this.#answeredCall(false);
  }

  /** The answer to a prompt. Version 2 answers at once; there a state of the session is the end. */
  answered(result: Result): void {
    this.#spending.prompt(result, this.#session.speaker.usage ?? 'prompt');
    const reason = textOf(result.stopReason);
    if (reason === null) return;
    const known = own(STOP_REASONS, reason);
    const stopped = this.#refused_last;
    this.#talk.finish(known === 'cancelled');
    this.#calls.endTurn(known === 'cancelled');
    this.#open = false;
    if (reason === 'max_tokens') this.#to.notice(reason, 'the answer was cut off');
    const exit_reason = known === 'ok' && stopped ? 'denied' : (known ?? 'agent_error');
    const error = own(ERRORS, exit_reason) ?? `the agent stopped: ${reason}`;
    this.#to.ended(endFor(exit_reason, error));
  }

  /** A request of the client was answered by an error. `method` null: which one is not known. */
  failed(method: string | null, error: Inside<FromAgent['error']>): void {
    const code = codeOf(error.code);
    const message = messageOf(error);
    this.#talk.finish(false);
    if (method !== null && method !== 'session/prompt') {
      if (FATAL_METHODS.includes(method)) this.#to.ended(endFor('agent_error', message));
      else this.#to.notice(method, message);
      return;
    }
    this.#calls.finishRefused();
    this.#open = false;
    const provider = code === INTERNAL_ERROR || httpStatus(code) !== null;
    const shown = Number(STATUS_IN_TEXT.exec(message)?.[1]);
    if (provider) this.#to.failed({ status: httpStatus(code) ?? httpStatus(shown), message });
    this.#to.ended(endFor(provider ? 'provider_error' : 'agent_error', message));
  }

  /** The stream ends here, whatever was still to come. */
  cut(): void {
    this.#talk.finish(true);
    this.#calls.requestAll();
    this.#calls.finishRefused();
  }

  #openTurn(): void {
    if (!this.#open) this.#to.step(null);
    this.#open = true;
  }
}

function joined(content: Claim<{ readonly text?: unknown }> | undefined): string {
  return nativesOf(content)
    .map((part) => wordOf(part.text))
    .join('');
}

function httpStatus(code: number | null): number | null {
  return code !== null && code >= 400 && code <= 599 ? code : null;
}

/** The message says it in general, `data` in particular. */
function messageOf(error: Inside<FromAgent['error']>): string {
  const { data } = error;
  const detail = textOf(data) ?? firstText(nativeOf(data), ['details', 'detail', 'message']);
  const message = textOf(error.message) ?? 'the agent answered with an error';
  return detail === null || message.includes(detail) ? message : `${message}: ${detail}`;
}
