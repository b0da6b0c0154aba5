/** What is known of a stream while it is judged: its senders, their sessions and calls, and each line among them. */
import { filledOf } from '../lib/foreign.ts';
import { isoTime } from '../lib/iso-time.ts';
import { type Room, RoomMap } from '../lib/room.ts';
import { CLIENT_MESSAGE_TYPES, CONTROL_MESSAGE_TYPES } from '../model/live-words.ts';
import { DedupWindow } from './dedup-window.ts';
import type { Message, Place, StreamLine } from './types.ts';

/** Whoever sent the first message of a session. Its sessions can disturb each other, and no others (LP-15). */
export interface Sender {
  id: string;
  /** How many of its sessions are known. */
  sessions: number;
  /** Correlation id → the call that has it. */
  owners: Map<string, Call>;
  /** For its open calls and content blocks. */
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
  /** Of the last message that belongs to it. */
  sign_ms: number;
  /** Between two signs of life, the longest; and from the request to the first. */
  longest_ms: number;
  first_ms: number | null;
  /** A status said that it failed. */
  failed: boolean;
  answered: boolean;
}

const charsOf = (call_id: string, { correlation_id, trace }: Call) =>
  call_id.length + correlation_id.length + (trace?.length ?? 0);

export class Session {
  readonly id: string;
  readonly sender: Sender;
  /** It began before the stream did, or was let go meanwhile: calls and blocks of before are not known. */
  readonly joined: boolean;
  /** It may continue: whoever sends for it has not left. */
  held = true;
  /** Number of the first message that was seen. */
  readonly first_seq: number;
  last_seq: number;
  /** Also of messages that could not be taken. */
  highest_seq: number;
  last_ms: number;
  started = false;
  ended = false;
  /** Numbers that were jumped over and did not come later. */
  missing: number;
  /** Messages so far, each once. */
  messages = 0;
  readonly seen = new DedupWindow();
  readonly calls: RoomMap<Call>;
  /** Open content blocks by message and index. */
  readonly blocks: RoomMap<true>;
  /** Messages of the model that have begun. */
  readonly texts: RoomMap<true>;

  /** `joins`: it may have begun before the stream did. */
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

/** How a message's number relates to those before it. */
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
  sender: string;
  at_ms: number;
  /** Null: without a number, beyond the limits, or a conflict. */
  session: Session | null;
  standing: SeqStanding;
  /** The number that was expected; only for a gap. */
  expected_seq: number;
  /** The call that it belongs to, open or answered. */
  call: Call | null;
  /** The call of the same sender that has this correlation id. */
  owner: Call | null;
}

export interface TrackerCounts {
  sessions: number;
  duplicates: number;
  /** Left out for a limit. */
  sessions_over: number;
  sessions_dropped: number;
  calls_over: number;
  blocks_over: number;
}

const number = (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;

/** Messages of clients and of connections: a `seq` in them does not count the messages of a session. */
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
    standing: 'none',
    expected_seq: 0,
    call: null,
    owner: null,
  };
}
