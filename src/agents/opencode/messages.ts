/** What messages and their parts say of themselves. */
import type { Draft } from '../../model/draft.ts';
import { countOf, idOf, type Native, nativeOf, statusOf, textOf } from './native.ts';
import type { Role, Said } from './texts.ts';
import type { Spent } from './usage.ts';

/** cli: lines of `run --format json`; bus: the server's events; stored: database rows and exports. */
export type Shape = 'cli' | 'bus' | 'stored';

export interface Message {
  role: Role;
  summary: boolean;
  spent: Spent | null;
  /** Its last snapshot was heard. */
  closed: boolean;
  /** Of an earlier run of the session. */
  old: boolean;
}

/** `provider/model` where both are told. */
export function modelOf(native: Native | null, key: 'id' | 'modelID'): string | null {
  const model = idOf(native?.[key]);
  const provider = idOf(native?.providerID);
  return model === null || provider === null ? model : `${provider}/${model}`;
}

export function saidOf({ role, summary }: Message): Said {
  return { role, synthetic: summary };
}

/** Whose text it is. Where no message says so: the CLI prints no prompts, and what the model said has its times. */
export function whoSaid(part: Native, message: Message | undefined, shape: Shape): Said {
  if (part.synthetic === true) return { role: 'user', synthetic: true };
  if (message !== undefined) return saidOf(message);
  if (shape === 'cli') return { role: 'assistant', synthetic: false };
  if (nativeOf(part.time) !== null) return { role: 'assistant', synthetic: false };
  return { role: shape === 'stored' ? 'user' : null, synthetic: false };
}

export function retried(part: Native, at_ms: number | undefined, out: Draft[]): void {
  const error = nativeOf(part.error);
  const status = statusOf(nativeOf(error?.data)?.statusCode);
  const nothing = { max_attempts: null, backoff_ms: null };
  const data = { attempt: countOf(part.attempt), ...nothing, kind: textOf(error?.name), status };
  out.push({ kind: 'provider_retried', at_ms, data });
}
