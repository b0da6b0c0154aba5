/**
 * `codex app-server`: JSON-RPC, a message per line. Read are the server's messages, and the client's answers to its questions
 * where both directions were kept. It has the model's own ids, times, texts in pieces, and sub-agents' items.
 */
import { RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import { decoder } from '../kit/decoder.ts';
import { type Drafts, OK } from '../kit/drafts.ts';
import {
  type Claim,
  type Inside,
  idOf,
  type Merged,
  momentOf,
  nativeOf,
  type Open,
  textOf,
} from '../kit/native.ts';
import { words } from '../kit/text.ts';
import { isEmpty } from '../kit/usage.ts';
import { textIn } from './answers.ts';
import { type Answer, Control } from './control.ts';
import { failed, retried } from './failures.ts';
import type { Stdout } from './generated/native.ts';
import { type CallItem, callItem, finished, requested, unknownItem } from './items.ts';
import type { Item } from './records.ts';
import { Threads } from './threads.ts';
import { spentOf } from './usage.ts';

/** By method. */
type Messages = {
  [K in keyof Stdout as K extends `server/${infer Method}` ? Method : never]: Stdout[K];
};
type Params<M extends keyof Messages> = Messages[M] extends { readonly params?: infer P }
  ? Inside<P>
  : never;
type ItemParams = Merged<{ a: Params<'item/started'>; b: Params<'item/completed'> }>;
type Phase = 'started' | 'completed';

/** Bookkeeping of either side, or what items say as well. */
const IGNORED = words(`
  account/chatgptAuthTokens/refresh account/login/completed account/rateLimits/updated
  account/updated app/list/updated attestation/generate command/exec/outputDelta
  externalAgentConfig/import/completed fs/changed fuzzyFileSearch/sessionCompleted
  fuzzyFileSearch/sessionUpdated hook/completed hook/started initialize initialized
  item/autoApprovalReview/completed item/autoApprovalReview/started
  item/commandExecution/terminalInteraction item/fileChange/patchUpdated item/plan/delta
  item/reasoning/summaryPartAdded item/tool/call item/tool/requestUserInput
  mcpServer/oauthLogin/completed mcpServer/startupStatus/updated model/list model/verification
  rawResponseItem/completed remoteControl/status/changed review/start skills/changed
  thread/archived thread/closed thread/fork thread/goal/cleared thread/goal/updated
  thread/name/updated thread/resume thread/settings/updated thread/start thread/status/changed
  thread/unarchived turn/diff/updated turn/interrupt turn/start turn/steer
  windowsSandbox/setupCompleted
`);
/** Messages for people. */
const NOTICES = words(`
  configWarning deprecationNotice guardianWarning model/rerouted thread/compacted warning
  windows/worldWritableWarning
`);
/** Items of the CLI's own modes, and news of a sub-agent that is no call. */
const ITEMS_IGNORED: ReadonlySet<unknown> = new Set(
  words('contextCompaction enteredReviewMode exitedReviewMode hookPrompt plan subAgentActivity'),
);
/** Items that are announced before anybody has allowed them; a command has begun when it has a process. */
const MAY_WAIT: ReadonlySet<unknown> = new Set(['commandExecution', 'fileChange', 'mcpToolCall']);

export const server = () =>
  decoder<Messages>((to) => {
    const control = new Control(to);
    const turns = new Turns(to);
    return {
      kindOf: ({ method }) => textOf(method) ?? 'answer',
      timeOf: ({ emittedAtMs }) => momentOf(emittedAtMs),
      records: {
        ...noticed(to),
        'thread/started': ({ params }) => turns.introduce(nativeOf(nativeOf(params)?.thread), {}),
        'thread/tokenUsage/updated': ({ params }) => turns.usage(nativeOf(params)),
        'turn/started': ({ params }) => turns.started(nativeOf(params)),
        'turn/completed': ({ params }) => turns.completed(nativeOf(params)),
        'turn/plan/updated': ({ params }) => turns.plan(nativeOf(params)),
        error: ({ params }) => turns.error(nativeOf(params)),
        'item/started': ({ params }) => turns.item('started', params),
        'item/completed': ({ params }) => turns.item('completed', params),
        'item/agentMessage/delta': (message) => turns.delta('message_delta', message),
        'item/reasoning/summaryTextDelta': (message) => turns.delta('thinking_delta', message),
        'item/reasoning/textDelta': (message) => turns.delta('thinking_delta', message),
        'item/commandExecution/outputDelta': (message) => printed(to, message),
        'item/fileChange/outputDelta': (message) => printed(to, message),
        'item/mcpToolCall/progress': (message) => printed(to, message),
        'item/commandExecution/requestApproval': (asked) => control.ask('commandExecution', asked),
        'item/fileChange/requestApproval': (asked) => control.ask('fileChange', asked),
        'item/permissions/requestApproval': (asked) => control.ask(null, asked),
        'mcpServer/elicitation/request': (asked) => control.ask(null, asked),
        'serverRequest/resolved': ({ params }) => control.resolved(nativeOf(params)?.requestId),
        answer(message) {
          const result = nativeOf(message.result);
          if (control.answered(message.id, result)) return;
          const error = nativeOf(message.error);
          if (error !== null) to.notice('error', textOf(error.message));
          turns.introduce(nativeOf(result?.thread), result ?? {});
        },
      },
      ignored: IGNORED,
    };
  });

/** Messages for people, with their whole method as the code. */
function noticed(to: Drafts) {
  const rows = NOTICES.map((method) => [
    method,
    (message: Open) => {
      const params = nativeOf(message.params);
      to.notice(method, textOf(params?.message) ?? textOf(params?.summary));
    },
  ]);
  return Object.fromEntries(rows) as Partial<Record<string, (message: Open) => void>>;
}

interface Piece {
  readonly params?: Claim<{
    readonly threadId?: unknown;
    readonly itemId?: unknown;
    readonly delta?: unknown;
    readonly message?: unknown;
  }>;
}

/** What a call prints, or says of itself, while it runs. */
function printed(to: Drafts, { params }: Piece): void {
  const piece = nativeOf(params);
  const text = textOf(piece?.delta) ?? textOf(piece?.message);
  if (text !== null) to.progress(idOf(piece?.itemId), text);
}

/** Turns of all threads; those of the root agent make the steps and the end. */
class Turns {
  readonly #to: Drafts;
  readonly #threads: Threads;
  /** Calls that were asked for and have not ended. */
  readonly #open = new RecentSet<string>(LIMITS.open_calls_max);
  /** The running turn of the root agent. */
  #turn: string | null = null;
  /** The request to the model that answers now was seen to begin. */
  #stepping = false;
  #plans = 0;

  constructor(to: Drafts) {
    this.#to = to;
    this.#threads = new Threads(to);
  }

  /** `settings`: the facts beside the thread in the answer to its start. */
  introduce(thread: Inside<Answer['thread']> | null, settings: Answer): void {
    const session_id = idOf(thread?.id);
    if (thread === null || session_id === null) return;
    this.#threads.started(session_id, idOf(thread.parentThreadId));
    this.#threads.speak(session_id);
    if (!this.#to.root) return;
    const modes = [textOf(settings.approvalPolicy), textOf(nativeOf(settings.sandbox)?.type)];
    this.#to.introduce({
      session_id,
      model: textOf(settings.model) ?? textOf(thread.model),
      agent_version: textOf(thread.cliVersion),
      cwd: textOf(settings.cwd) ?? textOf(thread.cwd),
      permission_mode: modes.filter((mode) => mode !== null).join(', ') || null,
    });
  }

  started(params: Params<'turn/started'> | null): void {
    const turn = nativeOf(params?.turn);
    const id = idOf(turn?.id);
    const thread = idOf(params?.threadId);
    // A turn that was asked for by a client and not by another agent.
    if (thread !== null && (idOf(turn?.rootTurnId) ?? id) === id) this.#threads.root(thread);
    this.#threads.speak(thread);
    if (!this.#to.root) return;
    this.#turn = id;
    this.#stepping = false;
  }

  completed(params: Params<'turn/completed'> | null): void {
    const to = this.#to;
    this.#threads.speak(params?.threadId);
    if (!to.root) return;
    const turn = nativeOf(params?.turn);
    this.#turn = null;
    if (turn?.status === 'failed') {
      const error = nativeOf(turn.error);
      to.ended(failed(to, textOf(error?.message) ?? 'the turn failed', error?.codexErrorInfo));
    } else if (turn?.status === 'interrupted') {
      to.ended({ exit_reason: 'cancelled', error: 'interrupted' });
    } else if (turn?.status === 'completed') {
      to.ended(OK);
    } else to.bad(`turn/completed with status ${textOf(turn?.status) ?? 'no type'}`);
  }

  #step(): void {
    if (!this.#to.root || this.#stepping) return;
    this.#stepping = true;
    this.#to.step(null);
  }

  /** Comes once per request; a thread that is resumed repeats the last of an earlier turn. */
  usage(params: Params<'thread/tokenUsage/updated'> | null): void {
    this.#threads.speak(params?.threadId);
    if (!this.#to.root || this.#turn === null || params?.turnId !== this.#turn) return;
    this.#step();
    this.#stepping = false;
    const spent = spentOf(nativeOf(params.tokenUsage)?.last);
    if (!isEmpty(spent)) this.#to.usage('add', spent);
  }

  /** A retry, or the failure that the end of the turn repeats. */
  error(params: Params<'error'> | null): void {
    const error = nativeOf(params?.error);
    const message = textOf(error?.message) ?? '';
    const details = textOf(error?.additionalDetails);
    const whole = details === null ? message : `${message} (${details})`;
    if (params?.willRetry === true) retried(this.#to, whole, error?.codexErrorInfo);
    else this.#to.notice('error', message);
  }

  delta(kind: 'message_delta' | 'thinking_delta', { params }: Piece): void {
    const piece = nativeOf(params);
    const text = textOf(piece?.delta);
    this.#threads.speak(piece?.threadId);
    if (text === null || this.#to.lost) return;
    this.#step();
    this.#to.delta(kind, text, idOf(piece?.itemId));
  }

  /** Each version of the plan is a call of the model, though nothing names its id. */
  plan(params: Params<'turn/plan/updated'> | null): void {
    this.#threads.speak(params?.threadId);
    this.#plans += 1;
    const call_id = `plan_${this.#plans}`;
    this.#to.requested(call_id, 'todo_list', { items: params?.plan ?? [] });
    this.#to.finished({ call_id, status: 'ok', exit_code: null, output: null });
  }

  item(phase: Phase, value: unknown): void {
    const to = this.#to;
    const params: ItemParams | null = nativeOf(value);
    const item = nativeOf(params?.item) as Item | null;
    const id = idOf(item?.id);
    if (item === null || id === null) {
      to.bad(`item/${phase} without an item or its id`);
      return;
    }
    // What the user runs by hand is no call of the model.
    if (item.source === 'userShell') return;
    const own_ms = phase === 'started' ? params?.startedAtMs : params?.completedAtMs;
    to.at_ms = momentOf(own_ms) ?? to.at_ms;
    this.#threads.speak(params?.threadId);
    // Of a sub-agent's activities only its start is a call: the model's call that started it.
    const news = item.type === 'subAgentActivity' && item.kind !== 'started';
    const kind = news ? undefined : callItem(item.type);
    const model = item.type === 'agentMessage' || item.type === 'reasoning';
    if (phase === 'started' && (kind !== undefined || model)) this.#step();
    if (kind !== undefined) this.#call(phase, id, item, kind);
    else if (model || item.type === 'userMessage') {
      if (phase === 'completed') this.#said(id, item);
    } else if (!ITEMS_IGNORED.has(item.type)) unknownItem(to, `item/${phase}`, item);
  }

  #call(phase: Phase, call_id: string, item: Item, kind: CallItem): void {
    const to = this.#to;
    if (!this.#open.has(call_id) && !requested(to, kind, call_id, item)) return;
    this.#threads.link(phase, call_id, item);
    if (phase === 'started') {
      this.#open.add(call_id);
      const begun = !MAY_WAIT.has(item.type) || item.processId != null;
      if (begun) to.put('call_started', { call_id });
    } else {
      this.#open.delete(call_id);
      finished(to, kind, call_id, item);
    }
  }

  #said(message_id: string, item: Item): void {
    const to = this.#to;
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
