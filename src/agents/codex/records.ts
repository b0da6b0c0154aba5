/** Names of the records' types, and the form that calls of all channels are brought to. */
import type { CallRequestedDraft } from '../../model/draft.ts';
import type { Inside, Merged } from '../kit/native.ts';
import type { Session, Stdout } from './generated/native.ts';

type ServerParams = Merged<Stdout, 'server/item/started' | 'server/item/completed'>['params'];
/** The fields of an item in any of the three. */
export type Item = Merged<{
  stdout: Inside<Merged<Stdout, `item.${string}`>['item']>;
  session: Inside<Inside<Session['event_msg']['payload']>['item']>;
  server: Inside<Inside<ServerParams>['item']>;
}>;
export type Change = Inside<Item['changes']>;

export interface Request {
  readonly native_tool: string;
  readonly input: unknown;
  readonly more?: Pick<CallRequestedDraft, 'mcp' | 'tool'> | undefined;
}
