/** Readers over messages as they come: every field may be missing or of another type. */
import { filledOf, isNative, momentOf, type Native, nativeOf } from '../../lib/foreign.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import type { ProblemCode } from '../../model/words.ts';

export {
  codeOf,
  costOf,
  filledOf,
  idOf,
  isNative,
  type Native,
  nativeOf,
  textOf,
  tokensOf,
} from '../../lib/foreign.ts';

export function nativesOf(value: unknown): readonly Native[] {
  return Array.isArray(value) ? value.filter(isNative) : [];
}

/** The first of `names` that is a non-empty string. */
export function firstText(value: Native | null, names: readonly string[]): string | null {
  for (const name of names) {
    const text = filledOf(value?.[name]);
    if (text !== null) return text;
  }
  return null;
}

/** A field of `_meta`, or of one of its members: vendors keep theirs under a name of their own. */
export function metaField(meta: unknown, names: readonly string[]): string | null {
  const own = nativeOf(meta);
  if (own === null) return null;
  const direct = firstText(own, names);
  if (direct !== null) return direct;
  for (const member of Object.values(own)) {
    const inner = firstText(nativeOf(member), names);
    if (inner !== null) return inner;
  }
  return null;
}

/** The key of a JSON-RPC id, which is a number or a text; null: none. */
export function rpcKey(id: unknown): string | null {
  return typeof id === 'number' || typeof id === 'string' ? `${typeof id} ${id}` : null;
}

/** Epoch ms. Recordings of other clients count from their own start, which says nothing about when. */
export function timeOf(at_ms: unknown): number | undefined {
  const own = typeof at_ms === 'number' && at_ms >= 0 && at_ms < LIMITS.time_ms_min;
  return own ? undefined : momentOf(at_ms);
}

/** The older half goes when a collection would grow without bound. */
export function trim(held: Map<string, unknown> | Set<string>, most: number): void {
  if (held.size <= most) return;
  for (const key of held.keys()) {
    if (held.size <= most / 2) break;
    held.delete(key);
  }
}

export function problem(code: ProblemCode, detail: string, excerpt: string | null = null): Draft {
  const data = { stage: 'decode' as const, code, detail, bytes: null, sha256: null, excerpt };
  return { kind: 'problem', data };
}
