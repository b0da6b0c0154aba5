/** Native values: fields of records, kinds of records without a type, times of events, tokens. */
import { LIMITS } from '../../../lib/limits.ts';
import type { Time } from '../drafts.ts';
import {
  costOf,
  type Inside,
  isNative,
  type Merged,
  momentOf,
  nativeOf,
  type Open,
  tokensOf,
} from '../native.ts';
import { isEmpty, minus, type Spent, spent } from '../usage.ts';
import type { Session, Stdout } from './generated/native.ts';

/** Bounded collections drop their older half, so this keeps at least `calls_remembered_max`. */
export const REMEMBERED_MAX = 2 * LIMITS.calls_remembered_max;

/** cli: lines of `run --format json`; bus: events of the server; stored: database rows and exports. */
export type Shape = 'cli' | 'bus' | 'stored';

type Event<Kind extends keyof Stdout> = Stdout[Kind] extends { readonly properties?: infer P }
  ? Inside<P>
  : never;
export type Line = Merged<Stdout, 'step_start' | 'step_finish' | 'text' | 'reasoning' | 'tool_use'>;
export type Part = Merged<{
  line: Inside<Line['part']>;
  event: Inside<Event<'message.part.updated'>['part']>;
  piece: Inside<Session['export/part']['part']>;
  row: Inside<Session['row/part']['data']>;
}>;
export type ToolState = Inside<Part['state']>;
export type Message = Merged<{
  event: Inside<Event<'message.updated'>['info']>;
  piece: Inside<Session['export/message']['message']>;
  row: Inside<Session['row/message']['data']>;
}>;
export type SessionInfo = Merged<{
  event: Inside<Event<'session.created' | 'session.updated'>['info']>;
  piece: Inside<Session['export/session']['session']>;
}>;
export type NativeError = Event<'session.error'>['error'];

const PIECES: ReadonlySet<string> = new Set(['session', 'message', 'part']);

/** The kind of a record without a type: a database row or a piece of an export. Null: neither. */
export function storedKind(record: Open): string | null {
  if (record.time_created !== undefined) {
    if (record.message_id !== undefined) return 'row/part';
    return record.data === undefined ? 'row/session' : 'row/message';
  }
  const [name = '', ...more] = Object.keys(record);
  const piece = more.length === 0 && PIECES.has(name) && isNative(record[name]);
  return piece ? `export/${name}` : null;
}

/** The time that orders a row. The root session is first: if it is a fork, its copied messages are older than it. */
export function rowTime({ parent_id, time_created }: Open): Time {
  return parent_id === null ? 0 : momentOf(time_created);
}

const WRAP_MS = 2 ** 36;
const EVENT_ID = /^evt_([0-9a-f]{12})/;

/** An event id holds its time in ms modulo 2^36; a time nearby completes it. Otherwise the latest time in the event. */
export function eventTime(id: unknown, properties: Open, now_ms: Time): Time {
  const own_ms = timeIn(properties);
  const near_ms = now_ms ?? own_ms;
  const match = typeof id === 'string' && near_ms !== undefined ? EVENT_ID.exec(id) : null;
  if (match === null || near_ms === undefined) return own_ms;
  const low = Math.floor(Number.parseInt(match[1] ?? '', 16) / 4096);
  const at_ms = near_ms - (near_ms % WRAP_MS) + low;
  if (at_ms - near_ms > WRAP_MS / 2) return at_ms - WRAP_MS;
  return near_ms - at_ms > WRAP_MS / 2 ? at_ms + WRAP_MS : at_ms;
}

function timeIn(properties: Open): Time {
  if (typeof properties.time === 'number') return momentOf(properties.time);
  const time = nativeOf(nativeOf(properties.info)?.time) ?? nativeOf(properties.time);
  return momentOf(time?.completed) ?? momentOf(time?.updated) ?? momentOf(time?.created);
}

/** Tokens and cost of one model call. `input` excludes the cache, `output` excludes reasoning. Null: there are none. */
export function spentOf(native: Merged<{ message: Message; part: Part }>): Spent | null {
  const tokens = nativeOf(native.tokens);
  const cache = nativeOf(tokens?.cache);
  const usage = {
    input: tokensOf(tokens?.input),
    output: tokensOf(tokens?.output),
    cache_read: tokensOf(cache?.read),
    cache_write: tokensOf(cache?.write),
    reasoning: tokensOf(tokens?.reasoning),
  };
  const figures = spent(usage, costOf(native.cost));
  return tokens === null && isEmpty(figures) ? null : figures;
}

/** The figures that a later snapshot of the same call adds; null if none. */
export function added(now: Spent, before: Spent | null): Spent | null {
  const more = minus(now, before);
  const figures = [...Object.values(more.usage), more.cost_usd];
  return before === null || figures.some(Boolean) ? more : null;
}
