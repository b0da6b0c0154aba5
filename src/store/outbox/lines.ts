/** The lines of an outbox: `EVENT TAB SEQ TAB TYPE TAB MESSAGE`, so that sending a message needs no parsing. */

import { LIMITS } from '../../lib/limits.ts';
import { createLines, type Lines } from '../../lib/lines.ts';
import { thisOwner } from '../owner.ts';

/** The destination of a session. Only the path of the token is kept, not the token. */
export interface OutboxTarget {
  url: string;
  token_file: string | null;
  ca: string | null;
}

export interface OutboxHead extends OutboxTarget {
  session_id: string;
}

export const headLine = (head: OutboxHead) =>
  `${JSON.stringify({ v: 1, owner: thisOwner(), ...head })}\n`;

export interface OutboxEntry {
  /** Number of the run event that the message was created from. 0 if there is none (timer, or not part of a run). */
  event: number;
  seq: number;
  type: string;
  /** The message as sent, without LF. */
  text: string;
}

/** Every Nth message has its position in memory. */
const STRIDE = 64;
const TAB = 9;
const LF = 10;
/** Maximum bytes of the numbers and the type before a message. */
const PREFIX_BYTES_MAX = 128;
const LINE_BYTES_MAX = LIMITS.live_message_bytes_max + PREFIX_BYTES_MAX;

export const lineOf = ({ event, seq, type, text }: OutboxEntry) =>
  `${event}\t${seq}\t${type}\t${text}\n`;

type Meta = Omit<OutboxEntry, 'text'> & { at: number };

/** The fields before the message, and where it begins. Null if this is not a line of ours. */
function metaOf(bytes: Buffer, start: number, end: number): Meta | null {
  let at = start;
  const words: string[] = [];
  while (words.length < 3) {
    const tab = bytes.indexOf(TAB, at);
    if (tab < 0 || tab >= end) return null;
    words.push(bytes.toString('latin1', at, tab));
    at = tab + 1;
  }
  const [event, seq] = words.slice(0, 2).map(Number) as [number, number];
  if (!Number.isSafeInteger(event) || !Number.isSafeInteger(seq)) return null;
  return { event, seq, type: words[2] as string, at };
}

/** The messages of complete lines, and the number of bytes in those lines. */
export function outboxEntries(bytes: Buffer): { entries: OutboxEntry[]; used: number } {
  const entries: OutboxEntry[] = [];
  let used = 0;
  for (let lf = bytes.indexOf(LF); lf >= 0; lf = bytes.indexOf(LF, used)) {
    const meta = metaOf(bytes, used, lf);
    if (meta !== null && meta.type !== 'acked') {
      const { at, ...rest } = meta;
      entries.push({ ...rest, text: bytes.toString('utf8', at, lf) });
    }
    used = lf + 1;
  }
  return { entries, used };
}

/** The start of the message after a number, in bytes that begin with a line. The number of bytes if it is missing. */
export function offsetBehind(bytes: Buffer, seq: number): number {
  for (let at = 0, lf = bytes.indexOf(LF); lf >= 0; at = lf + 1, lf = bytes.indexOf(LF, at)) {
    const meta = metaOf(bytes, at, lf);
    if (meta !== null && meta.type !== 'acked' && meta.seq > seq) return at;
  }
  return bytes.length;
}

interface Place {
  seq: number;
  offset: number;
}

/** The positions of the messages in an outbox, and facts about all of them. */
export class OutboxMap {
  head: OutboxHead | null = null;
  first_seq = 1;
  last_seq = 0;
  acked = 0;
  ended = false;
  /** Up to the end of the last complete line. */
  bytes = 0;
  last_event = { seq: 0, messages: 0 };
  readonly #places: number[] = [];
  #recent: Place | null = null;
  #lines: Lines | null = null;
  #broken = false;

  begin(first_seq: number, bytes: number): void {
    this.first_seq = first_seq;
    this.last_seq = first_seq - 1;
    this.bytes = bytes;
  }

  add({ event, seq, type }: Omit<OutboxEntry, 'text'>, bytes: number): void {
    if (this.last_seq < this.first_seq) this.first_seq = seq;
    if ((seq - this.first_seq) % STRIDE === 0) this.#places.push(this.bytes);
    this.last_seq = seq;
    this.ended ||= type === 'session_end';
    if (event > 0) {
      const again = event === this.last_event.seq;
      this.last_event = { seq: event, messages: again ? this.last_event.messages + 1 : 1 };
    }
    this.bytes += bytes;
  }

  /** Handles an `acked` line. If no message precedes it, earlier messages up to it were removed. */
  forgot({ event, seq }: { event: number; seq: number }): void {
    this.acked = Math.max(this.acked, seq);
    if (this.last_seq >= this.first_seq) return;
    this.first_seq = seq + 1;
    this.last_seq = seq;
    if (event > 0) this.last_event = { seq: event, messages: Number.MAX_SAFE_INTEGER };
  }

  remember(place: Place): void {
    this.#recent = place;
  }

  /** A position at or before the message. */
  before(seq: number): Place {
    if (this.#recent?.seq === seq) return this.#recent;
    if (seq > this.last_seq) return { seq, offset: this.bytes };
    const index = Math.max(0, Math.floor((seq - this.first_seq) / STRIDE));
    const offset = this.#places[index];
    return offset === undefined
      ? { seq, offset: this.bytes }
      : { seq: this.first_seq + index * STRIDE, offset };
  }

  /** Processes the next bytes of a file. Everything after a line that is not ours is ignored. */
  scan(chunk: Buffer): void {
    this.#lines ??= createLines(
      {
        line: (bytes, start, end, { terminated, offset }) => {
          if (!terminated || this.#broken || offset !== this.bytes) this.#broken = true;
          else if (this.head === null) this.#readHead(bytes.toString('utf8', start, end));
          else this.#readLine(bytes, start, end);
        },
        oversize: () => {
          this.#broken = true;
        },
      },
      LINE_BYTES_MAX,
    );
    this.#lines.push(chunk);
  }

  #readHead(text: string): void {
    try {
      const head = JSON.parse(text) as OutboxHead & { v: number };
      const { session_id, url, token_file = null, ca = null } = head;
      if (head.v !== 1 || typeof session_id !== 'string' || typeof url !== 'string')
        throw new Error('no head');
      this.head = { session_id, url, token_file, ca };
      this.bytes = Buffer.byteLength(text) + 1;
    } catch {
      this.#broken = true;
    }
  }

  #readLine(bytes: Buffer, start: number, end: number): void {
    const meta = metaOf(bytes, start, end);
    if (meta === null) {
      this.#broken = true;
      return;
    }
    const size = end - start + 1;
    if (meta.type === 'acked') {
      this.forgot(meta);
      this.bytes += size;
    } else if (this.last_seq < this.first_seq || meta.seq === this.last_seq + 1)
      this.add(meta, size);
    else this.#broken = true;
  }
}
