/** Turns of the app-server. All threads share one stream; only the root agent's turns make steps and the end. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { putUnknown } from '../kit/blocks.ts';
import { OK, Writer } from '../kit/drafts.ts';
import { type Inside, idOf, listOf, momentOf, nativeOf, textOf } from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { isEmpty } from '../kit/usage.ts';
import { failed } from './failures.ts';
import { CALL_ITEMS, type CallItem, finished, requested } from './items.ts';
import { type Answer, type Item, type Params, spentOf, textIn } from './native.ts';

type Phase = 'started' | 'completed';

/** Items of the CLI's own modes, and sub-agent activities that are not calls. */
const ITEMS_IGNORED: ReadonlySet<unknown> = new Set(
  words('contextCompaction enteredReviewMode exitedReviewMode hookPrompt plan subAgentActivity'),
);
/** Items that are announced before they are approved. A command has started once it has a process. */
const MAY_WAIT: ReadonlySet<unknown> = new Set(['commandExecution', 'fileChange', 'mcpToolCall']);

export class Turns extends Writer {
  readonly #roots = new RecentSet<string>(LIMITS.open_calls_max);
  /** Threads of sub-agents and the calls that started them. */
  readonly #children = new RecentMap<string, string | null>(LIMITS.open_calls_max);
  /** A call that starts a sub-agent and has not named it yet. */
  #spawning: string | null = null;
  readonly #open = new RecentSet<string>(LIMITS.open_calls_max);
  /** The running turn of the root agent. */
  #turn: string | null = null;
  /** The start of the current request to the model was seen. */
  #stepping = false;
  #plans = 0;

  /** Sets the speaking thread; the first one is a root agent's. Returns whether a root agent speaks. */
  #speak(thread_id: unknown): boolean {
    const id = idOf(thread_id);
    if (id !== null && this.#roots.size === 0) this.#addRoot(id);
    const root = id === null || this.#roots.has(id);
    this.to.speak(root ? null : (this.#children.get(id) ?? this.#spawning), root);
    return root;
  }

  #addRoot(id: string): void {
    if (!this.#children.has(id)) this.#roots.add(id);
  }

  /** Records which call started which thread. */
  #link(phase: Phase, call_id: string, item: Item): void {
    const activity = item.type === 'subAgentActivity' ? idOf(item.agentThreadId) : null;
    if (activity !== null) this.#children.set(activity, call_id);
    if (item.type !== 'collabAgentToolCall' || item.tool !== 'spawnAgent') return;
    this.#spawning = phase === 'started' ? call_id : null;
    for (const id of listOf(item.receiverThreadIds)) {
      if (typeof id === 'string') this.#children.set(id, call_id);
    }
  }

  /** `settings`: the facts next to the thread in the response to its start. */
  introduce(thread: Inside<Answer['thread']> | null, settings: Answer): void {
    const session_id = idOf(thread?.id);
    if (thread === null || session_id === null) return;
    if (idOf(thread.parentThreadId) === null) this.#addRoot(session_id);
    else if (!this.#children.has(session_id)) this.#children.set(session_id, this.#spawning);
    if (!this.#speak(session_id)) return;
    const modes = [textOf(settings.approvalPolicy), textOf(nativeOf(settings.sandbox)?.type)];
    this.to.introduce({
      session_id,
      model: textOf(settings.model) ?? textOf(thread.model),
      agent_version: textOf(thread.cliVersion),
      cwd: textOf(settings.cwd) ?? textOf(thread.cwd),
      permission_mode: modes.filter((mode) => mode !== null).join(', ') || null,
    });
  }

  started(params: Params): void {
    const turn = nativeOf(params.turn);
    const id = idOf(turn?.id);
    const thread = idOf(params.threadId);
    // A turn requested by a client, not by another agent.
    if (thread !== null && (idOf(turn?.rootTurnId) ?? id) === id) this.#addRoot(thread);
    if (!this.#speak(thread)) return;
    this.#turn = id;
    this.#stepping = false;
  }

  completed(params: Params): void {
    const { to } = this;
    if (!this.#speak(params.threadId)) return;
    const turn = nativeOf(params.turn);
    this.#turn = null;
    if (turn?.status === 'failed') {
      const error = nativeOf(turn.error);
      to.ended(failed(to, textOf(error?.message) ?? 'the turn failed', error?.codexErrorInfo));
    } else if (turn?.status === 'interrupted') {
      to.ended({ exit_reason: 'cancelled', error: 'interrupted' });
    } else if (turn?.status === 'completed') to.ended(OK);
    else to.bad(`turn/completed with status ${textOf(turn?.status) ?? 'no type'}`);
  }

  #step(): void {
    if (!this.to.root || this.#stepping) return;
    this.#stepping = true;
    this.to.step(null);
  }

  /** Reported once per request. A resumed thread repeats the last usage of an earlier turn. */
  usage({ threadId, turnId, tokenUsage }: Params): void {
    const root = this.#speak(threadId);
    if (!root || this.#turn === null || turnId !== this.#turn) return;
    this.#step();
    this.#stepping = false;
    const spent = spentOf(nativeOf(tokenUsage)?.last);
    if (!isEmpty(spent)) this.to.usage('add', spent);
  }

  delta(kind: 'message_delta' | 'thinking_delta', piece: Params): void {
    const text = textOf(piece.delta);
    this.#speak(piece.threadId);
    if (text === null || this.to.lost) return;
    this.#step();
    this.to.delta(kind, text, idOf(piece.itemId));
  }

  /** Each version of the plan is a call of the model, though it has no id. */
  plan({ threadId, plan }: Params): void {
    this.#speak(threadId);
    this.#plans += 1;
    const call_id = `plan_${this.#plans}`;
    this.to.requested(call_id, 'todo_list', { items: plan ?? [] });
    this.to.finished({ call_id, status: 'ok', exit_code: null, output: null });
  }

  item(phase: Phase, params: Params) {
    const { to } = this;
    const item = nativeOf(params.item) as Item | null;
    const id = idOf(item?.id);
    if (item === null || id === null) return to.bad(`item/${phase} without an item or its id`);
    // A command that the user runs by hand is not a call of the model.
    if (item.source === 'userShell') return;
    to.at_ms = momentOf(params[`${phase}AtMs`]) ?? to.at_ms;
    this.#speak(params.threadId);
    // The only sub-agent activity that is a call is its start: the model's call that started it.
    const news = item.type === 'subAgentActivity' && item.kind !== 'started';
    const kind = news ? undefined : CALL_ITEMS.get(item.type);
    const model = item.type === 'agentMessage' || item.type === 'reasoning';
    if (phase === 'started' && (kind !== undefined || model)) this.#step();
    if (kind !== undefined) this.#call(phase, id, item, kind);
    else if (model || item.type === 'userMessage') {
      if (phase === 'completed') this.#said(id, item);
    } else if (!ITEMS_IGNORED.has(item.type)) putUnknown(to, `item/${phase}`, item.type);
  }

  #call(phase: Phase, call_id: string, item: Item, kind: CallItem): void {
    if (!this.#open.has(call_id) && !requested(this.to, kind, call_id, item)) return;
    this.#link(phase, call_id, item);
    if (phase === 'started') {
      this.#open.add(call_id);
      const begun = !MAY_WAIT.has(item.type) || item.processId != null;
      if (begun) this.to.put('call_started', { call_id });
    } else {
      this.#open.delete(call_id);
      finished(this.to, kind, call_id, item);
    }
  }

  #said(message_id: string, item: Item): void {
    const { to } = this;
    if (item.type === 'reasoning') {
      const text = textIn(item.summary) || textIn(item.content);
      if (text) to.thinking(text, message_id);
      return;
    }
    const user = item.type === 'userMessage';
    const text = user ? textIn(item.content) : textOf(item.text);
    if (text !== null) to.message(user ? 'user' : 'assistant', text, { message_id });
    else if (!user && !to.lost) to.bad('agentMessage without text');
  }
}
