/** What is known of a stream while it is judged: its senders, their sessions and calls, and each line among them. */
import type { Room, RoomMap } from '../lib/room.ts';
import type { Seen } from './dedup-window.ts';
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

export interface Session {
  id: string;
  sender: Sender;
  /** It began before the stream did, or was let go meanwhile: calls and blocks of before are not known. */
  joined: boolean;
  /** It may go on: whoever sends for it has not left. */
  held: boolean;
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
  calls: RoomMap<Call>;
  /** Open content blocks by message and index. */
  blocks: RoomMap<true>;
  /** Messages of the model that have begun. */
  texts: RoomMap<true>;
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
