/** Names of the records' types. */
import type { Inside } from '../kit/native.ts';
import type { Stdout } from './generated/native.ts';

/** A message of any role. */
export type Message = Inside<Stdout['message_end']['message']>;
export type Block = Inside<Message['content']>;
