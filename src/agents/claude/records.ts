/** Names of the records' types. */
import type { Both, Inside, Merged } from '../kit/native.ts';
import type { Session, Stdout } from './generated/native.ts';

/** Records that both channels have, with the fields of both. */
type Records = Both<Pick<Stdout, 'assistant' | 'user'>, Pick<Session, 'assistant' | 'user'>>;
export type Assistant = Records['assistant'];
export type User = Records['user'];
export type Block = Inside<Inside<Merged<Records>['message']>['content']>;
export type Result = Merged<Stdout, `result/${string}`>;
