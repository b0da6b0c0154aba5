/** What happens between a prompt and its answer: the model's turns, their texts and calls, and how it ends. */
import { own } from '../../lib/own.ts';
import type { Draft } from '../../model/draft.ts';
import type { ExitReason } from '../../model/words.ts';
import type { Call, Calls } from './calls.ts';
import {
  codeOf,
  firstText,
  idOf,
  metaField,
  type Native,
  nativeOf,
  nativesOf,
  problem,
  textOf,
} from './native.ts';
import { Permissions, subjectOf } from './permissions.ts';
import {
  httpStatus,
  isProviderCode,
  SILENT_UPDATES,
  type Speaker,
  STOP_REASONS,
  speakerOf,
} from './records.ts';
import { Talk } from './talk.ts';
import { PLAN } from './tools.ts';
import { Spending } from './usage.ts';

type Time = number | undefined;

export class Turn {
  readonly #calls: Calls;
  readonly #permissions = new Permissions();
  readonly #talk = new Talk();
  readonly #spending: Spending;
  #speaker: Speaker = speakerOf(null);
  /** The model's turn has begun and nothing has answered it yet. */
  #open = false;
  #plans = 0;
  /** The last thing that happened is that a call was refused: the agent stopped there. */
  #refused_last = false;

  constructor(calls: Calls, resumed: boolean) {
    this.#calls = calls;
    this.#spending = new Spending(resumed);
  }

  set speaker(speaker: Speaker) {
    this.#speaker = speaker;
    this.#calls.mcp_separator = speaker.mcp_separator ?? null;
  }

  prompt(params: Native, at_ms: Time, out: Draft[]): void {
    this.#talk.finish(false, out);
    this.#open = false;
    this.#refused_last = false;
    const text = nativesOf(params.prompt)
      .map((part) => textOf(part.text) ?? '')
      .join('');
    const rest = { message_id: null, parent_call_id: null, synthetic: false, partial: false };
    out.push({ kind: 'message_finished', at_ms, data: { role: 'user', text, ...rest } });
  }

  update(update: Native | null, at_ms: Time, out: Draft[]): void {
    const kind = textOf(update?.sessionUpdate);
    if (update === null || kind === null) {
      out.push(problem('bad_record', 'session/update without an update'));
      return;
    }
    const read = own(UPDATES, kind);
    if (read !== undefined) read(this, update, at_ms, out);
    else if (!SILENT_UPDATES.has(kind) && !kind.startsWith('_')) {
      out.push(problem('unknown_record', `session/update ${kind}`));
    }
  }

  say(kind: 'message' | 'thinking', update: Native, at_ms: Time, out: Draft[]): void {
    this.#spending.request(update._meta, at_ms, out);
    const text = textOf(nativeOf(update.content)?.text) ?? '';
    if (text === '') return;
    const own =
      !this.#talk.open && this.#speaker.own_texts?.some((start) => text.startsWith(start));
    if (own && kind === 'message') {
      out.push({ kind: 'notice', at_ms, data: { code: 'agent', text } });
      return;
    }
    const said = this.#said(kind, update, at_ms, out);
    this.#talk.piece(said, text, at_ms, out);
  }

  /** Version 2: a message given whole. */
  sayWhole(kind: 'message' | 'thinking', update: Native, at_ms: Time, out: Draft[]): void {
    const text = nativesOf(update.content)
      .map((part) => textOf(part.text) ?? '')
      .join('');
    if (text !== '') this.#talk.whole(this.#said(kind, update, at_ms, out), text, at_ms, out);
  }

  #said(kind: 'message' | 'thinking', update: Native, at_ms: Time, out: Draft[]) {
    const marked = metaField(update._meta, ['parentToolUseId', 'parentToolCallId']);
    const running = this.#speaker.unmarked_sub_agents ? this.#calls.runningTask : null;
    const parent_call_id = marked ?? running;
    if (parent_call_id === null) {
      this.#calls.finishRefused(at_ms, out);
      this.#openTurn(at_ms, out);
      this.#refused_last = false;
    }
    return { kind, message_id: idOf(update.messageId), parent_call_id };
  }

  call(update: Native, at_ms: Time, out: Draft[]): void {
    const call_id = idOf(update.toolCallId);
    if (call_id === null) {
      out.push(problem('bad_record', 'a tool call without toolCallId'));
      return;
    }
    const call = this.#calls.take(update, call_id, update.sessionUpdate === 'tool_call');
    if (call === null) return;
    this.#begin(call, at_ms, out);
    const status = textOf(update.status) ?? 'pending';
    if (call.input !== null || status !== 'pending') this.#calls.request(call, at_ms, out);
    const end = this.#calls.finish(call, update, at_ms, out);
    if (end !== null && call.parent === null) this.#answeredCall(end.status === 'denied');
  }

  /** The first word of a call, or another one before it is requested, belongs to the model's turn. */
  #begin(call: Call, at_ms: Time, out: Draft[]): void {
    this.#talk.finish(false, out);
    if (call.tool !== null || this.#calls.parentOf(call) !== null) return;
    this.#openTurn(at_ms, out);
    this.#refused_last = false;
  }

  #answeredCall(refused: boolean): void {
    this.#open = this.#calls.waiting;
    this.#refused_last ||= refused;
  }

  /** Some agents tell of a call first by asking whether it may run. */
  permission(key: string | null, params: Native, at_ms: Time, out: Draft[]): void {
    const update = subjectOf(params);
    const call_id = idOf(update?.toolCallId);
    const call = update && call_id ? this.#calls.take(update, call_id, false) : null;
    if (call === null) {
      out.push(problem('bad_record', 'a permission is asked for no open call'));
      return;
    }
    this.#begin(call, at_ms, out);
    this.#calls.request(call, at_ms, out);
    this.#permissions.ask({ key, call, params }, at_ms, out);
  }

  permissionAnswer(key: string, result: Native | null, at_ms: Time, out: Draft[]): void {
    if (this.#permissions.answer(key, result, at_ms, out)) this.#answeredCall(true);
  }

  /** A plan is what a todo tool wrote, which is told by no call of its own. */
  plan(entries: unknown, at_ms: Time, out: Draft[]): void {
    if (this.#calls.writesTodos) return;
    this.#talk.finish(false, out);
    this.#openTurn(at_ms, out);
    this.#plans += 1;
    const call_id = `${PLAN}-${this.#plans}`;
    const request = { call_id, native_tool: PLAN, input: { entries }, parent_call_id: null };
    out.push({ kind: 'call_requested', at_ms, data: request });
    const end = { call_id, status: 'ok' as const, exit_code: null, output: null };
    out.push({ kind: 'call_finished', at_ms, data: end });
    this.#answeredCall(false);
  }

  usage(update: Native, at_ms: Time, out: Draft[]): void {
    this.#spending.update(update, at_ms, out);
  }

  /** The answer to a prompt. Version 2 answers at once and tells the end by a state of the session. */
  answered(result: Native, at_ms: Time, out: Draft[]): void {
    this.#spending.prompt(result, this.#speaker.usage ?? 'prompt', at_ms, out);
    const reason = textOf(result.stopReason);
    if (reason !== null) this.#ended(reason, at_ms, out);
  }

  #ended(reason: string, at_ms: Time, out: Draft[]): void {
    const known = own(STOP_REASONS, reason);
    const cancelled = known === 'cancelled';
    this.#talk.finish(cancelled, out);
    const stopped = this.#refused_last;
    this.#calls.finishRefused(at_ms, out);
    if (cancelled) this.#calls.cancelAll(at_ms, out);
    this.#calls.requestAll(at_ms, out);
    this.#calls.finishUnanswered(at_ms, out);
    this.#open = false;
    const exit_reason = known === 'ok' && stopped ? 'denied' : (known ?? 'agent_error');
    if (reason === 'max_tokens') {
      out.push({ kind: 'notice', at_ms, data: { code: reason, text: 'the answer was cut off' } });
    }
    this.#end(exit_reason, own(ERRORS, exit_reason) ?? `the agent stopped: ${reason}`, at_ms, out);
  }

  /** A request of the client was answered by an error. `method` null: which one is not known. */
  failed(method: string | null, error: Native, at_ms: Time, out: Draft[]): void {
    const code = codeOf(error.code);
    const message = messageOf(error);
    this.#talk.finish(false, out);
    if (method !== null && method !== 'session/prompt') {
      if (FATAL_METHODS.has(method)) this.#end('agent_error', message, at_ms, out);
      else out.push({ kind: 'notice', at_ms, data: { code: method, text: message } });
      return;
    }
    this.#calls.finishRefused(at_ms, out);
    this.#open = false;
    if (!isProviderCode(code)) {
      this.#end('agent_error', message, at_ms, out);
      return;
    }
    const told = Number(STATUS_IN_TEXT.exec(message)?.[1]);
    const status = httpStatus(code) ?? httpStatus(told);
    const data = { kind: null, status, retryable: null, message };
    out.push({ kind: 'provider_failed', at_ms, data });
    this.#end('provider_error', message, at_ms, out);
  }

  #end(exit_reason: ExitReason, error: string, at_ms: Time, out: Draft[]): void {
    const told = exit_reason === 'ok' ? null : error;
    const data = { exit_reason, error: told, evidence: 'native_result' as const };
    out.push({ kind: 'agent_ended', at_ms, data });
  }

  /** The stream ends here, whatever was still to come. */
  cut(out: Draft[]): void {
    this.#talk.finish(true, out);
    this.#calls.requestAll(undefined, out);
    this.#calls.finishRefused(undefined, out);
  }

  #openTurn(at_ms: Time, out: Draft[]): void {
    if (this.#open) return;
    this.#open = true;
    const data = { step_id: null, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data });
  }
}

type Read = (turn: Turn, update: Native, at_ms: Time, out: Draft[]) => void;

const UPDATES: Readonly<Record<string, Read>> = {
  agent_message_chunk: (turn, ...rest) => turn.say('message', ...rest),
  agent_thought_chunk: (turn, ...rest) => turn.say('thinking', ...rest),
  agent_message: (turn, ...rest) => turn.sayWhole('message', ...rest),
  agent_thought: (turn, ...rest) => turn.sayWhole('thinking', ...rest),
  tool_call: (turn, ...rest) => turn.call(...rest),
  tool_call_update: (turn, ...rest) => turn.call(...rest),
  plan: (turn, update, ...rest) => turn.plan(update.entries, ...rest),
  plan_update: (turn, update, ...rest) => turn.plan(nativeOf(update.plan)?.entries, ...rest),
  usage_update: (turn, ...rest) => turn.usage(...rest),
  state_update: (turn, update, ...rest) => {
    if (update.state === 'idle') turn.answered(update, ...rest);
  },
  notice: (_turn, update, at_ms, out) => {
    const text = firstText(update, ['message', 'text', 'title']);
    out.push({ kind: 'notice', at_ms, data: { code: 'agent', text } });
  },
};

const ERRORS: Partial<Record<ExitReason, string>> = {
  cancelled: 'the turn was cancelled',
  denied: 'the agent stopped when a permission was refused',
  max_steps: 'the limit of turns is reached',
};

/** `Internal error: 400 invalid request` */
const STATUS_IN_TEXT = /(?:^|: )([45]\d\d)\b/;

/** Without these there is no run. */
const FATAL_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'session/load',
  'session/new',
  'session/resume',
]);

/** The message says it in general, `data` in particular. */
function messageOf(error: Native): string {
  const data = error.data;
  const detail = textOf(data) ?? firstText(nativeOf(data), ['details', 'detail', 'message']);
  const message = textOf(error.message) ?? 'the agent answered with an error';
  return detail === null || message.includes(detail) ? message : `${message}: ${detail}`;
}
