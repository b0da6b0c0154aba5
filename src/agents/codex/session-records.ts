/** Session files: what the model said and asked for (`response_item`), what came of it (`event_msg`), and the tokens of every request. */

import { jsonInside } from '../../lib/byte-text.ts';
import { LIMITS } from '../../lib/limits.ts';
import { own } from '../../lib/own.ts';
import type { Decoder, SessionPart } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import type { Usage } from '../../model/parts.ts';
import { type End, failed, retryOf } from './failures.ts';
import { callItem } from './items.ts';
import {
  contentText,
  idOf,
  isNative,
  listOf,
  type Native,
  nameOf,
  nativeOf,
  notice,
  problem,
  textOf,
  timeOf,
  unknown,
  wordOf,
} from './native.ts';
import {
  EVENTS_AS_ITEMS,
  EVENTS_IGNORED,
  EVENTS_NOTICED,
  ITEMS_IGNORED,
  LINES_IGNORED,
} from './records.ts';
import { ModelOutput, type Moment, type Thread } from './session-output.ts';
import { plus, usageOf } from './usage.ts';

export function sessionDecoder(since_ms: number | null): Decoder {
  return new SessionRecords(since_ms);
}

const OK: End = { exit_reason: 'ok', error: null };
const ABORTS: Readonly<Record<string, End>> = {
  budget_limited: { exit_reason: 'budget_exceeded', error: 'the budget is used up' },
};

const TURN_BEGINS = new Set<unknown>(['task_started', 'turn_started']);
const TIMED_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;

/**
 * Whether a record belongs to the turns that a fork was copied from. The copy's times may be the fork's; ids tell: they
 * grow with time, so a turn whose id is below the thread's is older than the thread. Ids of another kind tell nothing.
 */
function isCopy(type: unknown, payload: Native | null, thread: Thread): boolean {
  if (!thread.copied || thread.id === null) return false;
  if (type === 'turn_context' || TURN_BEGINS.has(payload?.type)) {
    const turn = idOf(payload?.turn_id) ?? '';
    thread.copied = TIMED_ID.test(turn) && TIMED_ID.test(thread.id) && turn < thread.id;
  }
  return thread.copied;
}

class SessionRecords implements Decoder {
  readonly #since_ms: number | null;
  readonly #threads = new Map<string, Thread>();
  readonly #model_output = new ModelOutput(jsonInside);
  /** Threads of sub-agents and the calls that started them. */
  readonly #parents = new Map<string, string>();
  readonly #prompts = new Set<string>();
  #meta: Native | null = null;
  #context: Native | null = null;
  #model: string | null = null;
  #introduced = false;
  #usage: Usage | null = null;
  /** Tokens of the thread by the last count, for versions that only count. */
  #counted = '';
  #exact_usage = false;
  #end: End | null = null;
  #error: { message: string; info: unknown } | null = null;
  #now_ms: number | undefined;

  constructor(since_ms: number | null) {
    this.#since_ms = since_ms;
  }

  record(value: unknown, out: Draft[], part?: SessionPart): void {
    const payload = isNative(value) ? nativeOf(value.payload) : null;
    if (!isNative(value) || (payload === null && typeof value.type !== 'string')) {
      out.push(problem('bad_record', 'record is no object with a type'));
      return;
    }
    const thread = this.#threadOf(part);
    const at_ms = timeOf(value);
    this.#now_ms = at_ms ?? this.#now_ms;
    const before = this.#since_ms !== null && (this.#now_ms ?? 0) < this.#since_ms;
    const earlier = isCopy(value.type, payload, thread) || before;
    const from = out.length;
    this.#line(value.type, payload, { thread, at_ms, earlier }, out);
    if (!this.#introduced && out.slice(from).some((draft) => draft.kind !== 'problem')) {
      this.#introduce(at_ms, out, from);
    }
  }

  end(out: Draft[]): void {
    this.#model_output.calls.end(out);
    if (this.#meta !== null && !this.#introduced) this.#introduce(undefined, out, 0);
    if (this.#usage !== null) {
      const data = { mode: 'total', usage: this.#usage, cost_usd: null, model: null } as const;
      out.push({ kind: 'usage_reported', data });
    }
    if (this.#end !== null) {
      out.push({ kind: 'agent_ended', data: { ...this.#end, evidence: 'native_result' } });
    }
  }

  /** The first file is the session's; the others are its sub-agents'. */
  #threadOf(part: SessionPart | undefined): Thread {
    const file = part?.path ?? '';
    const known = this.#threads.get(file);
    if (known !== undefined) return known;
    const root = this.#threads.size === 0;
    const call = part?.parent_call_id ?? null;
    const thread: Thread = { file, id: null, root, parent: call, fresh: true, copied: false };
    this.#threads.set(file, thread);
    return thread;
  }

  #line(type: unknown, payload: Native | null, at: Moment, out: Draft[]): void {
    if (payload === null) {
      if (!LINES_IGNORED.has(wordOf(type))) out.push(unknown(type, nameOf(type)));
    } else if (type === 'session_meta') {
      // A fork's copy has the first thread's own record too: the first of the file is the file's.
      at.thread.copied ||= at.thread.id === null && idOf(payload.forked_from_id) !== null;
      at.thread.id ??= idOf(payload.id);
      if (at.thread.root) this.#meta ??= payload;
    } else if (type === 'turn_context') {
      this.#turnContext(payload, at, out);
    } else if (at.earlier) {
      // An earlier run of the thread: only who started whom matters.
      if (type === 'event_msg') this.#link(nativeOf(payload.item));
    } else if (type === 'response_item') {
      this.#placed(at);
      this.#model_output.response(payload, at, out);
    } else if (type === 'event_msg') {
      this.#event(payload, at, out);
    } else if (type === 'token_usage_record') {
      this.#tokens(payload.usage, at, out);
    } else if (type === 'compacted') {
      out.push(notice('compacted', null, at.at_ms));
    } else if (!LINES_IGNORED.has(wordOf(type))) {
      out.push(unknown(type, nameOf(type)));
    }
  }

  /** Learns late which call started a thread: the parent's file says it. */
  #placed({ thread }: Moment): void {
    if (thread.root || thread.parent !== null || thread.id === null) return;
    thread.parent = this.#parents.get(thread.id) ?? null;
  }

  #turnContext(payload: Native, { thread, at_ms, earlier }: Moment, out: Draft[]): void {
    if (thread.root) this.#context ??= payload;
    const model = textOf(payload.model);
    const news = model !== null && this.#model === null;
    if (news) this.#model = model;
    if (earlier) return;
    if (!this.#introduced && thread.root) this.#introduce(at_ms, out, out.length);
    else if (this.#introduced && news) out.push(this.#session(at_ms));
  }

  #introduce(at_ms: number | undefined, out: Draft[], at: number): void {
    this.#introduced = true;
    out.splice(at, 0, this.#session(at_ms));
  }

  #session(at_ms: number | undefined): Draft {
    const meta = this.#meta;
    const policy = textOf(this.#context?.approval_policy);
    const sandbox = textOf(nativeOf(this.#context?.sandbox_policy)?.type);
    const modes = [policy, sandbox].filter((mode) => mode !== null);
    return {
      kind: 'session_started',
      at_ms,
      data: {
        session_id: idOf(meta?.id),
        model: this.#model,
        agent_version: textOf(meta?.cli_version),
        cwd: textOf(meta?.cwd),
        tools: null,
        permission_mode: modes.length === 0 ? null : modes.join(', '),
      },
    };
  }

  #event(event: Native, at: Moment, out: Draft[]): void {
    const { thread, at_ms } = at;
    const as_item = EVENTS_AS_ITEMS.get(event.type);
    if (as_item !== undefined) {
      this.#item(itemOf(event, as_item), at, out);
      return;
    }
    switch (event.type) {
      case 'item_completed':
        this.#item(nativeOf(event.item), { ...at, thread: this.#speaker(event, thread) }, out);
        break;
      case 'task_started':
      case 'turn_started':
        thread.fresh = true;
        if (thread.root) this.#end = null;
        if (thread.root) this.#error = null;
        break;
      case 'task_complete':
      case 'turn_complete':
        this.#taskComplete(event, at, out);
        break;
      case 'turn_aborted':
        this.#model_output.calls.endTurn(thread.file, at_ms, out);
        if (thread.root) this.#end = abortOf(textOf(event.reason));
        break;
      case 'token_count':
        this.#count(nativeOf(event.info), thread);
        break;
      case 'user_message':
        this.#prompt(textOf(event.message), null, at, out);
        break;
      default:
        this.#other(event, at, out);
    }
  }

  #other(event: Native, { thread, at_ms }: Moment, out: Draft[]): void {
    const message = textOf(event.message);
    const retry = event.type === 'stream_error' && message !== null ? retryOf(message) : null;
    if (retry !== null) {
      if (thread.root) out.push({ kind: 'provider_retried', at_ms, data: retry });
    } else if (event.type === 'error' || event.type === 'stream_error') {
      if (thread.root && message !== null) this.#error = { message, info: event.codex_error_info };
      out.push(notice('error', message, at_ms));
    } else if (EVENTS_NOTICED.has(wordOf(event.type))) {
      out.push(notice(wordOf(event.type), message, at_ms));
    } else if (!EVENTS_IGNORED.has(wordOf(event.type))) {
      out.push(unknown(event.type, `event_msg/${nameOf(event.type)}`));
    }
  }

  /** A record may tell of another thread than its file's: a review is shown in the file of who asked for it. */
  #speaker(event: Native, thread: Thread): Thread {
    const id = idOf(event.thread_id);
    if (id === null || thread.id === null || id === thread.id) return thread;
    const parent = this.#parents.get(id) ?? null;
    return { ...thread, id, root: false, parent };
  }

  #item(item: Native | null, at: Moment, out: Draft[]): void {
    if (item === null) {
      out.push(problem('bad_record', 'item_completed without item'));
      return;
    }
    this.#placed(at);
    this.#link(item);
    if (callItem(item.type) !== undefined) {
      const { file, parent } = at.thread;
      this.#model_output.calls.item(item, { file, parent, at_ms: at.at_ms }, out);
    } else if (item.type === 'UserMessage') {
      this.#prompt(contentText(item.content), idOf(item.id), at, out);
    } else if (item.type !== 'SubAgentActivity' && !ITEMS_IGNORED.has(wordOf(item.type))) {
      out.push(unknown(item.type, `item_completed/${nameOf(item.type)}`));
    }
  }

  /** Which call started which thread. */
  #link(item: Native | null): void {
    const call_id = idOf(item?.id);
    if (item === null || call_id === null || this.#parents.size >= LIMITS.open_calls_max) return;
    if (item.type === 'CollabAgentToolCall' && item.tool === 'spawn_agent') {
      for (const id of listOf(item.receiver_thread_ids)) {
        if (typeof id === 'string') this.#parents.set(id, call_id);
      }
    } else if (item.type === 'SubAgentActivity' && item.kind === 'started') {
      const id = idOf(item.agent_thread_id);
      if (id !== null) this.#parents.set(id, call_id);
    }
  }

  /** What the user asked. `id`: told in two files, it is still one. */
  #prompt(text: string | null, id: string | null, at: Moment, out: Draft[]): void {
    const { root, parent } = at.thread;
    if (text === null || (!root && parent === null)) return;
    if (id !== null && this.#prompts.has(id)) return;
    if (id !== null && this.#prompts.size < LIMITS.open_calls_max) this.#prompts.add(id);
    const said = { role: 'user', text, synthetic: false, partial: false } as const;
    const data = { message_id: id, parent_call_id: parent, ...said };
    out.push({ kind: 'message_finished', at_ms: at.at_ms, data });
  }

  #taskComplete(event: Native, { thread, at_ms }: Moment, out: Draft[]): void {
    this.#model_output.calls.endTurn(thread.file, at_ms, out);
    if (!thread.root) return;
    const error = nativeOf(event.error);
    const silent = textOf(event.last_agent_message) === null && thread.fresh;
    const known =
      error === null
        ? silent && this.#error
        : { message: textOf(error.message) ?? 'the turn failed', info: error.codex_error_info };
    this.#end = known ? failed(known.message, known.info, at_ms, out) : OK;
  }

  #tokens(value: unknown, at: Moment, out: Draft[]): void {
    if (at.thread.root) {
      this.#exact_usage = true;
      this.#model_output.startStep(at, out);
      const usage = usageOf(value);
      if (usage !== null) this.#usage = plus(this.#usage, usage);
    }
    at.thread.fresh = true;
  }

  /** The only figures of earlier versions. The same count comes again when only the rate limits have changed. */
  #count(info: Native | null, thread: Thread): void {
    if (info === null || this.#exact_usage || !thread.root) return;
    const total = JSON.stringify(info.total_token_usage ?? null);
    if (total === this.#counted) return;
    this.#counted = total;
    const usage = usageOf(info.last_token_usage);
    if (usage !== null) this.#usage = plus(this.#usage, usage);
  }
}

function abortOf(reason: string | null): End {
  const error = reason === 'interrupted' ? 'interrupted' : `the turn was aborted: ${reason}`;
  return own(ABORTS, reason ?? '') ?? { exit_reason: 'cancelled', error };
}

/** An event of an earlier version in the form of the item that holds the same today. */
function itemOf(event: Native, type: string): Native {
  const item = { ...event, type, id: event.call_id };
  if (type !== 'McpToolCall') {
    const done = event.success === false ? 'failed' : 'completed';
    const failed_code = typeof event.exit_code === 'number' && event.exit_code !== 0;
    return { ...item, status: event.status ?? (failed_code ? 'failed' : done) };
  }
  const called = nativeOf(event.invocation);
  const result = nativeOf(event.result);
  const given = nativeOf(result?.Ok);
  const bad = given === null || given.isError === true || given.is_error === true;
  return {
    type,
    id: event.call_id,
    server: called?.server,
    tool: called?.tool,
    arguments: called?.arguments,
    result: given,
    error: result?.Err,
    status: bad ? 'failed' : 'completed',
  };
}
