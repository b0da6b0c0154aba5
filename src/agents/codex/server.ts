/**
 * `codex app-server`: JSON-RPC, a message a line. Read are the server's messages, and the client's answers to its questions
 * where both directions were kept. The ids are the model's own; times, deltas and sub-agents' items are all there.
 */
import type { Draft } from '../../model/draft.ts';
import { failed, retried } from './failures.ts';
import {
  contentText,
  idOf,
  momentOf,
  type Native,
  nameOf,
  nativeOf,
  notice,
  problem,
  textOf,
  unknown,
  wordOf,
} from './native.ts';
import { SERVER_IGNORED, SERVER_ITEMS_IGNORED, SERVER_NOTICED } from './records.ts';
import { ServerCalls } from './server-calls.ts';
import { Threads } from './threads.ts';
import { usageOf } from './usage.ts';

/** Whether a record is a JSON-RPC message: the records of `exec --json` all have a type. */
export function isMessage(record: Native): boolean {
  if (record.type !== undefined) return false;
  return typeof record.method === 'string' || (record.id !== undefined && isAnswer(record));
}

function isAnswer(record: Native): boolean {
  return record.result !== undefined || record.error !== undefined;
}

/** Texts that come piece by piece, by method. */
const TEXTS: ReadonlyMap<string, 'message_delta' | 'thinking_delta'> = new Map([
  ['item/agentMessage/delta', 'message_delta'],
  ['item/reasoning/summaryTextDelta', 'thinking_delta'],
  ['item/reasoning/textDelta', 'thinking_delta'],
]);

type On = (params: Native, at_ms: number | undefined, out: Draft[]) => void;

export class ServerRecords {
  readonly #threads = new Threads();
  readonly #calls = new ServerCalls(this.#threads);
  #introduced = false;
  /** The running turn of the root agent. */
  #turn: string | null = null;
  /** Whether what comes belongs to a request to the model that was seen to begin. */
  #stepping = false;

  readonly #on: ReadonlyMap<string, On> = new Map<string, On>([
    [
      'thread/started',
      (params, at_ms, out) => this.#thread(nativeOf(params.thread), {}, at_ms, out),
    ],
    ['turn/started', (params) => this.#turnStarted(params)],
    ['turn/completed', (params, at_ms, out) => this.#turnCompleted(params, at_ms, out)],
    ['turn/plan/updated', (params, at_ms, out) => this.#calls.plan(params, at_ms, out)],
    ['item/started', (params, at_ms, out) => this.#item('started', params, at_ms, out)],
    ['item/completed', (params, at_ms, out) => this.#item('completed', params, at_ms, out)],
    ['thread/tokenUsage/updated', (params, at_ms, out) => this.#usage(params, at_ms, out)],
    ['error', (params, at_ms, out) => this.#error(params, at_ms, out)],
  ]);

  record(message: Native, out: Draft[]): void {
    const { method } = message;
    if (typeof method !== 'string') this.#answer(message, out);
    else this.#message(method, message, nativeOf(message.params) ?? {}, out);
  }

  #message(method: string, message: Native, params: Native, out: Draft[]): void {
    const at_ms = momentOf(message.emittedAtMs);
    const on = this.#on.get(method);
    const text = TEXTS.get(method);
    if (on !== undefined) on(params, at_ms, out);
    else if (text !== undefined) this.#delta(text, params, at_ms, out);
    else if (this.#calls.message(method, message.id, params, { at_ms, out })) return;
    else if (SERVER_NOTICED.has(method)) {
      out.push(notice(method, textOf(params.message) ?? textOf(params.summary), at_ms));
    } else if (!SERVER_IGNORED.has(method)) out.push(unknown(method, nameOf(method)));
  }

  /** The answer to a request: the server's to one of its client, or the client's to a question of the server. */
  #answer(message: Native, out: Draft[]): void {
    const result = nativeOf(message.result);
    if (this.#calls.answered(message.id, result, out)) return;
    const error = nativeOf(message.error);
    if (error !== null) out.push(notice('error', textOf(error.message)));
    this.#thread(nativeOf(result?.thread), result ?? {}, undefined, out);
  }

  /** `settings`: what the answer to its start says beside the thread. */
  #thread(thread: Native | null, settings: Native, at_ms: number | undefined, out: Draft[]): void {
    const session_id = idOf(thread?.id);
    if (thread === null || session_id === null) return;
    this.#threads.started(session_id, idOf(thread.parentThreadId));
    if (this.#introduced || !this.#threads.of(session_id).root) return;
    this.#introduced = true;
    const modes = [textOf(settings.approvalPolicy), textOf(nativeOf(settings.sandbox)?.type)];
    const known = modes.filter((mode) => mode !== null);
    const data = {
      session_id,
      model: textOf(settings.model) ?? textOf(thread.model),
      agent_version: textOf(thread.cliVersion),
      cwd: textOf(settings.cwd) ?? textOf(thread.cwd),
      tools: null,
      permission_mode: known.length === 0 ? null : known.join(', '),
    };
    out.push({ kind: 'session_started', at_ms, data });
  }

  #turnStarted(params: Native): void {
    const turn = nativeOf(params.turn);
    const id = idOf(turn?.id);
    const root_turn = idOf(turn?.rootTurnId) ?? id;
    const thread = this.#threads.turn(idOf(params.threadId), root_turn === id);
    if (!thread.root) return;
    this.#turn = id;
    this.#stepping = false;
  }

  #turnCompleted(params: Native, at_ms: number | undefined, out: Draft[]): void {
    if (!this.#threads.of(idOf(params.threadId)).root) return;
    const turn = nativeOf(params.turn);
    const evidence = 'native_result' as const;
    this.#turn = null;
    if (turn?.status === 'failed') {
      const error = nativeOf(turn.error);
      const message = textOf(error?.message) ?? 'the turn failed';
      const end = failed(message, error?.codexErrorInfo ?? null, at_ms, out);
      out.push({ kind: 'agent_ended', at_ms, data: { ...end, evidence } });
    } else if (turn?.status === 'interrupted') {
      const data = { exit_reason: 'cancelled', error: 'interrupted', evidence } as const;
      out.push({ kind: 'agent_ended', at_ms, data });
    } else if (turn?.status === 'completed') {
      out.push({ kind: 'agent_ended', at_ms, data: { exit_reason: 'ok', error: null, evidence } });
    } else {
      out.push(problem('bad_record', `turn/completed with status ${nameOf(turn?.status)}`));
    }
  }

  #step(root: boolean, at_ms: number | undefined, out: Draft[]): void {
    if (!root || this.#stepping) return;
    this.#stepping = true;
    const data = { step_id: null, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data });
  }

  /** Comes once a request; a thread that is taken up again repeats the last of an earlier turn. */
  #usage(params: Native, at_ms: number | undefined, out: Draft[]): void {
    const { root } = this.#threads.of(idOf(params.threadId));
    if (!root || this.#turn === null || params.turnId !== this.#turn) return;
    this.#step(root, at_ms, out);
    this.#stepping = false;
    const usage = usageOf(nativeOf(params.tokenUsage)?.last);
    if (usage === null) return;
    const data = { mode: 'add', usage, cost_usd: null, model: null } as const;
    out.push({ kind: 'usage_reported', at_ms, data });
  }

  /** A retry, or the failure that the end of the turn says again. */
  #error(params: Native, at_ms: number | undefined, out: Draft[]): void {
    const error = nativeOf(params.error);
    const message = textOf(error?.message) ?? '';
    if (params.willRetry === true) {
      const data = retried(message, textOf(error?.additionalDetails), error?.codexErrorInfo);
      out.push({ kind: 'provider_retried', at_ms, data });
    } else out.push(notice('error', message, at_ms));
  }

  #delta(
    kind: 'message_delta' | 'thinking_delta',
    params: Native,
    at_ms: number | undefined,
    out: Draft[],
  ): void {
    const text = textOf(params.delta);
    const { root, parent, known } = this.#threads.of(idOf(params.threadId));
    if (text === null || !known) return;
    this.#step(root, at_ms, out);
    out.push({
      kind,
      at_ms,
      data: { message_id: idOf(params.itemId), parent_call_id: parent, text },
    });
  }

  #item(
    phase: 'started' | 'completed',
    params: Native,
    emitted_ms: number | undefined,
    out: Draft[],
  ): void {
    const item = nativeOf(params.item);
    const id = idOf(item?.id);
    if (item === null || id === null) {
      out.push(problem('bad_record', `item/${phase} without an item or its id`));
      return;
    }
    // What the user runs by hand is no call of the model.
    if (item.source === 'userShell') return;
    const at_ms = momentOf(params[`${phase}AtMs`]) ?? emitted_ms;
    const thread = this.#threads.of(idOf(params.threadId));
    if (this.#calls.isCall(item)) {
      if (phase === 'started') this.#step(thread.root, at_ms, out);
      this.#calls.item(phase, id, item, { parent: thread.parent, at_ms, out });
    } else if (item.type === 'agentMessage' || item.type === 'reasoning') {
      if (phase === 'started') this.#step(thread.root, at_ms, out);
      // Text of a sub-agent whose call is not known must not pass for the root agent's.
      else if (thread.known) said(id, item, { parent: thread.parent, at_ms, out });
    } else if (item.type === 'userMessage') {
      if (phase === 'completed' && thread.known) {
        said(id, item, { parent: thread.parent, at_ms, out });
      }
    } else if (!SERVER_ITEMS_IGNORED.has(wordOf(item.type))) {
      out.push(unknown(item.type, `item/${phase}/${nameOf(item.type)}`));
    }
  }
}

/** Where a draft goes, and whose it is. */
interface To {
  readonly parent: string | null;
  readonly at_ms: number | undefined;
  readonly out: Draft[];
}

function said(message_id: string, item: Native, { parent, at_ms, out }: To): void {
  if (item.type === 'reasoning') {
    const text = contentText(item.summary) || contentText(item.content);
    if (!text) return;
    out.push({
      kind: 'thinking_finished',
      at_ms,
      data: { message_id, parent_call_id: parent, text },
    });
    return;
  }
  const user = item.type === 'userMessage';
  const text = user ? contentText(item.content) : textOf(item.text);
  if (text === null) {
    if (!user) out.push(problem('bad_record', `${nameOf(item.type)} without text`));
    return;
  }
  const role = user ? ('user' as const) : ('assistant' as const);
  const data = { message_id, parent_call_id: parent, role, text, synthetic: false, partial: false };
  out.push({ kind: 'message_finished', at_ms, data });
}
