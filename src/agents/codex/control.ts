/** The app-server asks its client whether something may be done. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Drafts } from '../kit/drafts.ts';
import { type Claim, type Inside, idOf, type Merged, nativeOf, textOf } from '../kit/native.ts';
import type { Stdout } from './generated/native.ts';

type Params = Inside<Merged<Stdout, `server/${string}/request${string}`>['params']>;
export type Answer = Inside<Stdout['server/answer']['result']>;

const ALLOWED = /^(?:accept|approved)/;

export class Control {
  readonly #to: Drafts;
  readonly #asked = new RecentMap<unknown, { call_id: string | null; tool: string | null }>(
    LIMITS.open_calls_max,
  );

  constructor(to: Drafts) {
    this.#to = to;
  }

  /** `tool`: what would be used, where the question says so. */
  ask(tool: string | null, { id, params }: { id?: unknown; params?: Claim<Params> }): void {
    const question = nativeOf(params);
    const call_id = idOf(question?.itemId);
    const reason = textOf(question?.reason) ?? textOf(question?.message);
    this.#asked.set(id, { call_id, tool });
    this.#to.put('permission_asked', { request_id: nameOf(id), call_id, tool, reason });
  }

  /** Both sides number their requests on their own: an answer to a question is known by its fields. */
  answered(id: unknown, result: Answer | null): boolean {
    const answer = result?.decision ?? result?.action;
    const asked = this.#asked.get(id);
    if (answer === undefined || asked === undefined) return false;
    this.#asked.delete(id);
    const word = textOf(answer) ?? Object.keys(nativeOf(answer) ?? {})[0] ?? '';
    const decision = ALLOWED.test(word) ? 'allow' : 'deny';
    const source = 'host';
    this.#to.put('permission_answered', { request_id: nameOf(id), ...asked, decision, source });
    if (asked.call_id !== null) this.#to.decided(asked.call_id, decision, null, source);
    return true;
  }

  resolved(id: unknown): void {
    this.#asked.delete(id);
  }
}

function nameOf(id: unknown): string | null {
  return typeof id === 'number' ? String(id) : idOf(id);
}
