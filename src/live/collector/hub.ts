/** State shared by the collector's parts: connections, sessions and counters; and how answers are written. */

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

/** A message as it arrived. */
export interface Arrival {
  message: WireMessage;
  text: string;
  /** Its bytes; valid only while the line is read. */
  line: Buffer;
  /** Null when it waited before it was read. */
  received_ms: number | null;
}

/** Data that a session needs of a message once it is durable. */
export interface SessionFacts {
  of: HubSession;
  seq: number;
  type: string;
  call_id: string | null;
}

export const callIdOf = ({ data }: WireMessage) =>
  typeof data.call_id === 'string' ? data.call_id : null;

export const NOTHING = Buffer.alloc(0);

/** A numbered message on its way to the journal: its bytes until it is placed, and data for when it is durable. */
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
  /** Set only while the line is read: nothing parsed waits for the disk. */
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

  /** The name of the field in messages, for answers about this one. */
  get session_id(): string {
    return this.session;
  }

  /** The line has been read: its buffer may be reused for other lines. */
  leaveLine(): void {
    this.arrival = null;
    this.body = this.is_placed ? NOTHING : Buffer.from(this.body);
  }
}

/** The messages in one chunk of input, for the journal. */
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
  /** Messages stored since its peer stopped reading. */
  behind: number;
}

export interface LongLine {
  since_ms: number;
  /** Time of the last bytes, and the size by then. */
  heard_ms: number;
  bytes: number;
}

export class HubSession {
  readonly id: string;
  owner: Connection | null = null;
  status: (typeof SESSION_STATUSES)[number] = 'active';
  /** Its session_end has arrived and is on its way to the journal. */
  ending = false;
  /** The last durable number. */
  last_seq = 0;
  /** Open calls and the time of their last message. */
  readonly calls: RoomMap<number>;
  /** The owner has been warned of too many open calls. */
  calls_warned = false;
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
    /** Read, but not stored because the disk or the queue was full. */
    unstored: 0,
    collisions: 0,
    forwarded: 0,
    skewed: 0,
    abandoned_calls: 0,
    /** Error answers by code. */
    errors: {} as Record<string, number>,
    /** Number of times each limit was reached. */
    limits: {} as Partial<Record<keyof CollectorLimits, number>>,
  };
  /** Room for all open calls, and the part of it for all peers on transports that others can reach. */
  readonly room: Room;
  readonly room_for_others: Room;
  pending_bytes = 0;
  /** Bytes of answers that are not written yet. */
  backlog_bytes = 0;
  /** Connections with a long unfinished line: those being read, and those waiting, oldest first. */
  readonly long_lines = new Map<Connection, LongLine>();
  readonly long_lines_waiting = new Set<Connection>();
  /** Checks for stalled long lines while others wait. */
  long_lines_timer: NodeJS.Timeout | null = null;
  /** Subscriptions of peers that have stopped reading. */
  readonly stalled = new Set<Subscription>();
  /** Agent and message id of forwarded input → its sender. */
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

  /** Time and id of the collector's next own message. */
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
  /** The message that caused it, as far as it could be parsed. */
  about?: object | null;
  session_id?: string | null;
  /** The rules have seen the cause. Default: they have not, and it is counted as refused. */
  judged?: boolean;
}

/** Unread bytes of one peer above which it gets no errors while the total backlog is over its limit. */
const ERRORS_UNREAD_BYTES = 64 * 1024;

/** A connection to one peer. */
export class Connection {
  readonly hub: Hub;
  readonly id: string;
  readonly wire: Wire;
  readonly lines: Lines;
  /** new: no handshake yet; greeting: the answer waits for the journal; closing: our side has ended. */
  phase: 'new' | 'greeting' | 'open' | 'closing' | 'closed' = 'new';
  grant: Grant = FULL_GRANT;
  role: LiveRole = 'agent';
  /** The peer has ended its side. */
  ended = false;
  /** Lines that arrived during the phase `greeting`. */
  held: Buffer[] = [];
  hello_bytes = 0;
  hello_lines = 0;
  /** Consecutive invalid lines. */
  faulty_lines = 0;
  /** At least one of its messages is stored. */
  is_sender = false;
  /** The current line has been refused, and the peer informed. */
  line_refused = false;
  batch: Batch | null = null;
  /** Messages in the journal that are not yet durable. */
  pending = 0;
  pending_bytes = 0;
  /** Upper bound of the peer's remaining credits and messages in flight. */
  credits: number;
  /** The peer has been warned that it sends without credits. */
  over_warned = false;
  paused = false;
  /** Session → last durable number, to be acknowledged. */
  readonly acks = new Map<string, number>();
  readonly opened_ms: number;
  heard_ms: number;
  /** Time of our last heartbeat. */
  beat_ms: number;
  closing_ms = 0;
  /** The latest measurements, newest last. */
  readonly skews_ms: number[] = [];
  /** Start of the newest measurement. */
  skew_at_ms = 0;
  skew_reported_ms: number | null = null;
  /** Room for the open calls of sessions that it began. */
  readonly room: Room;
  readonly subscriptions = new Set<Subscription>();
  drain: Promise<void> | null = null;
  /** Number of messages that the peer is ready to receive; null when it has not set one. */
  window: number | null = null;
  /** Resolves when the peer raises `window`. */
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

  /** The connection is closing or closed. */
  get is_over(): boolean {
    return this.phase === 'closing' || this.phase === 'closed';
  }

  get has_room(): boolean {
    return this.wire.stream.writableLength <= this.hub.limits.backlog_bytes_max;
  }

  /** Errors have less room than other answers while the total backlog is over its limit. */
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

  /** `judged`: whether the rules see the message. */
  say(message: LiveMessage, judged = true): void {
    const line = JSON.stringify(message);
    if (judged) this.hub.options.board?.sent(line);
    this.write(line);
  }

  /** For messages that may be missed: a peer that does not read does not get them, and they are counted. */
  sayIfRoom(message: LiveMessage): void {
    if (this.has_room) this.say(message);
    else this.hub.countLimit('backlog_bytes_max');
  }

  /** Answers with an error and counts it. A peer that does not read gets no further errors. */
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
