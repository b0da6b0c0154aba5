/**
 * What every shape of record tells in the end: sessions, messages and their parts. Shapes differ in what they leave out:
 * the CLI's lines have parts only, so steps are counted there; the others have messages, which say what they cost.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { DataOf } from '../../model/event.ts';
import { Calls, type Heard, type Speaker } from './calls.ts';
import { type Failure, failureOf } from './failures.ts';
import { type Message, modelOf, retried, type Shape, saidOf, whoSaid } from './messages.ts';
import {
  countOf,
  filledOf,
  idOf,
  momentOf,
  type Native,
  nameOf,
  nativeOf,
  problem,
  Recent,
  textOf,
} from './native.ts';
import { PARTS_IGNORED } from './records.ts';
import { type Role, Texts } from './texts.ts';
import { endOf, newTurn, type Turn } from './turns.ts';
import { added, type Spent, spentOf, sumOf } from './usage.ts';

type Intro = Pick<DataOf<'session_started'>, 'session_id' | 'model' | 'agent_version' | 'cwd'>;

const ROOT: Speaker = { root: true, parent: null };

export class Talk {
  readonly calls = new Calls();
  readonly texts = new Texts();
  readonly #since_ms: number | null;
  readonly #messages = new Map<string, Message>();
  readonly #steps = new Recent(LIMITS.calls_remembered_max);
  readonly #children = new Recent(LIMITS.calls_remembered_max);
  #intro: Intro = { session_id: null, model: null, agent_version: null, cwd: null };
  #turn: Turn | null = null;
  /** The failure told last: the bus tells it of the session and of the message. */
  #failed: string | null = null;
  /** The root session, where an export tells it. */
  #exported: string | null = null;
  /** What a stored session cost: told once, at its end, as the whole. */
  #total: Spent | null = null;
  #busy = false;
  #idle_told = false;

  constructor(since_ms: number | null) {
    this.#since_ms = since_ms;
  }

  speakerOf(session_id: string | null): Speaker {
    if (session_id === null) return ROOT;
    const parent = this.calls.parentOf(session_id);
    if (parent !== null) return { root: false, parent };
    return this.#children.has(session_id) ? { root: false, parent: null } : ROOT;
  }

  /** Tells what is new about the root session. */
  introduce(news: Partial<Intro>, at_ms: number | undefined, out: Draft[]): void {
    const before = this.#intro;
    const now: Intro = {
      session_id: before.session_id ?? news.session_id ?? null,
      model: before.model ?? news.model ?? null,
      agent_version: before.agent_version ?? news.agent_version ?? null,
      cwd: before.cwd ?? news.cwd ?? null,
    };
    const same =
      now.session_id === before.session_id &&
      now.model === before.model &&
      now.agent_version === before.agent_version &&
      now.cwd === before.cwd;
    if (same || now.session_id === null) return;
    this.#intro = now;
    const data = { ...now, tools: null, permission_mode: null };
    out.push({ kind: 'session_started', at_ms, data });
  }

  /** The session of an export: rows beside it count only if they are of its family. */
  exported(info: Native, out: Draft[]): void {
    if (idOf(info.parentID) === null) this.#exported ??= idOf(info.id);
    this.session(info, undefined, out);
  }

  session(info: Native, at_ms: number | undefined, out: Draft[]): void {
    const session_id = idOf(info.id);
    if (session_id === null) {
      out.push(problem('bad_record', 'a session without id'));
      return;
    }
    if (idOf(info.parentID) !== null) {
      if (this.#exported !== null && this.#isForeign(idOf(info.parentID))) return;
      this.#children.add(session_id);
      this.calls.claim(session_id);
      return;
    }
    if (!this.speakerOf(session_id).root || this.#isForeign(session_id)) return;
    const model = modelOf(nativeOf(info.model), 'id');
    const { version, directory } = info;
    const news = { session_id, model, agent_version: idOf(version), cwd: filledOf(directory) };
    this.introduce(news, at_ms ?? momentOf(nativeOf(info.time)?.created), out);
  }

  message(info: Native, shape: Shape, at_ms: number | undefined, out: Draft[]): void {
    const session_id = idOf(info.sessionID);
    const id = idOf(info.id);
    const role = info.role === 'assistant' || info.role === 'user' ? info.role : null;
    if (id === null || role === null) {
      out.push(problem('bad_record', `a message without id or role: ${nameOf(info.role)}`));
      return;
    }
    const time = nativeOf(info.time);
    const created_ms = momentOf(time?.created) ?? at_ms;
    const known = this.#messages.get(id);
    const message = known ?? this.#meet(id, role, created_ms);
    message.summary ||= info.summary === true;
    // What an export told comes again where the database's rows lie beside it.
    const again = shape === 'stored' && (message.closed || this.#isForeign(session_id));
    if (message.old || again) return;
    const closed = countOf(time?.completed) !== null;
    message.closed ||= closed;
    this.texts.known(id, saidOf(message));
    if (!this.speakerOf(session_id).root) {
      if (closed) this.texts.flush(session_id, out);
      return;
    }
    const model =
      role === 'user' ? modelOf(nativeOf(info.model), 'modelID') : modelOf(info, 'modelID');
    const cwd = filledOf(nativeOf(info.path)?.cwd);
    this.introduce({ session_id, model, cwd }, at_ms ?? created_ms, out);
    if (role === 'user') {
      // A new prompt; the same message is told again whenever its summary changes.
      if (known === undefined) this.#turn = null;
    } else this.#answer(message, info, shape, out);
  }

  #meet(id: string, role: Role, created_ms: number | undefined): Message {
    const since = this.#since_ms;
    const old = since !== null && created_ms !== undefined && created_ms < since;
    const message: Message = { role, summary: false, spent: null, closed: false, old };
    this.#messages.set(id, message);
    if (this.#messages.size > LIMITS.calls_remembered_max) {
      const oldest = this.#messages.keys().next().value;
      if (oldest !== undefined) this.#messages.delete(oldest);
    }
    return message;
  }

  /** An assistant message of the root agent. */
  #answer(message: Message, info: Native, shape: Shape, out: Draft[]): void {
    const closed_ms = momentOf(nativeOf(info.time)?.completed);
    const turn = this.#turnOf(idOf(info.id));
    turn.finish = idOf(info.finish) ?? turn.finish;
    turn.summary = message.summary;
    turn.closed ||= closed_ms !== undefined;
    const failure = failureOf(info.error);
    if (failure) this.#fail(failure, turn, closed_ms, out);
    if (closed_ms === undefined) return;
    this.texts.flush(idOf(info.sessionID), out);
    const spent = spentOf(info);
    const news = spent && added(spent, message.spent);
    if (!news) return;
    message.spent = spent;
    if (shape === 'stored') this.#total = sumOf(this.#total, news);
    else this.#spend(news, modelOf(info, 'modelID'), closed_ms, out);
  }

  /** The turn of this message; another message than the last begins another turn. */
  #turnOf(message_id: string | null): Turn {
    if (this.#turn === null || this.#turn.message_id !== message_id) {
      this.#turn = newTurn(message_id);
      this.#failed = null;
      this.#idle_told = false;
    }
    return this.#turn;
  }

  #spend(spent: Spent, model: string | null, at_ms: number | undefined, out: Draft[]): void {
    out.push({ kind: 'usage_reported', at_ms, data: { mode: 'add', ...spent, model } });
  }

  #fail(failure: Failure, turn: Turn, at_ms: number | undefined, out: Draft[]): void {
    turn.failure = failure;
    turn.closed = true;
    this.#idle_told = false;
    const key = `${failure.exit_reason} ${failure.message}`;
    if (this.#failed === key) return;
    this.#failed = key;
    if (failure.provider) out.push({ kind: 'provider_failed', at_ms, data: failure.provider });
  }

  /** An error of the session: of its last turn, or of a prompt that got none. */
  failed(error: unknown, session_id: string | null, at_ms: number | undefined, out: Draft[]): void {
    const failure = failureOf(error);
    if (failure === null) {
      out.push(problem('bad_record', 'an error without name or message'));
      return;
    }
    if (!this.speakerOf(session_id).root) {
      out.push({ kind: 'notice', at_ms, data: { code: 'sub_agent_error', text: failure.message } });
      return;
    }
    this.#turn ??= newTurn(null);
    this.#fail(failure, this.#turn, at_ms, out);
  }

  part(part: Native, shape: Shape, at_ms: number | undefined, out: Draft[]): void {
    const message_id = idOf(part.messageID);
    const message = message_id === null ? undefined : this.#messages.get(message_id);
    if (message?.old || this.#isOld(message, at_ms)) return;
    const session_id = idOf(part.sessionID);
    if (shape === 'stored' && this.#isForeign(session_id)) return;
    const speaker = this.speakerOf(session_id);
    const heard = { speaker, at_ms, live: shape === 'bus' };
    switch (part.type) {
      case 'text':
        if (part.ignored !== true) this.texts.part(part, whoSaid(part, message, shape), heard, out);
        break;
      case 'reasoning':
        this.texts.part(part, { role: 'assistant', synthetic: false }, heard, out);
        break;
      case 'tool':
        this.#tool(part, shape, heard, out);
        break;
      case 'step-start':
        if (speaker.root) this.#stepStart(part, shape, at_ms, out);
        break;
      case 'step-finish':
        if (speaker.root) this.#stepFinish(part, shape, at_ms, out);
        break;
      case 'retry':
        if (shape === 'stored' && speaker.root) retried(part, at_ms, out);
        break;
      default:
        if (typeof part.type !== 'string') out.push(problem('bad_record', 'a part without type'));
        else if (!PARTS_IGNORED.has(part.type)) {
          out.push(problem('unknown_record', `part ${nameOf(part.type)}`));
        }
    }
  }

  /** Whether rows are of a session that has nothing to do with the export beside them. */
  #isForeign(session_id: string | null): boolean {
    if (this.#exported === null || session_id === this.#exported) return false;
    return this.speakerOf(session_id).root;
  }

  /** Where a part's message is not known, its time tells whether it is of an earlier run. */
  #isOld(message: Message | undefined, at_ms: number | undefined): boolean {
    return (
      message === undefined &&
      this.#since_ms !== null &&
      at_ms !== undefined &&
      at_ms < this.#since_ms
    );
  }

  #tool(part: Native, shape: Shape, heard: Heard, out: Draft[]): void {
    const refused = this.calls.part(part, heard, out);
    if (!heard.speaker.root) return;
    const message_id = idOf(part.messageID);
    const turn = shape === 'cli' ? this.#turnOf(message_id) : this.#turn;
    if (turn === null || turn.message_id !== message_id) return;
    turn.calls += 1;
    if (refused) turn.refused = textOf(nativeOf(part.state)?.error);
  }

  #stepStart(part: Native, shape: Shape, at_ms: number | undefined, out: Draft[]): void {
    const step_id = idOf(part.id);
    if (step_id !== null && !this.#steps.add(step_id)) return;
    this.texts.flush(idOf(part.sessionID), out);
    // A step that is begun again within its message is another model call.
    if (shape === 'cli') {
      this.#turn = newTurn(idOf(part.messageID));
      this.#failed = null;
    }
    const data = { step_id, allowed_tools: null, enforcement_mode: null };
    out.push({ kind: 'step_started', at_ms, data });
  }

  #stepFinish(part: Native, shape: Shape, at_ms: number | undefined, out: Draft[]): void {
    const step_id = idOf(part.id);
    if (step_id !== null && !this.#steps.add(step_id)) return;
    this.texts.flush(idOf(part.sessionID), out);
    const reason = idOf(part.reason);
    if (shape === 'cli') {
      const turn = this.#turnOf(idOf(part.messageID));
      turn.closed = true;
      turn.finish = reason;
      const spent = spentOf(part);
      if (spent) this.#spend(spent, null, at_ms, out);
    }
    out.push({ kind: 'step_finished', at_ms, data: { step_id, reason } });
  }

  busy(session_id: string | null): void {
    if (this.speakerOf(session_id).root) this.#busy = true;
  }

  /** The server says that a session waits for its next prompt; it says so twice. */
  idle(session_id: string | null, at_ms: number | undefined, out: Draft[]): void {
    if (!this.speakerOf(session_id).root || this.#idle_told) return;
    if (!this.#busy && this.#turn === null) return;
    this.texts.flush(session_id, out);
    const data = endOf(this.#turn, true);
    if (data === null) return;
    this.#idle_told = true;
    out.push({ kind: 'agent_ended', at_ms, data });
  }

  end(out: Draft[]): void {
    this.texts.end(out);
    this.calls.end(out);
    if (this.#total) {
      const data = { mode: 'total' as const, ...this.#total, model: this.#intro.model };
      out.push({ kind: 'usage_reported', data });
    }
    const data = this.#idle_told ? null : endOf(this.#turn, false);
    if (data) out.push({ kind: 'agent_ended', data });
  }
}
