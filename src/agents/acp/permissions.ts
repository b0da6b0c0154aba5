/** The agent asks its client whether a call may run; the client answers by policy. */
import { RecentMap } from '../../lib/bounded.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Drafts } from '../kit/drafts.ts';
import { type Inside, nativeOf, textOf, wordOf } from '../kit/native.ts';
import type { Call } from './calls.ts';
import { type FromClient, nativesOf, type Params, type Update } from './protocol.ts';

interface Asked {
  readonly call: Call;
  /** Kinds of the options, by their ids. */
  readonly kinds: ReadonlyMap<string, string>;
}

/** What the request is about. Version 2 asks about a subject, which may be a tool call. */
export function subjectOf(params: Params): Update | null {
  return nativeOf(params.toolCall) ?? nativeOf(nativeOf(params.subject)?.toolCall);
}

export class Permissions {
  readonly #to: Drafts;
  readonly #asked = new RecentMap<string, Asked>(LIMITS.open_calls_max);

  constructor(to: Drafts) {
    this.#to = to;
  }

  /** `call` has been requested. */
  ask(key: string | null, call: Call, params: Params): void {
    const options = nativesOf(params.options);
    const kinds = new Map(options.map(({ optionId, kind }) => [wordOf(optionId), wordOf(kind)]));
    call.asked = true;
    if (key !== null) this.#asked.set(key, { call, kinds });
    const reason = textOf(params.description) ?? textOf(subjectOf(params)?.title);
    const { call_id } = call;
    this.#to.put('permission_asked', { request_id: key, call_id, tool: nameOf(call), reason });
  }

  /** Whether a call was refused. */
  answer(key: string, result: Inside<FromClient['result']> | null): boolean {
    const asked = this.#asked.get(key);
    if (asked === undefined) return false;
    this.#asked.delete(key);
    const { call, kinds } = asked;
    const { call_id } = call;
    const outcome = nativeOf(result?.outcome);
    const kind = kinds.get(wordOf(outcome?.optionId)) ?? '';
    const decision = kind.startsWith('allow') ? 'allow' : 'deny';
    const told = {
      request_id: key,
      call_id,
      tool: nameOf(call),
      decision,
      source: 'client',
    } as const;
    this.#to.put('permission_answered', told);
    this.#to.decided(call_id, decision, kind === '' ? textOf(outcome?.outcome) : kind, 'client');
    call.asked = false;
    call.refused = decision === 'deny';
    if (!call.refused) this.#to.put('call_started', { call_id });
    return call.refused;
  }
}

function nameOf({ tool }: Call): string | null {
  return tool?.looked_up_as ?? tool?.native_tool ?? null;
}
