/**
 * The state of a stream: sessions, their open calls and content blocks, and the owner of each correlation id.
 * Contract: memory is bounded. Entries over a limit are left out and counted, and the rules do not judge them.
 */
import { checksum } from '../lib/checksum.ts';
import { LIMITS } from '../lib/limits.ts';
import { Room } from '../lib/room.ts';
import { CALL_MESSAGE_TYPES } from '../model/live-words.ts';
import { CallBook } from './calls.ts';
import { CONFORMANCE_LIMITS } from './limits.ts';
import {
  type Item,
  itemOf,
  type Sender,
  type Sequence,
  Session,
  type TrackerCounts,
} from './tracked.ts';
import type { Message, StreamLine } from './types.ts';

export interface TrackerOptions {
  /** Called once for each dropped session. */
  onClose(session: Session): void;
  /** Sessions may have begun before the stream did, as after a restart of the receiver. */
  joins: boolean;
}

/** One sender's share of the room for open calls and blocks. */
const SENDER_SHARE = 1 / 4;
/** Characters of the ids that one message can add. */
const IDS_CHARS_MAX = 4 * LIMITS.live_id_chars_max;

const openIn = ({ calls, blocks, texts }: Session) => calls.size + blocks.size + texts.size;

export class Tracker {
  readonly sessions = new Map<string, Session>();
  readonly counts: TrackerCounts = {
    sessions: 0,
    duplicates: 0,
    sessions_over: 0,
    sessions_dropped: 0,
    calls_over: 0,
    blocks_over: 0,
  };
  readonly #calls = new CallBook(this.counts);
  readonly #room = new Room({
    count: CONFORMANCE_LIMITS.calls_max,
    chars: LIMITS.live_call_chars_max,
  });
  /** The senders of the known sessions. */
  readonly #senders = new Map<string, Sender>();
  readonly #options: TrackerOptions;
  /** The session of the last message. */
  #latest: Session | null = null;

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  get open_calls(): number {
    let open = 0;
    for (const { calls } of this.sessions.values()) open += calls.size;
    return open;
  }

  /** Null for a duplicate. */
  look(line: StreamLine): Item | null {
    const item = itemOf(line);
    const { session_id, seq, message, type } = item;
    if (session_id === null) return item;
    if (seq !== null && message !== null) {
      item.session = this.#sessionOf(item, session_id, seq);
      if (item.session === null) return item;
      const sequence = this.#sequenceOf(item.session, seq, line.text);
      if (sequence === 'duplicate') {
        this.counts.duplicates += 1;
        return null;
      }
      item.sequence = sequence;
      item.expected_seq = item.session.last_seq + 1;
      // The message itself is judged, but not as part of the session.
      if (sequence === 'conflict') item.session = null;
    }
    const known = item.session ?? this.sessions.get(session_id);
    if (known !== undefined && seq !== null && seq > known.highest_seq) known.highest_seq = seq;
    if (type !== null && CALL_MESSAGE_TYPES.has(type)) {
      const call_id = (item.raw?.data as Message['data'] | null)?.call_id;
      item.call = this.#calls.find(known, session_id, call_id);
    }
    const sender = known?.sender ?? this.#senders.get(item.sender);
    item.owner = sender?.owners.get(correlationOf(item)) ?? null;
    return item;
  }

  /** Applies the message to the state. */
  settle(item: Item): void {
    const { message, session, seq, sequence } = item;
    if (message === null || session === null || seq === null) return;
    if (sequence === 'late') session.missing -= 1;
    if (sequence === 'gap') session.missing += seq - item.expected_seq;
    session.last_seq = Math.max(session.last_seq, seq);
    session.seen.add(seq, this.#sumOf(item.text));
    session.messages += 1;
    session.last_ms = Math.max(session.last_ms, item.at_ms);
    this.#roomForOpen();
    if (CALL_MESSAGE_TYPES.has(message.type)) this.#calls.settle(item, message, session);
    else this.#settleContent(message, session);
    if (message.type === 'session_start') session.started = true;
    if (message.type === 'session_end') this.#end(session);
  }

  #sequenceOf(session: Session, seq: number, text: string): Sequence | 'duplicate' {
    if (seq === session.last_seq + 1) return 'next';
    if (seq > session.last_seq) return 'gap';
    return session.seen.compare(seq, this.#sumOf(text));
  }

  /** In a live stream the journal has compared the content: a repeated number is the same message. */
  #sumOf(text: string): number {
    return this.#options.joins ? 0 : checksum(text);
  }

  #roomForSession(): boolean {
    if (this.sessions.size < LIMITS.live_sessions_max) return true;
    // Drops the oldest ended session, else the session without a sender that has been silent longest.
    const all = () => this.sessions.values();
    const dropped = all().find(({ ended }) => ended) ?? all().find(({ held }) => !held);
    if (dropped !== undefined) this.#drop(dropped);
    return dropped !== undefined;
  }

  /** Drops a session without a sender when its open calls and blocks take room from others. */
  #roomForOpen(): void {
    if (!this.#options.joins || this.#room.fits(IDS_CHARS_MAX)) return;
    const dropped = this.sessions.values().find((one) => !one.held && openIn(one) > 0);
    if (dropped !== undefined) this.#drop(dropped);
  }

  /** A session that has not ended is not judged: it may continue. */
  #drop(session: Session): void {
    const { id, ended, sender, blocks, texts } = session;
    if (!ended) this.counts.sessions_dropped += 1;
    this.sessions.delete(id);
    this.#calls.drop(session);
    blocks.clear();
    texts.clear();
    sender.sessions -= 1;
    if (sender.sessions === 0) this.#senders.delete(sender.id);
    this.#options.onClose(session);
  }

  #senderOf(id: string): Sender {
    const sender = this.#senders.get(id) ?? {
      id,
      sessions: 0,
      owners: new Map(),
      room: this.#options.joins ? this.#room.part(SENDER_SHARE) : this.#room,
    };
    sender.sessions += 1;
    this.#senders.set(id, sender);
    return sender;
  }

  #sessionOf({ at_ms, sender: from }: Item, id: string, seq: number): Session | null {
    const { joins } = this.#options;
    const known = this.sessions.get(id);
    if (known !== undefined) {
      if (!joins || known === this.#latest) return known;
      this.#latest = known;
      // Keeps the map in the order of the last messages.
      this.sessions.delete(id);
      this.sessions.set(id, known);
      return known;
    }
    if (!this.#roomForSession()) {
      this.counts.sessions_over += 1;
      return null;
    }
    const sender = this.#senderOf(from);
    const session = new Session(id, sender, { seq, at_ms, joins });
    this.sessions.set(id, session);
    this.#latest = session;
    this.counts.sessions += 1;
    return session;
  }

  #settleContent({ type, data }: Message, { blocks, texts }: Session): void {
    if (type === 'content_block_start' || type === 'message_start') {
      const is_text = type === 'message_start';
      const key = is_text ? (data.message as { id: string }).id : blockOf(data);
      const full = blocks.size + texts.size >= LIMITS.live_open_calls_max;
      if (full || !texts.fits(key, true)) this.counts.blocks_over += 1;
      else (is_text ? texts : blocks).set(key, true);
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

export const blockOf = (data: Record<string, unknown>) => `${data.message_id}\n${data.index}`;

/** For an error, the correlation id of the message that caused it. */
function correlationOf({ message, raw }: Item): string {
  const cause = message?.type === 'error' ? (message.data.caused_by as Message | null) : null;
  const id = cause?.correlation_id ?? raw?.correlation_id;
  return typeof id === 'string' ? id : '';
}
