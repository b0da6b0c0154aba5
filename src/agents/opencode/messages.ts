/**
 * Messages and their parts, which every shape of record holds in the end. Shapes differ in what they leave out: the CLI's
 * lines have parts only, so steps are counted there; the others have messages, which say what they cost.
 */
import { RecentMap, RecentSet } from '../../lib/bounded.ts';
import type { DataOf } from '../../model/event.ts';
import type { Drafts, Time } from '../kit/drafts.ts';
import { countOf, filledOf, idOf, momentOf, nativeOf, statusOf, textOf } from '../kit/native.ts';
import { add, type Spent, spent } from '../kit/usage.ts';
import { Calls } from './calls.ts';
import {
  type Message,
  type NativeError,
  type Part,
  REMEMBERED_MAX,
  type SessionInfo,
  type Shape,
} from './forms.ts';
import { type Said, Texts } from './texts.ts';
import { failureOf, Turns } from './turns.ts';
import { added, spentOf } from './usage.ts';

interface Known {
  readonly role: 'assistant' | 'user';
  summary: boolean;
  spent: Spent | null;
  /** Its last snapshot has come. */
  closed: boolean;
  /** Of an earlier run of the session. */
  readonly old: boolean;
}

const INTRO = ['session_id', 'model', 'agent_version', 'cwd'] as const;
type Intro = Pick<DataOf<'session_started'>, (typeof INTRO)[number]>;

/** Parts that carry nothing a recording shows: attachments, snapshots, marks of the CLI. */
const IGNORED = new Set(['agent', 'compaction', 'file', 'patch', 'snapshot', 'subtask']);

export class Conversation {
  readonly calls: Calls;
  readonly texts: Texts;
  readonly #turns: Turns;
  readonly #to: Drafts;
  readonly #since_ms: number;
  readonly #messages = new RecentMap<string, Known>(REMEMBERED_MAX);
  readonly #steps = new RecentSet<string>(REMEMBERED_MAX);
  /** Sessions of sub-agents. */
  readonly #children = new RecentSet<string>(REMEMBERED_MAX);
  /** The root session of an export. */
  #exported: string | null = null;
  #intro: Intro = { session_id: null, model: null, agent_version: null, cwd: null };
  /** The cost of a stored session: reported once, at its end, as the whole. */
  #total: Spent | null = null;

  /** Only what happened from `since_ms` on is this run's. */
  constructor(to: Drafts, since_ms = 0) {
    this.#to = to;
    this.#since_ms = since_ms;
    this.calls = new Calls(to);
    this.texts = new Texts(to);
    this.#turns = new Turns(to);
  }

  #isRoot(session_id: string | null): boolean {
    if (session_id === null) return true;
    return this.calls.parentOf(session_id) === null && !this.#children.has(session_id);
  }

  /** Whether rows are of a session that has nothing to do with the export beside them. */
  #isForeign(session_id: string | null): boolean {
    const other = this.#exported !== null && this.#exported !== session_id;
    return other && this.#isRoot(session_id);
  }

  /** The agent of this session speaks; returns whether it is the root agent. */
  #speak(session_id: string | null): boolean {
    const parent = session_id === null ? null : this.calls.parentOf(session_id);
    this.#to.speak(parent, this.#isRoot(session_id));
    return this.#to.root;
  }

  /** Reports what is new about the root session. */
  introduce(news: Partial<Intro>): void {
    const now = { ...this.#intro };
    for (const name of INTRO) now[name] ??= news[name] ?? null;
    const same = INTRO.every((name) => now[name] === this.#intro[name]);
    if (same || now.session_id === null) return;
    this.#intro = now;
    this.#to.session(now);
  }

  /** `exported`: the session of an export; rows beside it count only if they are of its family. */
  session(info: SessionInfo, exported = false): void {
    const session_id = idOf(info.id);
    const parent = idOf(info.parentID);
    const native = nativeOf(info.model);
    if (session_id === null) this.#to.bad('a session without id');
    else if (parent !== null) {
      if (this.#isForeign(parent)) return;
      this.#children.add(session_id);
      this.calls.claim(session_id);
    } else {
      if (exported) this.#exported ??= session_id;
      if (!this.#isRoot(session_id) || this.#isForeign(session_id)) return;
      const model = modelOf(native?.providerID, native?.id);
      const cwd = filledOf(info.directory);
      this.introduce({ session_id, model, agent_version: idOf(info.version), cwd });
    }
  }

  message(info: Message, shape: Shape): void {
    const to = this.#to;
    const session_id = idOf(info.sessionID);
    const id = idOf(info.id);
    const role = info.role === 'assistant' || info.role === 'user' ? info.role : null;
    if (id === null || role === null) {
      to.bad(`a message without id or role: ${textOf(info.role) ?? 'no type'}`);
      return;
    }
    const time = nativeOf(info.time);
    const known = this.#messages.get(id);
    const old = this.#isOld(momentOf(time?.created) ?? to.at_ms);
    const message = known ?? { role, summary: false, spent: null, closed: false, old };
    if (known === undefined) this.#messages.set(id, message);
    message.summary ||= info.summary === true;
    // The messages of an export come again where the database's rows are beside it.
    const again = message.closed || this.#isForeign(session_id);
    if (message.old || (shape === 'stored' && again)) return;
    const closed = countOf(time?.completed) !== null;
    message.closed ||= closed;
    this.texts.known(id, saidOf(message));
    if (!this.#speak(session_id)) {
      if (closed) this.texts.flush(session_id);
      return;
    }
    const native = role === 'user' ? nativeOf(info.model) : info;
    const model = modelOf(native?.providerID, native?.modelID);
    this.introduce({ session_id, model, cwd: filledOf(nativeOf(info.path)?.cwd) });
    if (role === 'assistant') this.#answer(message, info, shape);
    // A new prompt; the same message comes again whenever its summary changes.
    else if (known === undefined) this.#turns.last = null;
  }

  #isOld(at_ms: Time): boolean {
    return at_ms !== undefined && at_ms < this.#since_ms;
  }

  /** An assistant message of the root agent. */
  #answer(message: Known, info: Message, shape: Shape): void {
    const to = this.#to;
    to.at_ms = momentOf(nativeOf(info.time)?.completed);
    const turn = this.#turns.of(idOf(info.id));
    turn.finish = idOf(info.finish) ?? turn.finish;
    turn.summary = message.summary;
    turn.closed ||= to.at_ms !== undefined;
    const failure = failureOf(info.error);
    if (failure) this.#turns.fail(failure);
    if (to.at_ms === undefined) return;
    this.texts.flush(idOf(info.sessionID));
    const all = spentOf(info);
    const news = all && added(all, message.spent);
    if (!news) return;
    message.spent = all;
    if (shape !== 'stored') to.usage('add', news, modelOf(info.providerID, info.modelID));
    else {
      this.#total ??= spent();
      add(this.#total, news);
    }
  }

  /** An error of a session. */
  failed(error: NativeError, session_id: string | null): void {
    const failure = failureOf(error);
    if (failure === null) this.#to.bad('an error without name or message');
    else if (this.#speak(session_id)) this.#turns.fail(failure);
    else this.#to.notice('sub_agent_error', failure.end.error);
  }

  part(part: Part, shape: Shape): void {
    const to = this.#to;
    const message = this.#messages.get(idOf(part.messageID) ?? '');
    // Where a part's message is not known, its time says whether it is of an earlier run.
    if (message === undefined ? this.#isOld(to.at_ms) : message.old) return;
    const session_id = idOf(part.sessionID);
    if (shape === 'stored' && this.#isForeign(session_id)) return;
    const root = this.#speak(session_id);
    const live = shape === 'bus';
    switch (part.type) {
      case 'text':
        if (part.ignored !== true) this.texts.part(part, whoSaid(part, message, shape), live);
        break;
      case 'reasoning':
        this.texts.part(part, { role: 'assistant', synthetic: false }, live);
        break;
      case 'tool':
        this.#tool(part, shape);
        break;
      case 'step-start':
      case 'step-finish':
        if (root) this.#step(part, shape);
        break;
      case 'retry':
        if (root && shape === 'stored') this.#retried(part);
        break;
      default:
        if (typeof part.type !== 'string') to.bad('a part without type');
        else if (!IGNORED.has(part.type)) to.problem('unknown_record', `part ${part.type}`);
    }
  }

  #tool(part: Part, shape: Shape): void {
    const refused = this.calls.part(part, shape === 'bus');
    if (!this.#to.root) return;
    const message_id = idOf(part.messageID);
    const turn = shape === 'cli' ? this.#turns.of(message_id) : this.#turns.last;
    if (turn === null || turn.message_id !== message_id) return;
    turn.calls += 1;
    if (refused) turn.refused = textOf(nativeOf(part.state)?.error);
  }

  #step(part: Part, shape: Shape): void {
    const step_id = idOf(part.id);
    const message_id = idOf(part.messageID);
    if (step_id !== null && this.#steps.has(step_id)) return;
    if (step_id !== null) this.#steps.add(step_id);
    this.texts.flush(idOf(part.sessionID));
    if (part.type === 'step-start') {
      // A step that is begun again within its message is another model call.
      if (shape === 'cli') this.#turns.begin(message_id);
      this.#to.step(step_id);
      return;
    }
    const reason = idOf(part.reason);
    if (shape === 'cli') {
      const turn = this.#turns.of(message_id);
      turn.closed = true;
      turn.finish = reason;
      const figures = spentOf(part);
      if (figures) this.#to.usage('add', figures);
    }
    this.#to.put('step_finished', { step_id, reason });
  }

  #retried(part: Part): void {
    const error = nativeOf(part.error);
    const data = nativeOf(error?.data);
    const retry = { attempt: countOf(part.attempt), status: statusOf(data?.statusCode) };
    const message = textOf(data?.message) ?? '';
    this.#to.retried(retry, { native_kind: textOf(error?.name), message });
  }

  busy(session_id: string | null): void {
    if (this.#isRoot(session_id)) this.#turns.busy = true;
  }

  /** The server says that a session waits for its next prompt. */
  idle(session_id: string | null): void {
    if (!this.#isRoot(session_id) || !this.#turns.open) return;
    this.texts.flush(session_id);
    this.#turns.idle();
  }

  end(): void {
    this.texts.end();
    this.calls.end();
    if (this.#total) this.#to.usage('total', this.#total, this.#intro.model);
    this.#turns.end();
  }
}

/** `provider/model` where both are given. */
function modelOf(providerID: unknown, modelID: unknown): string | null {
  const model = idOf(modelID);
  const provider = idOf(providerID);
  return model === null || provider === null ? model : `${provider}/${model}`;
}

function saidOf({ role, summary }: Known): Said {
  return { role, synthetic: summary };
}

/** Who said a text. Where no message says so: the CLI prints no prompts, and texts of the model have times. */
function whoSaid(part: Part, message: Known | undefined, shape: Shape): Said {
  if (part.synthetic === true) return { role: 'user', synthetic: true };
  if (message !== undefined) return saidOf(message);
  const timed = shape === 'cli' || nativeOf(part.time) !== null;
  return { role: timed ? 'assistant' : shape === 'stored' ? 'user' : null, synthetic: false };
}
