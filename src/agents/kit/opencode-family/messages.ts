/** Messages and their parts. The CLI's lines have only parts, where steps are counted. Other messages have a cost. */
import { RecentMap, RecentSet } from '../../../lib/bounded.ts';
import { type Drafts, type Time, Writer } from '../drafts.ts';
import { countOf, filledOf, idOf, momentOf, nativeOf, statusOf, textOf } from '../native.ts';
import { add, type Spent, spent } from '../usage.ts';
import { Calls } from './calls.ts';
import {
  added,
  type Message,
  type NativeError,
  type Part,
  REMEMBERED_MAX,
  type Shape,
  spentOf,
} from './native.ts';
import { modelOf, Sessions } from './sessions.ts';
import { type Said, Texts } from './texts.ts';
import type { NamesOf } from './tools.ts';
import { failureOf, Turns } from './turns.ts';

interface Known extends Said {
  spent: Spent | null;
  /** The last snapshot has been seen. */
  closed: boolean;
  /** Belongs to an earlier run of the session. */
  readonly old: boolean;
}

/** Parts with nothing to record: attachments, snapshots, marks of the CLI. */
const IGNORED = new Set(['agent', 'compaction', 'file', 'patch', 'snapshot', 'subtask']);

export class Conversation extends Writer {
  readonly calls: Calls;
  readonly sessions: Sessions;
  readonly texts = new Texts(this.to);
  readonly #turns = new Turns(this.to);
  readonly #since_ms: number;
  readonly #messages = new RecentMap<string, Known>(REMEMBERED_MAX);
  readonly #steps = new RecentSet<string>(REMEMBERED_MAX);
  /** The cost of a stored session, reported once at its end as the total. */
  #total: Spent | null = null;

  /** Only events from `since_ms` on belong to this run. */
  constructor(to: Drafts, namesOf: NamesOf, since_ms = 0) {
    super(to);
    this.calls = new Calls(to, namesOf);
    this.sessions = new Sessions(to, this.calls);
    this.#since_ms = since_ms;
  }

  message(info: Message, shape: Shape) {
    const { to } = this;
    const session_id = idOf(info.sessionID);
    const id = idOf(info.id);
    const role = info.role === 'assistant' || info.role === 'user' ? info.role : null;
    if (id === null || role === null)
      return to.bad(`a message without id or role: ${textOf(info.role) ?? 'no type'}`);
    const time = nativeOf(info.time);
    const known = this.#messages.get(id);
    const created_ms = momentOf(time?.created) ?? to.at_ms;
    const old = this.#isOld(created_ms) || this.sessions.isCopied(session_id, created_ms);
    const message = known ?? { role, synthetic: false, spent: null, closed: false, old };
    if (known === undefined) this.#messages.set(id, message);
    message.synthetic ||= info.summary === true;
    // The messages of an export are repeated by database rows next to it.
    const again = message.closed || this.sessions.isForeign(session_id);
    if (message.old || (shape === 'stored' && again)) return;
    const closed = countOf(time?.completed) !== null;
    message.closed ||= closed;
    this.texts.known(id, message);
    if (!this.sessions.speak(session_id)) {
      if (closed) this.texts.flush(session_id);
      return;
    }
    const native = role === 'user' ? nativeOf(info.model) : info;
    const model = modelOf(native?.providerID, native?.modelID);
    this.sessions.introduce({ session_id, model, cwd: filledOf(nativeOf(info.path)?.cwd) });
    if (role === 'assistant') this.#answer(message, info, shape);
    // A new prompt. The same message is repeated whenever its summary changes.
    else if (known === undefined) this.#turns.last = null;
  }

  #isOld(at_ms: Time): boolean {
    return at_ms !== undefined && at_ms < this.#since_ms;
  }

  /** An assistant message of the root agent. */
  #answer(message: Known, info: Message, shape: Shape): void {
    const { to } = this;
    to.at_ms = momentOf(nativeOf(info.time)?.completed);
    const turn = this.#turns.of(idOf(info.id));
    turn.finish = idOf(info.finish) ?? turn.finish;
    turn.summary = message.synthetic;
    turn.closed ||= to.at_ms !== undefined;
    const failure = failureOf(info.error);
    if (failure) this.#turns.fail(failure);
    if (to.at_ms === undefined) return;
    this.texts.flush(idOf(info.sessionID));
    const all = spentOf(info);
    const news = all && added(all, message.spent);
    if (!news) return;
    message.spent = all;
    to.usage('add', news, modelOf(info.providerID, info.modelID));
    if (shape === 'stored') {
      this.#total ??= spent();
      add(this.#total, news);
    }
  }

  failed(error: NativeError, session_id: string | null): void {
    const failure = failureOf(error);
    if (failure === null) this.to.bad('an error without name or message');
    else if (this.sessions.speak(session_id)) this.#turns.fail(failure);
    else this.to.notice('sub_agent_error', failure.end.error);
  }

  part(part: Part, shape: Shape): void {
    const { to } = this;
    const message = this.#messages.get(idOf(part.messageID) ?? '');
    // If the part's message is unknown, the part's time shows whether it belongs to an earlier run.
    if (message === undefined ? this.#isOld(to.at_ms) : message.old) return;
    const session_id = idOf(part.sessionID);
    if (shape === 'stored' && this.sessions.isForeign(session_id)) return;
    const root = this.sessions.speak(session_id);
    const live = shape === 'bus';
    const { type } = part;
    if (type === 'text') {
      if (part.ignored !== true && !isTransient(part))
        this.texts.part(part, whoSaid(part, message, shape), live);
    } else if (type === 'reasoning') {
      this.texts.part(part, { role: 'assistant', synthetic: false }, live);
    } else if (type === 'tool') this.#tool(part, shape);
    else if (type === 'step-start' || type === 'step-finish') {
      if (root) this.#step(part, shape);
    } else if (type === 'retry') {
      if (root && shape === 'stored') this.#retried(part);
    } else if (typeof type !== 'string') to.bad('a part without type');
    else if (!IGNORED.has(type)) to.problem('unknown_record', `part ${type}`);
  }

  #tool(part: Part, shape: Shape): void {
    const refused = this.calls.part(part, shape === 'bus');
    if (!this.to.root) return;
    const message_id = idOf(part.messageID);
    const turn = shape === 'cli' ? this.#turns.of(message_id) : this.#turns.last;
    if (turn === null || turn.message_id !== message_id) return;
    turn.calls += 1;
    if (refused) turn.refused = textOf(nativeOf(part.state)?.error);
  }

  #step(part: Part, shape: Shape): void {
    const step_id = idOf(part.id);
    const message_id = idOf(part.messageID);
    if (this.#steps.has(step_id ?? '')) return;
    if (step_id !== null) this.#steps.add(step_id);
    this.texts.flush(idOf(part.sessionID));
    if (part.type === 'step-start') {
      // A step that starts again within its message is another model call.
      if (shape === 'cli') this.#turns.begin(message_id);
      this.to.step(step_id);
      return;
    }
    const reason = idOf(part.reason);
    if (shape === 'cli') {
      const turn = this.#turns.of(message_id);
      turn.closed = true;
      turn.finish = reason;
      const figures = spentOf(part);
      if (figures) this.to.usage('add', figures);
    }
    this.to.put('step_finished', { step_id, reason });
  }

  #retried(part: Part): void {
    const error = nativeOf(part.error);
    const data = nativeOf(error?.data);
    const retry = { attempt: countOf(part.attempt), status: statusOf(data?.statusCode) };
    const message = textOf(data?.message) ?? '';
    this.to.retried(retry, { native_kind: textOf(error?.name), message });
  }

  busy(session_id: string | null): void {
    if (this.sessions.isRoot(session_id)) this.#turns.busy = true;
  }

  /** The server reports that a session waits for its next prompt. */
  idle(session_id: string | null): void {
    if (!this.sessions.isRoot(session_id) || !this.#turns.open) return;
    this.texts.flush(session_id);
    this.#turns.idle();
  }

  end(): void {
    this.texts.end();
    this.calls.end();
    if (this.#total) this.to.usage('total', this.#total, this.sessions.intro.model);
    this.#turns.end();
  }
}

/** Progress of the CLI itself, which it removes again: kilo writes it into its database. */
const isTransient = ({ metadata }: Part) =>
  nativeOf(metadata)?.['kilocode.lifecycle'] === 'transient';

/** The author of a text. Without a message: the CLI prints no prompts, and texts of the model have times. */
function whoSaid(part: Part, message: Known | undefined, shape: Shape): Said {
  if (part.synthetic === true) return { role: 'user', synthetic: true };
  if (message !== undefined) return message;
  const timed = shape === 'cli' || nativeOf(part.time) !== null;
  return { role: timed ? 'assistant' : shape === 'stored' ? 'user' : null, synthetic: false };
}
