/** Answers permission requests according to the approval mode, because nobody can be asked. */
import type { ApproveMode } from '../../../model/words.ts';
import { idOf, type Open } from '../../kit/native.ts';
import { nativesOf } from '../protocol.ts';

/** Kinds that `--approve edits` covers: those that change files, and those that only read. */
const COVERED_BY_EDITS: ReadonlySet<string> = new Set(['edit', 'read', 'search']);

export function isAllowed(approve: ApproveMode, kind: string | null): boolean {
  if (approve === 'edits') return kind !== null && COVERED_BY_EDITS.has(kind);
  return approve === 'all';
}

const CHOICES = {
  allow: ['allow_once', 'allow_always'],
  reject: ['reject_once', 'reject_always'],
} as const;

/** The outcome to answer with. Without a suitable option the request is not approved. */
export function outcomeFor(allowed: boolean, options: unknown): Open {
  const offered = nativesOf(options);
  for (const kind of CHOICES[allowed ? 'allow' : 'reject']) {
    const option = offered.find((one) => one.kind === kind);
    const optionId = idOf(option?.optionId);
    if (optionId !== null) return { outcome: 'selected', optionId };
  }
  return { outcome: 'cancelled' };
}

/** A login method that needs no person: a key in the environment. */
export function silentLogin(methods: unknown, env: NodeJS.ProcessEnv): string | null {
  const method = nativesOf(methods).find((one) => {
    if (one.type !== 'env_var') return Object.hasOwn((one._meta as object | null) ?? {}, 'api-key');
    return nativesOf(one.vars).every((variable) => Boolean(env[idOf(variable.name) ?? '']));
  });
  return idOf(method?.id) ?? idOf(method?.methodId);
}
