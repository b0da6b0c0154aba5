/** One run of a session: its threads, prompts, turns, tokens and end. */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { SessionPart } from '../../model/agent.ts';
import { type Drafts, type End, OK, Writer } from '../kit/drafts.ts';
import { type Inside, idOf, listOf, type Merged, nativeOf, textOf } from '../kit/native.ts';
import { add, isEmpty, spent } from '../kit/usage.ts';
import { failed, isRetry, retried } from './failures.ts';
import type { Session } from './generated/native.ts';
import { CALL_ITEMS } from './items.ts';
import { Conversations, type Thread } from './messages.ts';
import { type Event, type Item, spentOf, textIn } from './native.ts';

type Meta = Inside<Session['session_meta']['payload']>;
type Context = Inside<Session['turn_context']['payload']>;
type Line = Merged<Session>;

const TURN_BEGINS: ReadonlySet<unknown> = new Set(['task_started', 'turn_started']);
/** Ids that increase with time. */
const TIMED_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;

export class SessionRun extends Writer {
  readonly talk = new Conversations(this.to);
  readonly #threads = new Map<string, Thread>();
  /** Threads of sub-agents and the calls that started them. */
  readonly #parents = new RecentMap<string, string>(LIMITS.open_calls_max);
  readonly #prompts = new RecentSet<string>(LIMITS.open_calls_max);
  readonly #spent = spent();
  /** The thread's last token count, for versions that report only counts. */
  #counted = '';
  #exact = false;
  #meta: Meta | null = null;
  #context: Context | null = null;
  #model: string | null = null;
  /** Of the root agent's last turn: it may change within a session. */
  #model_now: string | null = null;
  /** Null: no record shows how the run ended. */
  #end: End | null = null;
  #error: { message: string; info: unknown } | null = null;

  constructor(to: Drafts) {
    super(to);
    to.first = () => to.introduce(this.#facts());
  }

  /**
   * Whether a record belongs to the turns that a fork copied. The copy's times may be the fork's, but ids increase
   * with time: a turn with an id below the thread's is older than the thread. Other ids show nothing.
   */
  isEarlier(line: Line, part: SessionPart | undefined): boolean {
    const thread = this.#threadOf(part);
    this.talk.thread = thread;
    this.talk.calls.file = thread.file;
    if (!thread.copied || thread.id === null) return false;
    const payload = nativeOf(line.payload);
    if (line.type === 'turn_context' || TURN_BEGINS.has(payload?.type)) {
      const turn = idOf(payload?.turn_id) ?? '';
      thread.copied = TIMED_ID.test(turn) && TIMED_ID.test(thread.id) && turn < thread.id;
    }
    return thread.copied;
  }

  before(line: Line, earlier: boolean): void {
    const { thread } = this.talk;
    // The parent's file names the call that started a thread, possibly later.
    if (!thread.root && thread.id !== null) thread.parent ??= this.#parents.get(thread.id) ?? null;
    this.to.speak(thread.parent, thread.root);
    const payload = earlier ? nativeOf(line.payload) : null;
    // Only the ids and parents of threads matter from an earlier run.
    if (payload === null) return;
    if (line.type === 'session_meta') this.meta(payload);
    else if (line.type === 'turn_context') this.#learn(payload);
    else if (line.type === 'event_msg') this.#link(nativeOf(payload.item) as Item | null);
  }

  /** The first file is the session's, the others its sub-agents'. */
  #threadOf(part: SessionPart | undefined): Thread {
    const file = part?.path ?? '';
    const known = this.#threads.get(file);
    if (known !== undefined) return known;
    const root = this.#threads.size === 0;
    const parent = part?.parent_call_id ?? null;
    const thread = { id: null, file, root, parent, fresh: true, copied: false };
    this.#threads.set(file, thread);
    return thread;
  }

  meta(meta: Meta): void {
    const { thread } = this.talk;
    // A fork's copy also contains the original thread's record. The first record of the file is the file's own.
    thread.copied ||= thread.id === null && idOf(meta.forked_from_id) !== null;
    thread.id ??= idOf(meta.id);
    if (thread.root) this.#meta ??= meta;
  }

  context(context: Context): void {
    const news = this.#learn(context);
    if (this.to.introduced && news) this.to.session(this.#facts());
    else if (this.talk.thread.root) this.to.introduce(this.#facts());
  }

  /** True if the context is the first to name the model. */
  #learn(context: Context): boolean {
    if (this.talk.thread.root) {
      this.#context ??= context;
      this.#model_now = textOf(context.model) ?? this.#model_now;
    }
    const news = this.#model === null;
    this.#model ??= textOf(context.model);
    return news && this.#model !== null;
  }

  #facts() {
    const policy = textOf(this.#context?.approval_policy);
    const sandbox = textOf(nativeOf(this.#context?.sandbox_policy)?.type);
    return {
      session_id: idOf(this.#meta?.id),
      model: this.#model,
      agent_version: textOf(this.#meta?.cli_version),
      cwd: textOf(this.#meta?.cwd),
      permission_mode: [policy, sandbox].filter((mode) => mode !== null).join(', ') || null,
    };
  }

  end(): void {
    this.talk.calls.end();
    if (this.#meta !== null) this.to.introduce(this.#facts());
    if (!isEmpty(this.#spent)) this.to.usage('total', this.#spent);
    if (this.#end !== null) this.to.ended(this.#end);
  }

  begin(): void {
    this.talk.thread.fresh = true;
    if (!this.talk.thread.root) return;
    this.#end = null;
    this.#error = null;
  }

  turnEnded(event: Event): void {
    const { thread } = this.talk;
    this.talk.calls.endTurn();
    if (!thread.root) return;
    const error = nativeOf(event.error);
    const message = textOf(error?.message) ?? 'the turn failed';
    const silent = textOf(event.last_agent_message) === null && thread.fresh;
    const earlier = silent ? this.#error : null;
    const known = error === null ? earlier : { message, info: error.codex_error_info };
    this.#end = known ? failed(this.to, known.message, known.info) : OK;
  }

  aborted(reason: string | null): void {
    this.talk.calls.endTurn();
    if (!this.talk.thread.root) return;
    const error = reason === 'interrupted' ? reason : `the turn was aborted: ${reason}`;
    this.#end =
      reason === 'budget_limited'
        ? { exit_reason: 'budget_exceeded', error: 'the budget is used up' }
        : { exit_reason: 'cancelled', error };
  }

  /** `stream`: the stream broke off. A retry may follow. */
  failed(event: Event, stream: boolean): void {
    const { root } = this.talk.thread;
    const message = textOf(event.message);
    if (stream && message !== null && isRetry(message)) {
      if (root) retried(this.to, message);
      return;
    }
    if (root && message !== null) this.#error = { message, info: event.codex_error_info };
    this.to.notice('error', message);
  }

  tokens(usage: unknown): void {
    const { thread } = this.talk;
    if (thread.root) {
      this.#exact = true;
      this.talk.startStep();
      this.#spend(usage);
    }
    thread.fresh = true;
  }

  /** The only figures of older versions. The same count is repeated when only the rate limits changed. */
  count(info: Inside<Event['info']> | null): void {
    if (info === null || this.#exact || !this.talk.thread.root) return;
    const total = JSON.stringify(info.total_token_usage ?? null);
    if (total === this.#counted) return;
    this.#counted = total;
    this.#spend(info.last_token_usage);
  }

  #spend(usage: unknown): void {
    const spent = spentOf(usage);
    if (isEmpty(spent)) return;
    add(this.#spent, spent);
    this.to.usage('add', spent, this.#model_now);
  }

  /** A prompt of the user. `id` is the same in two files. */
  prompt(text: string | null, id: string | null): void {
    if (text === null || this.to.lost || (id !== null && this.#prompts.has(id))) return;
    if (id !== null) this.#prompts.add(id);
    this.to.message('user', text, { message_id: id });
  }

  /** The item may belong to another thread than its file: a review appears in the file of the requesting thread. */
  completed(event: Event): void {
    const { thread } = this.talk;
    const id = idOf(event.thread_id);
    if (id !== null && thread.id !== null && id !== thread.id) {
      this.to.speak(this.#parents.get(id) ?? null, false);
    }
    this.item(nativeOf(event.item) as Item | null);
  }

  item(item: Item | null): void {
    this.#link(item);
    if (item === null) return;
    if (item.type === 'UserMessage') this.prompt(textIn(item.content), idOf(item.id));
    else if (CALL_ITEMS.has(item.type)) this.talk.calls.item(item);
  }

  /** Records which call started which thread. */
  #link(item: Item | null): void {
    const call_id = idOf(item?.id);
    if (item === null || call_id === null) return;
    const started = item.type === 'SubAgentActivity' && item.kind === 'started';
    const spawns = item.type === 'CollabAgentToolCall' && item.tool === 'spawn_agent';
    const ids = started ? [item.agent_thread_id] : spawns ? listOf(item.receiver_thread_ids) : [];
    for (const thread of ids) if (typeof thread === 'string') this.#parents.set(thread, call_id);
  }
}
