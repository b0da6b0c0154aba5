/** State of a stream while it is judged: senders, sessions, calls, and each line with its context. */
import { filledOf } from '../lib/foreign.ts';
import { isoTime } from '../lib/iso-time.ts';
import { type Room, RoomMap } from '../lib/room.ts';
import { CLIENT_MESSAGE_TYPES, CONTROL_MESSAGE_TYPES } from '../model/live-words.ts';
import { DedupWindow } from './dedup-window.ts';
import type { Message, Place, StreamLine } from './types.ts';

/** The sender of a session's first message. Its sessions can affect each other, but no others (LP-15). */
export interface Sender {
  id: string;
  /** Number of its known sessions. */
  sessions: number;
  /** Correlation id → the call that owns it. */
  owners: Map<string, Call>;
  /** Room for its open calls and content blocks. */
  room: Room;
}

export interface Call {
  session_id: string;
  sender: Sender;
  call_id: string;
  correlation_id: string;
  trace: string | null;
  place: Place;
  requested_ms: number;
  /** Time of the last message of the call. */
  sign_ms: number;
  /** The longest time between two messages of the call. */
  longest_ms: number;
  /** From the request to the next message. */
  first_ms: number | null;
  /** A status message reported failure. */
  failed: boolean;
  answered: boolean;
}

const charsOf = (call_id: string, { correlation_id, trace }: Call) =>
  call_id.length + correlation_id.length + (trace?.length ?? 0);

export class Session {
  readonly id: string;
  readonly sender: Sender;
  /** It began before the stream, or was dropped in between: earlier calls and blocks are unknown. */
  readonly joined: boolean;
  /** It may continue: its sender is still connected. */
  held = true;
  /** Number of the first message seen. */
  readonly first_seq: number;
  last_seq: number;
  /** Includes messages that could not be accepted. */
  highest_seq: number;
  last_ms: number;
  started = false;
  ended = false;
  /** Skipped numbers that have not arrived later. */
  missing: number;
  /** Messages so far, without duplicates. */
  messages = 0;
  readonly seen = new DedupWindow();
  readonly calls: RoomMap<Call>;
  /** Open content blocks by message and index. */
  readonly blocks: RoomMap<true>;
  /** Open messages of the model. */
  readonly texts: RoomMap<true>;

  /** `joins`: the session may have begun before the stream. */
  constructor(
    id: string,
    sender: Sender,
    { seq, at_ms, joins }: { seq: number; at_ms: number; joins: boolean },
  ) {
    this.id = id;
    this.sender = sender;
    this.joined = joins && seq > 1;
    this.first_seq = seq;
    this.last_seq = seq - 1;
    this.highest_seq = seq - 1;
    this.last_ms = at_ms;
    this.missing = joins ? 0 : seq - 1;
    this.calls = new RoomMap(sender.room, charsOf);
    this.blocks = new RoomMap(sender.room);
    this.texts = new RoomMap(sender.room);
  }
}

/** How a message's number relates to the earlier ones. */
export type Sequence = 'next' | 'gap' | 'late' | 'conflict' | 'none';

/** A line with its context for the rules. The context is the state before the message is applied. */
export interface Item extends Place {
  line: number;
  text: string;
  fault: StreamLine['fault'];
  /** Null for a line with a fault. */
  message: Message | null;
  /** The parsed part, also of a line with a fault. */
  raw: Record<string, unknown> | null;
  type: string | null;
  received_ms: number | null;
  sender: string;
  at_ms: number;
  /** Null for a message without a number, over a limit, or in conflict. */
  session: Session | null;
  sequence: Sequence;
  /** The next number of the session. */
  expected_seq: number;
  /** The call it belongs to, open or answered. */
  call: Call | null;
  /** The call of the same sender that owns this correlation id. */
  owner: Call | null;
}

export interface TrackerCounts {
  sessions: number;
  duplicates: number;
  /** Messages of sessions over the limit. */
  sessions_over: number;
  sessions_dropped: number;
  calls_over: number;
  blocks_over: number;
}

const number = (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;

/** Messages of clients and connections: their `seq` is not a number of the session. */
const UNNUMBERED: ReadonlySet<unknown> = new Set(
  [...CLIENT_MESSAGE_TYPES, ...CONTROL_MESSAGE_TYPES].filter((type) => type !== 'error'),
);

export function itemOf(line: StreamLine): Item {
  const { fault, message } = line;
  const raw = message as Record<string, unknown> | null;
  return {
    line: line.line,
    session_id: filledOf(raw?.session_id),
    seq: UNNUMBERED.has(raw?.type) ? null : number(raw?.seq),
    text: line.text,
    fault,
    message: fault === null ? (message as Message) : null,
    raw,
    type: filledOf(raw?.type),
    received_ms: line.received_ms ?? null,
    sender: line.sender ?? '',
    at_ms: fault === null ? (isoTime(line.message.timestamp) as number) : Number.NaN,
    session: null,
    sequence: 'none',
    expected_seq: 0,
    call: null,
    owner: null,
  };
}
