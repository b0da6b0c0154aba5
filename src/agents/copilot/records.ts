/** Names of the records' types. Both channels have the same records. */
import type { Both, Inside } from '../kit/native.ts';
import type { Session, Stdout } from './generated/native.ts';

export type Records = Both<Stdout, Session>;
/** `data` of a kind of record. */
export type Data<K extends keyof Records> = 'data' extends keyof Records[K]
  ? Inside<Records[K]['data']>
  : never;
export type Completed = Data<'tool.execution_complete'>;

/** A call, as its records describe it. */
export interface Asked {
  readonly native_tool: string;
  readonly input: unknown;
}
