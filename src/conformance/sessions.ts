/**
 * What the stream has said so far: sessions, their open calls and content blocks, who has which correlation id.
 * Contract: memory is bounded; what goes over a limit is left out and counted, and the rules do not judge it.
 */
import { isoTime } from '../lib/iso-time.ts';
import { LIMITS } from '../lib/limits.ts';
import {
  CALL_MESSAGE_TYPES,
  CLIENT_MESSAGE_TYPES,
  CONTROL_MESSAGE_TYPES,
} from '../model/live-words.ts';
import { CallBook } from './calls.ts';
import { createSeen, type Seen } from './seen.ts';
import type { Message, Place, StreamLine } from './types.ts';

export interface Call {
  session_id: string;
  call_id: string;
  correlation_id: string;
  trace: string | null;
  place: Place;
  requested_ms: number;
  /** Of the last message that belongs to it. */
  sign_ms: number;
  /** Between two signs of life, the longest; and from the request to the first. */
  longest_ms: number;
  first_ms: number | null;
  /** A status said that it failed. */
  failed: boolean;
  answered: boolean;
}

export interface Session {
  id: string;
  /** Number of the first message that was seen. */
  first_seq: number;
  last_seq: number;
  /** Also of messages that could not be taken. */
  highest_seq: number;
  last_ms: number;
  started: boolean;
  ended: boolean;
  /** Numbers that were jumped over and did not come later. */
  missing: number;
  /** Messages so far, each once. */
  messages: number;
  seen: Seen;
  calls: Map<string, Call>;
  /** Open content blocks by message and index. */
  blocks: Set<string>;
  /** Messages of the model that have begun. */
  texts: Set<string>;
}

/** How a message's number stands to those before it. */
export type SeqStanding = 'next' | 'gap' | 'late' | 'conflict' | 'none';

/** A line with all that the rules want to know of it; of the time before the message itself took effect. */
export interface Item extends Place {
  line: number;
  text: string;
  fault: StreamLine['fault'];
  /** Null for a line with a fault. */
  message: Message | null;
  /** What could be parsed, also of a line with a fault. */
  raw: Record<string, unknown> | null;
  type: string | null;
  received_ms: number | null;
  at_ms: number;
  /** Null: without a number, beyond the limits, or a conflict. */
  session: Session | null;
  standing: SeqStanding;
  /** The number that was expected; only for a gap. */
  expected_seq: number;
  /** The call that it belongs to, open or answered. */
  call: Call | null;
  /** The call that has this correlation id. */
  owner: Call | null;
}

export interface TrackerCounts {
  sessions: number;
  open_calls: number;
  duplicates: number;
  /** Left out for a limit. */
  sessions_over: number;
  calls_over: number;
  blocks_over: number;
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);
const number = (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;

export interface TrackerOptions {
  /** Called once for a session that is let go. */
  onClose(session: Session): void;
  /** Sessions may have begun before the stream did, as after a restart of the receiver. */
  joins: boolean;
}

export class Tracker {
  readonly sessions = new Map<string, Session>();
  readonly counts: TrackerCounts = {
    sessions: 0,
    open_calls: 0,
    duplicates: 0,
    sessions_over: 0,
    calls_over: 0,
    blocks_over: 0,
  };
  readonly #calls = new CallBook(this.counts);
  readonly #options: TrackerOptions;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  /** Null for a message that was there already. */
  look(line: StreamLine): Item | null {
    const item = itemOf(line);
    const { session_id, seq, message, type } = item;
    if (session_id === null) return item;
    if (seq !== null && message !== null) {
      item.session = this.#sessionOf(session_id, seq, item.at_ms);
      if (item.session === null) return item;
      const standing = standingOf(item.session, seq, line.text);
      if (standing === 'duplicate') {
        this.counts.duplicates += 1;
        return null;
      }
      item.standing = standing;
      item.expected_seq = item.session.last_seq + 1;
      // It is judged for what it is, and not as a part of the session.
      if (standing === 'conflict') item.session = null;
    }
    const known = this.sessions.get(session_id);
    if (known !== undefined && seq !== null && seq > known.highest_seq) known.highest_seq = seq;
    if (type !== null && CALL_MESSAGE_TYPES.has(type)) {
      const call_id = (item.raw?.data as Message['data'] | null)?.call_id;
      item.call = this.#calls.find(known, session_id, call_id);
    }
    item.owner = this.#calls.owner(correlationOf(item));
    return item;
  }

  /** Lets the message take effect. */
  settle(item: Item): void {
    const { message, session, seq, standing } = item;
    if (message === null || session === null || seq === null) return;
    if (standing === 'late') session.missing -= 1;
    if (standing === 'gap') session.missing += seq - item.expected_seq;
    session.last_seq = Math.max(session.last_seq, seq);
    session.seen.add(seq, item.text);
    session.messages += 1;
    session.last_ms = Math.max(session.last_ms, item.at_ms);
    if (CALL_MESSAGE_TYPES.has(message.type)) this.#calls.settle(item, message, session);
    else this.#settleContent(message, session);
    if (message.type === 'session_start') session.started = true;
    if (message.type === 'session_end') this.#end(session);
  }

  #roomForSession(): boolean {
    if (this.sessions.size < LIMITS.live_sessions_max) return true;
    // Of those that have ended the oldest goes. One that is open stays, but where the stream never ends: there the one
    // that has been silent longest is taken for lost.
    const [silent] = this.sessions.values();
    const gone = this.sessions.values().find(({ ended }) => ended);
    const leaving = gone ?? (this.#options.joins ? silent : undefined);
    if (leaving === undefined) return false;
    this.sessions.delete(leaving.id);
    for (const call of [...leaving.calls.values()]) this.#calls.close(call, leaving);
    this.#options.onClose(leaving);
    return true;
  }

  #sessionOf(id: string, seq: number, at_ms: number): Session | null {
    const known = this.sessions.get(id);
    if (known !== undefined) {
      if (!this.#options.joins) return known;
      // In the order of their last messages.
      this.sessions.delete(id);
      this.sessions.set(id, known);
      return known;
    }
    if (!this.#roomForSession()) {
      this.counts.sessions_over += 1;
      return null;
    }
    const session: Session = {
      id,
      first_seq: seq,
      last_seq: seq - 1,
      highest_seq: seq - 1,
      last_ms: at_ms,
      started: false,
      ended: false,
      missing: this.#options.joins ? 0 : seq - 1,
      messages: 0,
      seen: createSeen(),
      calls: new Map(),
      blocks: new Set(),
      texts: new Set(),
    };
    this.sessions.set(id, session);
    this.counts.sessions += 1;
    return session;
  }

  #settleContent({ type, data }: Message, { blocks, texts }: Session): void {
    const full = blocks.size + texts.size >= LIMITS.live_open_calls_max;
    if (type === 'content_block_start' || type === 'message_start') {
      if (full) this.counts.blocks_over += 1;
      else if (type === 'message_start') texts.add((data.message as { id: string }).id);
      else blocks.add(blockOf(data));
    } else if (type === 'content_block_stop') blocks.delete(blockOf(data));
    else if (type === 'message_stop') {
      if (typeof data.message_id === 'string') texts.delete(data.message_id);
      else texts.clear();
    }
  }

  #end(session: Session): void {
    session.ended = true;
    for (const call of [...session.calls.values()]) this.#calls.close(call, session);
    session.blocks.clear();
    session.texts.clear();
  }
}

function standingOf(session: Session, seq: number, line: string): SeqStanding | 'duplicate' {
  if (seq === session.last_seq + 1) return 'next';
  if (seq > session.last_seq) return 'gap';
  return session.seen.compare(seq, line);
}

export const blockOf = (data: Record<string, unknown>) => `${data.message_id}\n${data.index}`;

/** Of an error: that of the message that led to it. */
function correlationOf({ message, raw }: Item): string {
  const cause = message?.type === 'error' ? (message.data.caused_by as Message | null) : null;
  const id = cause?.correlation_id ?? raw?.correlation_id;
  return typeof id === 'string' ? id : '';
}

/** Messages of clients and of connections: a `seq` in them does not count the messages of a session. */
const UNNUMBERED: ReadonlySet<unknown> = new Set(
  [...CLIENT_MESSAGE_TYPES, ...CONTROL_MESSAGE_TYPES].filter((type) => type !== 'error'),
);

function itemOf(line: StreamLine): Item {
  const { fault, message } = line;
  const raw = message as Record<string, unknown> | null;
  return {
    line: line.line,
    session_id: text(raw?.session_id),
    seq: UNNUMBERED.has(raw?.type) ? null : number(raw?.seq),
    text: line.text,
    fault,
    message: fault === null ? (message as Message) : null,
    raw,
    type: text(raw?.type),
    received_ms: line.received_ms ?? null,
    at_ms: fault === null ? (isoTime(line.message.timestamp) as number) : Number.NaN,
    session: null,
    standing: 'none',
    expected_seq: 0,
    call: null,
    owner: null,
  };
}
