/** Events between a prompt and its answer: the model's turns, their texts and calls. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { own } from '../../lib/own.ts';
import { type Drafts, Writer } from '../kit/drafts.ts';
import { type Inside, idOf, nativeOf, textOf, wordOf } from '../kit/native.ts';
import { type Said, Talk } from '../kit/pieces.ts';
import { words } from '../kit/text.ts';
import { type Call, Calls, PARENT_FIELDS } from './calls.ts';
import { endBy, putError } from './ending.ts';
import {
  type ClientParams,
  type Fault,
  type FromClient,
  firstText,
  joined,
  metaField,
  nativesOf,
  type Params,
  type Result,
  type Update,
} from './protocol.ts';
import type { Speaker } from './speaker.ts';
import { PLAN } from './tools.ts';
import { Spending } from './usage.ts';

/** Updates without information about the run, for display in an editor. */
const UPDATES_IGNORED: ReadonlySet<string> = new Set(
  words(`
    available_commands_update compaction_summary_chunk compaction_update config_option_update
    current_mode_update session_info_update terminal_output_chunk terminal_update
    tool_call_content_chunk user_message user_message_chunk
  `),
);

export class Turn extends Writer {
  speaker: Speaker = {};
  readonly #calls = new Calls(this.to, this);
  readonly #spending: Spending;
  readonly #talk = new Talk(this.to);
  /** Open permission requests; `kinds`: the kinds of the options, by their ids. */
  readonly #asked = new RecentMap<string, { call: Call; kinds: ReadonlyMap<string, string> }>(
    LIMITS.open_calls_max,
  );
  /** The model's turn has begun and has no answer yet. */
  #open = false;
  #plans = 0;
  /** A refused call was the last event: the agent stopped there. */
  #refused_last = false;

  constructor(to: Drafts, resumed: boolean) {
    super(to);
    this.#spending = new Spending(to, resumed);
  }

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
    notice: (update) => this.to.notice('agent', firstText(update, ['message', 'text', 'title'])),
  };

  update(update: Update | null) {
    const kind = textOf(update?.sessionUpdate);
    if (update === null || kind === null) return this.to.bad('session/update without an update');
    const row = own(this.#updates, kind);
    if (row !== undefined) row(update);
    else if (!UPDATES_IGNORED.has(kind) && !kind.startsWith('_')) {
      this.to.problem('unknown_record', `session/update ${kind}`);
    }
  }

  prompt({ prompt }: ClientParams): void {
    this.#talk.finish(false);
    this.#open = false;
    this.#refused_last = false;
    this.to.message('user', joined(prompt));
  }

  #say(kind: Said['kind'], update: Update): void {
    this.#spending.request(nativeOf(update._meta));
    const text = wordOf(nativeOf(update.content)?.text);
    if (text === '') return;
    const { own_texts = [] } = this.speaker;
    const first = kind === 'message' && !this.#talk.open;
    if (first && own_texts.some((start) => text.startsWith(start))) this.to.notice('agent', text);
    else this.#talk.piece(this.#said(kind, update), text);
  }

  #sayWhole(kind: Said['kind'], update: Update): void {
    const text = joined(update.content);
    if (text !== '') this.#talk.whole(this.#said(kind, update), text);
  }

  #said(kind: Said['kind'], update: Update): Said {
    const marked = metaField(nativeOf(update._meta), PARENT_FIELDS);
    const { unmarked_sub_agents } = this.speaker;
    const parent_call_id = marked ?? (unmarked_sub_agents ? this.#calls.runningTask : null);
    if (parent_call_id === null) {
      this.#calls.finishRefused();
      this.#openTurn();
      this.#refused_last = false;
    }
    return { kind, message_id: idOf(update.messageId), parent_call_id };
  }

  #call(update: Update) {
    const call_id = idOf(update.toolCallId);
    if (call_id === null) return this.to.bad('a tool call without toolCallId');
    const call = this.#calls.take(update, call_id, update.sessionUpdate === 'tool_call');
    if (call === null) return;
    this.#begin(call);
    const status = textOf(update.status) ?? 'pending';
    if (call.input !== null || status !== 'pending') this.#calls.request(call);
    const end = this.#calls.finish(call, update);
    if (end !== null && call.parent === null) this.#answeredCall(end.status === 'denied');
  }

  /** The first update of a call, or a later one before it is requested, belongs to the model's turn. */
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

  /** The agent asks its client whether a call may run. Some agents name the call here first. */
  permission(request_id: string | null, params: Params) {
    const update = nativeOf(params.toolCall) ?? nativeOf(nativeOf(params.subject)?.toolCall);
    const id = idOf(update?.toolCallId);
    const call = update && id ? this.#calls.take(update, id, false) : null;
    if (call === null) return this.to.bad('a permission request for a call that is not open');
    this.#begin(call);
    this.#calls.request(call);
    call.asked = true;
    const options = nativesOf(params.options);
    const kinds = new Map(options.map(({ optionId, kind }) => [wordOf(optionId), wordOf(kind)]));
    if (request_id !== null) this.#asked.set(request_id, { call, kinds });
    const reason = textOf(params.description) ?? textOf(update?.title);
    const { call_id, called: tool } = call;
    this.to.put('permission_asked', { request_id, call_id, tool, reason });
  }

  /** The client answers by policy. */
  permissionAnswer(request_id: string, result: Inside<FromClient['result']> | null): void {
    const asked = this.#asked.get(request_id);
    if (asked === undefined) return;
    this.#asked.delete(request_id);
    const { call, kinds } = asked;
    const { call_id, called: tool } = call;
    const outcome = nativeOf(result?.outcome);
    const kind = kinds.get(wordOf(outcome?.optionId)) ?? '';
    const decision = kind.startsWith('allow') ? 'allow' : 'deny';
    this.to.put('permission_answered', { request_id, call_id, tool, decision, source: 'client' });
    this.to.decided(call_id, decision, kind === '' ? textOf(outcome?.outcome) : kind, 'client');
    call.asked = false;
    call.refused = decision === 'deny';
    if (call.refused) this.#answeredCall(true);
    else this.to.put('call_started', { call_id });
  }

  /** A plan is a todo list that has no call of its own. */
  #plan(entries: unknown): void {
    if (this.#calls.writesTodos) return;
    this.#talk.finish(false);
    this.#openTurn();
    this.#plans += 1;
    const call_id = `${PLAN}-${this.#plans}`;
    this.to.requested(call_id, PLAN, { entries });
    this.to.finished({ call_id, status: 'ok', exit_code: null, output: null });
    this.#answeredCall(false);
  }

  /** The answer to a prompt. Version 2 answers immediately; there the end is a state of the session. */
  answered(result: Result): void {
    this.#spending.prompt(result, this.speaker.usage ?? 'prompt');
    const reason = textOf(result.stopReason);
    if (reason === null) return;
    this.#talk.finish(reason === 'cancelled');
    this.#calls.endTurn(reason === 'cancelled');
    this.#open = false;
    if (reason === 'max_tokens') this.to.notice(reason, 'the answer was cut off');
    this.to.ended(endBy(reason, this.#refused_last));
  }

  /** A request of the client was answered with an error. `method` null: the request is unknown. */
  failed(method: string | null, error: Fault): void {
    const prompt = method === null || method === 'session/prompt';
    this.#talk.finish(false);
    if (prompt) this.#calls.finishRefused();
    if (prompt) this.#open = false;
    putError(this.to, prompt ? null : method, error);
  }

  /** The stream ends here, even if more was expected. */
  cut(): void {
    this.#talk.finish(true);
    this.#calls.requestAll();
    this.#calls.finishRefused();
  }

  #openTurn(): void {
    if (!this.#open) this.to.step(null);
    this.#open = true;
  }
}
