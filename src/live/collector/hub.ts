/** What a collector's parts share: who is connected, which sessions are known, what was counted, how answers are written. */

import type { Clock } from '../../lib/clock.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Lines } from '../../lib/lines.ts';
import { Room, type RoomMap } from '../../lib/room.ts';
import type { LiveDataOf, LiveMessage } from '../../model/live.ts';
import type { LiveRole, LiveType, SESSION_STATUSES } from '../../model/live-words.ts';
import { causeOf, errorMessage, type LiveErrorCode, type Severity } from '../protocol/errors.ts';
import type { ReadMessage, WireMessage } from '../protocol/messages.ts';
import type { Wire } from '../transports/listener.ts';
import type { Grant, Tokens } from './auth.ts';

/** The journal's source of what agents sent. */
export const LIVE_SOURCE = 'live';

/** Where messages are kept. An append resolves only after all of it is synced. */
export interface LiveJournal {
  append(
    entries: readonly { session: string; source: string; seq: number; body: string }[],
  ): Promise<('stored' | 'duplicate' | 'conflict' | 'gap')[]>;
  lastSeq(session: string, source: string): Promise<number>;
}

export interface StoredMessage {
  session: string;
  source: string;
  seq: number;
  body: string;
}

export type StoredFilter = (entry: Omit<StoredMessage, 'body'>) => boolean;

/** Reads what is kept, at each reader's own pace. */
export interface LiveReader {
  /** From the beginning, or only what is stored from now on; until the signal aborts. */
  follow(
    from: 'start' | 'now',
    signal: AbortSignal,
    filter: StoredFilter,
  ): AsyncIterable<StoredMessage>;
  /** All that is kept of one session, in order. */
  session(id: string): AsyncIterable<StoredMessage>;
}

/** Rules count here. Must not throw. */
export interface Board {
  /**
   * What a peer said that may say it: stored messages, control messages of its own, and faulty lines of a session that it
   * sends for. `received_ms`: null where it lay waiting.
   */
  take(read: ReadMessage, context: { received_ms: number | null; connection: string }): void;
  /** What the collector answers to these: acknowledgements, handshakes, errors. */
  sent(text: string): void;
  /** Everything else that peers send. It is counted by the code of its answer, and judged by no rule. */
  refused(code: LiveErrorCode): void;
  /** Whether a connection sends for the session from now on. */
  held(session_id: string, held: boolean): void;
}

export const COLLECTOR_LIMITS = {
  heartbeat_ms: LIMITS.live_heartbeat_ms as number,
  heartbeats_missed_max: LIMITS.live_heartbeats_missed_max as number,
  hello_ms: LIMITS.live_hello_ms as number,
  hello_bytes_max: LIMITS.live_hello_bytes_max as number,
  faulty_lines_max: LIMITS.live_faulty_lines_max as number,
  hello_lines_max: LIMITS.live_hello_lines_max as number,
  ungreeted_max: LIMITS.live_ungreeted_max as number,
  private_connections: LIMITS.live_private_connections as number,
  long_lines_max: LIMITS.live_long_lines_max as number,
  long_lines_private: LIMITS.live_long_lines_private as number,
  long_lines_waiting_max: LIMITS.live_long_lines_waiting_max as number,
  message_bytes_max: LIMITS.live_message_bytes_max as number,
  credits: LIMITS.live_credits as number,
  connections_max: LIMITS.live_connections_max as number,
  sessions_max: LIMITS.live_sessions_max as number,
  private_sessions: LIMITS.live_private_sessions as number,
  open_calls_max: LIMITS.live_open_calls_max as number,
  calls_max: LIMITS.live_calls_max as number,
  call_chars_max: LIMITS.live_call_chars_max as number,
  subscriptions_max: LIMITS.live_subscriptions_max as number,
  backlog_bytes_max: LIMITS.live_backlog_bytes_max as number,
  backlog_all_bytes_max: LIMITS.live_backlog_all_bytes_max as number,
  pending_bytes_max: LIMITS.live_pending_bytes_max as number,
  abandoned_ms: LIMITS.live_abandoned_ms as number,
  skew_ms_max: LIMITS.live_skew_ms_max as number,
  behind_ms: LIMITS.live_behind_ms as number,
};
export type CollectorLimits = typeof COLLECTOR_LIMITS;

export interface CollectorOptions {
  journal: LiveJournal;
  reader: LiveReader;
  clock: Clock;
  newSessionId: () => string;
  /** Of the program, for `server_info`. */
  version: string;
  /** Null: none is asked for. */
  tokens: Tokens | null;
  board?: Board | undefined;
  limits?: Partial<CollectorLimits> | undefined;
}

export interface Counters {
  connections: number;
  messages: number;
  stored: number;
  duplicates: number;
  conflicts: number;
  gaps: number;
  /** Read, and not kept because the disk or the queue was full. */
  unstored: number;
  collisions: number;
  forwarded: number;
  skewed: number;
  abandoned_calls: number;
  /** Answers by error code. */
  errors: Record<string, number>;
  /** How often each limit was met. */
  limits: Partial<Record<keyof CollectorLimits, number>>;
}

/** A message as it came. */
export interface Arrival {
  message: WireMessage;
  text: string;
  /** Null: it lay waiting before. */
  received_ms: number | null;
}

/** A numbered message on its way to the journal. */
export interface Taken extends Arrival {
  session: HubSession;
  seq: number;
}

export interface Connection {
  id: string;
  wire: Wire;
  lines: Lines;
  /** new: not greeted; greeting: the answer waits for the journal; closing: said goodbye, reads nothing more. */
  phase: 'new' | 'greeting' | 'open' | 'closing' | 'closed';
  grant: Grant;
  role: LiveRole;
  /** The peer has ended its side. */
  ended: boolean;
  /** Lines that came while the greeting waited. */
  held: Buffer[];
  hello_bytes: number;
  hello_lines: number;
  /** Lines in a row that were no messages. */
  faulty_lines: number;
  /** Something that it sent is stored. */
  is_sender: boolean;
  /** That the line which is being read was refused, and the peer has been informed. */
  line_refused: boolean;
  batch: Taken[];
  /** With the journal, not yet durable. */
  pending: number;
  pending_bytes: number;
  /** What the peer has left and what it has under way are never more. */
  credits: number;
  over_told: boolean;
  paused: boolean;
  /** Session → last durable number, to be acknowledged. */
  acks: Map<string, number>;
  opened_ms: number;
  heard_ms: number;
  /** The last heartbeat of ours. */
  beat_ms: number;
  closing_ms: number;
  /** The last measurements, the newest last. */
  skews_ms: number[];
  skew_told_ms: number | null;
  /** For the open calls of the sessions that it began. */
  room: Room;
  subscriptions: Set<Subscription>;
  drain: Promise<void> | null;
  /** Messages that the peer wants to be sent at most; null: it has not said. */
  window: number | null;
  /** Those that wait for it to say more. */
  refill: PromiseWithResolvers<void> | null;
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

export interface HubSession {
  id: string;
  owner: Connection | null;
  status: (typeof SESSION_STATUSES)[number];
  /** Its end has come and is on its way to the journal. */
  ending: boolean;
  /** Durable. */
  last_seq: number;
  /** Open calls and their last signs of life. */
  calls: RoomMap<number>;
  /** That it has too many. */
  calls_told: boolean;
  counters: { messages: number; requests: number; responses: number; abandoned: number };
}

export interface LongLine {
  since_ms: number;
  /** When it last brought something, and how much it has by then. */
  heard_ms: number;
  bytes: number;
}

export interface Hub {
  options: CollectorOptions;
  limits: CollectorLimits;
  connections: Set<Connection>;
  sessions: Map<string, HubSession>;
  counters: Counters;
  /** For all open calls, and the part of it that peers on transports that others can reach have together. */
  room: Room;
  room_for_others: Room;
  pending_bytes: number;
  /** Answers that are not written yet. */
  backlog_bytes: number;
  /** Connections with a long unfinished line: those that are read, and those that wait, the oldest first. */
  long_lines: Map<Connection, LongLine>;
  long_lines_waiting: Set<Connection>;
  /** Looks for long lines that stall, while others wait. */
  long_lines_timer: NodeJS.Timeout | null;
  /** Subscriptions whose peers have stopped reading. */
  stalled: Set<Subscription>;
  /** Agent and message id of forwarded input → who sent it. */
  routes: Map<string, Connection>;
  next_id: number;
  stopping: boolean;
}

export function createHub(options: CollectorOptions): Hub {
  const limits = { ...COLLECTOR_LIMITS, ...options.limits };
  const room = new Room({ count: limits.calls_max, chars: limits.call_chars_max });
  return {
    options,
    limits,
    room,
    room_for_others: room.part(3 / 4),
    connections: new Set(),
    sessions: new Map(),
    counters: {
      connections: 0,
      messages: 0,
      stored: 0,
      duplicates: 0,
      conflicts: 0,
      gaps: 0,
      unstored: 0,
      collisions: 0,
      forwarded: 0,
      skewed: 0,
      abandoned_calls: 0,
      errors: {},
      limits: {},
    },
    pending_bytes: 0,
    backlog_bytes: 0,
    long_lines: new Map(),
    long_lines_waiting: new Set(),
    long_lines_timer: null,
    stalled: new Set(),
    routes: new Map(),
    next_id: 0,
    stopping: false,
  };
}

export function newId(hub: Hub, kind: string): string {
  hub.next_id += 1;
  return `${kind}-${hub.next_id}`;
}

export function countLimit(hub: Hub, name: keyof CollectorLimits): void {
  hub.counters.limits[name] = (hub.counters.limits[name] ?? 0) + 1;
}

export function messageOf<T extends LiveType>(
  hub: Hub,
  type: T,
  data: LiveDataOf<T>,
  ids: { session_id?: string | null; correlation_id?: string | null } = {},
): LiveMessage<T> {
  return {
    type,
    timestamp: new Date(hub.options.clock.now()).toISOString(),
    session_id: ids.session_id ?? null,
    correlation_id: ids.correlation_id ?? null,
    message_id: newId(hub, 'collector'),
    seq: null,
    ack_required: false,
    trace: null,
    data,
  };
}

/** Writes a line; false when the peer has more waiting than it may. */
export function write(hub: Hub, connection: Connection, line: string): boolean {
  const { stream } = connection.wire;
  if (connection.phase === 'closed' || !stream.writable) return true;
  const text = `${line}\n`;
  hub.backlog_bytes += text.length;
  stream.write(text, () => {
    hub.backlog_bytes -= text.length;
  });
  return stream.writableLength <= hub.limits.backlog_bytes_max;
}

/** `judged`: whether it belongs to what the rules see. */
export function say(hub: Hub, connection: Connection, message: LiveMessage, judged = true): void {
  const line = JSON.stringify(message);
  if (judged) hub.options.board?.sent(line);
  write(hub, connection, line);
}

export const hasRoom = (hub: Hub, { wire }: Connection) =>
  wire.stream.writableLength <= hub.limits.backlog_bytes_max;

/** For what may be missed: a peer that does not read gets none of it, and it is counted. */
export function sayIfRoom(hub: Hub, connection: Connection, message: LiveMessage): void {
  if (hasRoom(hub, connection)) say(hub, connection, message);
  else countLimit(hub, 'backlog_bytes_max');
}

export interface Complaint {
  details?: Record<string, unknown>;
  /** What led to it, as far as it could be parsed. */
  about?: object | null;
  session_id?: string | null;
  severity?: Severity;
  retriable?: boolean;
  /** The rules have seen what led to it; default: they have not, and it is counted as refused. */
  judged?: boolean;
}

/** Errors have less room than other answers where all peers together leave much unread. */
function hasRoomForError(hub: Hub, connection: Connection): boolean {
  if (hub.backlog_bytes <= hub.limits.backlog_all_bytes_max) return hasRoom(hub, connection);
  return connection.wire.stream.writableLength <= ERRORS_UNREAD_BYTES;
}

const ERRORS_UNREAD_BYTES = 64 * 1024;

/** Answers with an error and counts it. A peer that does not read gets no more of them. */
export function complain(
  hub: Hub,
  connection: Connection,
  code: LiveErrorCode,
  why: { message: string } & Complaint,
): void {
  hub.counters.errors[code] = (hub.counters.errors[code] ?? 0) + 1;
  const { message, about = null, judged = false, ...rest } = why;
  if (!judged) hub.options.board?.refused(code);
  if (!hasRoomForError(hub, connection)) {
    countLimit(hub, 'backlog_bytes_max');
    return;
  }
  const session = (about as { session_id?: unknown } | null)?.session_id;
  const options = {
    session_id: typeof session === 'string' ? session : null,
    ...rest,
    now: hub.options.clock.now(),
    message_id: newId(hub, 'collector'),
    caused_by: causeOf(about),
  };
  say(hub, connection, errorMessage(code, message, options), judged);
}
