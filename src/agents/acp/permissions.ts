/** The agent asks its client whether a call may run; the client answers by policy. */
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { Call } from './calls.ts';
import { type Native, nativeOf, nativesOf, textOf, trim } from './native.ts';

export interface Request {
  readonly key: string | null;
  /** It has been requested. */
  readonly call: Call;
  readonly params: Native;
}

interface Asked {
  readonly call: Call;
  /** Kinds of the options, by their ids. */
  readonly kinds: ReadonlyMap<string, string>;
}

type Time = number | undefined;

/** What the request is about. Version 2 asks about a subject, which may be a tool call. */
export function subjectOf(params: Native): Native | null {
  return nativeOf(params.toolCall) ?? nativeOf(nativeOf(params.subject)?.toolCall);
}

export class Permissions {
  readonly #asked = new Map<string, Asked>();

  ask(request: Request, at_ms: Time, out: Draft[]): void {
    const { key, call, params } = request;
    const kinds = new Map<string, string>();
    for (const option of nativesOf(params.options)) {
      kinds.set(textOf(option.optionId) ?? '', textOf(option.kind) ?? '');
    }
    call.asked = true;
    if (key !== null) this.#asked.set(key, { call, kinds });
    trim(this.#asked, LIMITS.open_calls_max);
    const reason = textOf(params.description) ?? textOf(subjectOf(params)?.title);
    const data = { request_id: key, call_id: call.call_id, tool: nameOf(call), reason };
    out.push({ kind: 'permission_asked', at_ms, data });
  }

  /** Whether a call was refused. */
  answer(key: string, result: Native | null, at_ms: Time, out: Draft[]): boolean {
    const asked = this.#asked.get(key);
    if (asked === undefined) return false;
    this.#asked.delete(key);
    const { call, kinds } = asked;
    const outcome = nativeOf(result?.outcome);
    const kind = kinds.get(textOf(outcome?.optionId) ?? '') ?? '';
    const decision = kind.startsWith('allow') ? 'allow' : 'deny';
    const { call_id } = call;
    const source = 'client';
    const told = { request_id: key, call_id, tool: nameOf(call), decision, source } as const;
    out.push({ kind: 'permission_answered', at_ms, data: told });
    const reason = kind === '' ? textOf(outcome?.outcome) : kind;
    out.push({ kind: 'call_decided', at_ms, data: { call_id, decision, reason, source } });
    call.asked = false;
    call.refused = decision === 'deny';
    if (!call.refused) out.push({ kind: 'call_started', at_ms, data: { call_id } });
    return call.refused;
  }
}

function nameOf(call: Call): string | null {
  return call.tool?.looked_up_as ?? call.tool?.native_tool ?? null;
}
