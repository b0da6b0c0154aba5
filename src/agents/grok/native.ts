/** Fields of records: lines of session files, and the updates of calls in both channels. */
import type { Time } from '../kit/drafts.ts';
import { type Inside, type Merged, momentOf, nativeOf, type Open, textOf } from '../kit/native.ts';
import type { Session, Stdout } from './generated/native.ts';

export type Line = Merged<Session>;
type Params = Inside<Line['params']>;
export type SessionUpdate = Inside<Params['update']>;
/** `tool_call` and `tool_call_update` of both channels. */
export type Update = Merged<{
  call: Stdout['tool_call'];
  update: Stdout['tool_call_update'];
  stored: SessionUpdate;
}>;

export const paramsOf = (line: Line): Params => nativeOf(line.params) ?? {};
export const updateOf = (line: Line): SessionUpdate => nativeOf(paramsOf(line).update) ?? {};
export const metaOf = (line: Line) => nativeOf(paramsOf(line)._meta);

/** The kind of an update. */
export function kindOf(line: Open): string | null {
  return textOf(updateOf(line).sessionUpdate) ?? textOf(line.type);
}

/** In ms where the CLI gives it, otherwise in seconds. */
export function timeOf(line: Open): Time {
  const seconds = (line as Line).timestamp;
  const ms = typeof seconds === 'number' ? seconds * 1000 : seconds;
  return momentOf(metaOf(line)?.agentTimestampMs) ?? momentOf(ms);
}
