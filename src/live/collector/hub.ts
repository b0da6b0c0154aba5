/** What a collector's parts share: who is connected, which sessions are known, what was counted, how answers are written. */

import { LastSet } from '../../lib/bounded.ts';
import { createLines, type LineSink, type Lines } from '../../lib/lines.ts';
import { Room, RoomMap } from '../../lib/room.ts';
import type { LiveDataOf, LiveMessage } from '../../model/live.ts';
import type { LiveRole, LiveType, SESSION_STATUSES } from '../../model/live-words.ts';
import { control } from '../protocol/compose.ts';
import { causeOf, type ErrorFacts, errorMessage, type LiveErrorCode } from '../protocol/errors.ts';
import { type WireMessage, wantsAck } from '../protocol/messages.ts';
import type { Wire } from '../transports/listener.ts';
import { FULL_GRANT, type Grant } from './auth.ts';
import {
  type ArrivedMessage,
  COLLECTOR_LIMITS,
  type CollectorLimits,
  type CollectorOptions,
  LIVE_SOURCE,
  type LiveBatch,
} from './options.ts';

/** A message as it came. */
export interface Arrival {
  message: WireMessage;
  text: string;
  /** Its bytes, as long as it is read. */
  line: Buffer;
  /** Null: it lay waiting before. */
  received_ms: number | null;
}

/** What a session is told of a message once it is durable. */
export interface SessionFacts {
  of: HubSession;
  seq: number;
  type: string;
  call_id: string | null;
}

export const callIdOf = ({ data }: WireMessage) =>
  typeof data.call_id === 'string' ? data.call_id : null;

export const NOTHING = Buffer.alloc(0);

/** A numbered message on its way to the journal: its bytes until it has a place there, and what is needed when it is durable. */
export class Taken implements ArrivedMessage, SessionFacts {
  readonly session: string;
  readonly source = LIVE_SOURCE;
  readonly seq: number;
  body: Buffer;
  readonly of: HubSession;
  readonly type: string;
  readonly call_id: string | null;
  readonly correlation_id: string | null;
  readonly message_id: string | null;
  readonly wants_ack: boolean;
  readonly received_ms: number | null;
  /** While the line is read: nothing parsed waits for the disk. */
  arrival: Arrival | null;
  is_placed = false;

  constructor(of: HubSession, seq: number, arrival: Arrival) {
    const { message } = arrival;
    this.session = of.id;
    this.seq = seq;
    this.body = arrival.line;
    this.of = of;
    this.type = message.type;
    this.call_id = callIdOf(message);
    this.correlation_id = message.correlation_id ?? null;
    this.message_id = message.message_id ?? null;
    this.wants_ack = wantsAck(message);
    this.received_ms = arrival.received_ms;
    this.arrival = arrival;
  }

  /** As messages call it: answers are about this one. */
  get session_id(): string {
    return this.session;
  }

  /** The line has been read: other lines may be in its place next. */
  leaveLine(): void {
    this.arrival = null;
    this.body = this.is_placed ? NOTHING : Buffer.from(this.body);
  }
}

/** What one piece of input held for the journal. */
export interface Batch extends LiveBatch<Taken> {
  taken: Taken[];
  bytes: number;
}

export interface Subscription {
  key: string;
  session_ids: ReadonlySet<string> | null;
  types: ReadonlySet<string> | null;
  from_seq: number | null;
  abort: AbortController;
  /** Stored since its peer stopped reading. */
  behind: number;
}

export interface LongLine {
  since_ms: number;
  /** When it last brought something, and how much it has by then. */
  heard_ms: number;
  bytes: number;
}

export class HubSession {
  readonly id: string;
  owner: Connection | null = null;
  status: (typeof SESSION_STATUSES)[number] = 'active';
  /** Its end has come and is on its way to the journal. */
  ending = false;
  /** Durable. */
  last_seq = 0;
  /** Open calls and their last signs of life. */
  readonly calls: RoomMap<number>;
  /** That it has too many. */
  calls_told = false;
  readonly counters = { messages: 0, requests: 0, responses: 0, abandoned: 0 };

  constructor(id: string, room: Room) {
    this.id = id;
    this.calls = new RoomMap(room);
  }

  get info() {
    return { status: this.status, last_seq: this.last_seq };
  }
}

export class Hub {
  readonly options: CollectorOptions;
  readonly limits: CollectorLimits;
  readonly connections = new Set<Connection>();
  readonly sessions = new Map<string, HubSession>();
  readonly counters = {
    connections: 0,
    messages: 0,
    stored: 0,
    duplicates: 0,
    conflicts: 0,
    gaps: 0,
    /** Read, and not kept because the disk or the queue was full. */
    unstored: 0,
    collisions: 0,
    forwarded: 0,
    skewed: 0,
    abandoned_calls: 0,
    /** Answers by error code. */
    errors: {} as Record<string, number>,
    /** How often each limit was met. */
    limits: {} as Partial<Record<keyof CollectorLimits, number>>,
  };
  /** For all open calls, and the part of it that peers on transports that others can reach have together. */
  readonly room: Room;
  readonly room_for_others: Room;
  pending_bytes = 0;
  /** Answers that are not written yet. */
  backlog_bytes = 0;
  /** Connections with a long unfinished line: those that are read, and those that wait, the oldest first. */
  readonly long_lines = new Map<Connection, LongLine>();
  readonly long_lines_waiting = new Set<Connection>();
  /** Looks for long lines that stall, while others wait. */
  long_lines_timer: NodeJS.Timeout | null = null;
  /** Subscriptions of peers that have stopped reading. */
  readonly stalled = new Set<Subscription>();
  /** Agent and message id of forwarded input → who sent it. */
  readonly routes: LastSet<string, Connection>;
  stopping = false;
  #next_id = 0;

  constructor(options: CollectorOptions) {
    this.options = options;
    this.limits = { ...COLLECTOR_LIMITS, ...options.limits };
    const { calls_max: count, call_chars_max: chars, routes_max } = this.limits;
    this.routes = new LastSet(routes_max);
    this.room = new Room({ count, chars });
    this.room_for_others = this.room.part(3 / 4);
  }

  /** Monotonic, in ms. */
  elapsed(): number {
    return this.options.clock.elapsed();
  }

  newId(kind: string): string {
    this.#next_id += 1;
    return `${kind}-${this.#next_id}`;
  }

  countLimit(name: keyof CollectorLimits): void {
    this.counters.limits[name] = (this.counters.limits[name] ?? 0) + 1;
  }

  /** What identifies the next message of the collector's own. */
  envelope(): { at_ms: number; message_id: string } {
    return { at_ms: this.options.clock.now(), message_id: this.newId('collector') };
  }

  messageOf<T extends LiveType>(
    type: T,
    data: LiveDataOf<T>,
    ids: { session_id?: string | null; correlation_id?: string | null } = {},
  ): LiveMessage<T> {
    return control(type, data, { ...this.envelope(), ...ids });
  }
}

interface Complaint extends Omit<ErrorFacts, 'caused_by'> {
  /** What led to it, as far as it could be parsed. */
  about?: object | null;
  session_id?: string | null;
  /** The rules have seen what led to it; default: they have not, and it is counted as refused. */
  judged?: boolean;
}

/** Errors that may wait for one peer where all peers together leave much unread. */
const ERRORS_UNREAD_BYTES = 64 * 1024;

/** One peer, and what is written to it. */
export class Connection {
  readonly hub: Hub;
  readonly id: string;
  readonly wire: Wire;
  readonly lines: Lines;
  /** new: not greeted; greeting: the answer waits for the journal; closing: said goodbye, reads nothing more. */
  phase: 'new' | 'greeting' | 'open' | 'closing' | 'closed' = 'new';
  grant: Grant = FULL_GRANT;
  role: LiveRole = 'agent';
  /** The peer has ended its side. */
  ended = false;
  /** Lines that came while the greeting waited. */
  held: Buffer[] = [];
  hello_bytes = 0;
  hello_lines = 0;
  /** Lines in a row that were no messages. */
  faulty_lines = 0;
  /** Something that it sent is stored. */
  is_sender = false;
  /** That the line which is being read was refused, and the peer has been informed. */
  line_refused = false;
  batch: Batch | null = null;
  /** With the journal, not yet durable. */
  pending = 0;
  pending_bytes = 0;
  /** What the peer has left and what it has under way are never more. */
  credits: number;
  over_told = false;
  paused = false;
  /** Session → last durable number, to be acknowledged. */
  readonly acks = new Map<string, number>();
  readonly opened_ms: number;
  heard_ms: number;
  /** The last heartbeat of ours. */
  beat_ms: number;
  closing_ms = 0;
  /** The last measurements, the newest last. */
  readonly skews_ms: number[] = [];
  /** When the newest of them was begun. */
  skew_at_ms = 0;
  skew_told_ms: number | null = null;
  /** For the open calls of the sessions that it began. */
  readonly room: Room;
  readonly subscriptions = new Set<Subscription>();
  drain: Promise<void> | null = null;
  /** Messages that the peer wants to be sent at most; null: it has not said. */
  window: number | null = null;
  /** Those that wait for it to say more. */
  refill: PromiseWithResolvers<void> | null = null;

  constructor(hub: Hub, wire: Wire, sink: LineSink) {
    this.hub = hub;
    this.id = hub.newId('connection');
    this.wire = wire;
    this.lines = createLines(sink, hub.limits.message_bytes_max);
    this.credits = hub.limits.credits;
    this.opened_ms = hub.elapsed();
    this.heard_ms = this.opened_ms;
    this.beat_ms = this.opened_ms;
    this.room = (wire.private ? hub.room : hub.room_for_others).part(1 / 4);
  }

  /** It has been taken leave of, or is gone. */
  get is_over(): boolean {
    return this.phase === 'closing' || this.phase === 'closed';
  }

  get has_room(): boolean {
    return this.wire.stream.writableLength <= this.hub.limits.backlog_bytes_max;
  }

  /** Errors have less room than other answers where all peers together leave much unread. */
  get #has_room_for_error(): boolean {
    if (this.hub.backlog_bytes <= this.hub.limits.backlog_all_bytes_max) return this.has_room;
    return this.wire.stream.writableLength <= ERRORS_UNREAD_BYTES;
  }

  write(line: string): void {
    const { stream } = this.wire;
    if (this.phase === 'closed' || !stream.writable) return;
    const text = `${line}\n`;
    this.hub.backlog_bytes += text.length;
    stream.write(text, () => {
      this.hub.backlog_bytes -= text.length;
    });
  }

  /** `judged`: whether it belongs to what the rules see. */
  say(message: LiveMessage, judged = true): void {
    const line = JSON.stringify(message);
    if (judged) this.hub.options.board?.sent(line);
    this.write(line);
  }

  /** For what may be missed: a peer that does not read gets none of it, and it is counted. */
  sayIfRoom(message: LiveMessage): void {
    if (this.has_room) this.say(message);
    else this.hub.countLimit('backlog_bytes_max');
  }

  /** Answers with an error and counts it. A peer that does not read gets no more of them. */
  complain(code: LiveErrorCode, message: string, why: Complaint = {}): void {
    const { hub } = this;
    const { about = null, judged = false, ...facts } = why;
    hub.counters.errors[code] = (hub.counters.errors[code] ?? 0) + 1;
    if (!judged) hub.options.board?.refused(code);
    if (!this.#has_room_for_error) {
      hub.countLimit('backlog_bytes_max');
      return;
    }
    const named = (about as { session_id?: unknown } | null)?.session_id;
    const session_id = typeof named === 'string' ? named : null;
    const error = { session_id, ...facts, caused_by: causeOf(about), ...hub.envelope() };
    this.say(errorMessage(code, message, error), judged);
  }
}
