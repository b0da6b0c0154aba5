/** Sessions: the root agent's and its sub-agents', the speaker, and the facts about the root session. */
import { RecentMap, RecentSet } from '../../../lib/bounded.ts';
import type { DataOf } from '../../../model/event.ts';
import { type Drafts, type Time, Writer } from '../drafts.ts';
import { filledOf, idOf, momentOf, nativeOf } from '../native.ts';
import type { Calls } from './calls.ts';
import { REMEMBERED_MAX, type SessionInfo } from './native.ts';

const INTRO = ['session_id', 'model', 'agent_version', 'cwd'] as const;
type Intro = Pick<DataOf<'session_started'>, (typeof INTRO)[number]>;

export class Sessions extends Writer {
  intro: Intro = { session_id: null, model: null, agent_version: null, cwd: null };
  readonly #calls: Calls;
  /** Sessions of sub-agents. */
  readonly #children = new RecentSet<string>(REMEMBERED_MAX);
  /** When each root session was created. */
  readonly #created = new RecentMap<string, number>(REMEMBERED_MAX);
  /** The root session of an export. */
  #exported: string | null = null;

  constructor(to: Drafts, calls: Calls) {
    super(to);
    this.#calls = calls;
  }

  isRoot(session_id: string | null): boolean {
    if (session_id === null) return true;
    return this.#calls.parentOf(session_id) === null && !this.#children.has(session_id);
  }

  /** Whether rows belong to a session unrelated to the export next to them. */
  isForeign(session_id: string | null): boolean {
    const other = this.#exported !== null && this.#exported !== session_id;
    return other && this.isRoot(session_id);
  }

  /** A fork begins with copies of its parent's messages, which keep their times. The parent has them too. */
  isCopied(session_id: string | null, created_ms: Time): boolean {
    const begun_ms = session_id === null ? undefined : this.#created.get(session_id);
    return begun_ms !== undefined && created_ms !== undefined && created_ms < begun_ms;
  }

  /** Sets the speaker to the agent of this session. Returns whether it is the root agent. */
  speak(session_id: string | null): boolean {
    const parent = session_id === null ? null : this.#calls.parentOf(session_id);
    this.to.speak(parent, this.isRoot(session_id));
    return this.to.root;
  }

  /** Reports new facts about the root session. */
  introduce(news: Partial<Intro>): void {
    const now = { ...this.intro };
    for (const name of INTRO) now[name] ??= news[name] ?? null;
    const same = INTRO.every((name) => now[name] === this.intro[name]);
    if (same || now.session_id === null) return;
    this.intro = now;
    this.to.session(now);
  }

  /** `exported`: the session of an export. Rows next to it count only if they belong to its family. */
  take(info: SessionInfo, exported = false): void {
    const session_id = idOf(info.id);
    const parent = idOf(info.parentID);
    const native = nativeOf(info.model);
    if (session_id === null) this.to.bad('a session without id');
    else if (parent !== null) {
      if (this.isForeign(parent)) return;
      this.#children.add(session_id);
      this.#calls.claim(session_id);
    } else {
      const created_ms = momentOf(nativeOf(info.time)?.created);
      if (created_ms !== undefined) this.#created.set(session_id, created_ms);
      if (exported) this.#exported ??= session_id;
      if (!this.isRoot(session_id) || this.isForeign(session_id)) return;
      const model = modelOf(native?.providerID, native?.id);
      const cwd = filledOf(info.directory);
      this.introduce({ session_id, model, agent_version: idOf(info.version), cwd });
    }
  }
}

/** `provider/model` if both are given. */
export function modelOf(providerID: unknown, modelID: unknown): string | null {
  const model = idOf(modelID);
  const provider = idOf(providerID);
  return model === null || provider === null ? model : `${provider}/${model}`;
}
