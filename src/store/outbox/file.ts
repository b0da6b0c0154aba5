/** The file of an outbox, owned by this process. */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  read,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { fileError, TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { errno, openAppend, openRead, startPrivate, unlinkQuietly, writeAll } from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import {
  headLine,
  lineOf,
  type OutboxEntry,
  type OutboxHead,
  OutboxMap,
  type OutboxTarget,
  offsetBehind,
  outboxEntries,
} from './lines.ts';

export const STAGE = 'outbox';
const readAt = promisify(read);
/** Maximum bytes that are copied to free the space of acknowledged messages. */
const TRIM_REST_BYTES_MAX = 16 * 1024 * 1024;

interface Parts {
  path: string;
  fd: number;
  head: OutboxHead;
  map: OutboxMap;
  release: () => void;
}

export class Outbox {
  readonly session_id: string;
  /** The target given by its first sender. */
  readonly target: OutboxTarget;
  readonly #head: OutboxHead;
  readonly #path: string;
  #fd: number;
  #map: OutboxMap;
  readonly #release: () => void;
  #reading: number | null = null;
  /** Reads in progress: the bytes they read must not move. */
  #reads = 0;
  #open = true;
  /** A failed write left bytes after the last complete line. */
  #torn = false;

  constructor({ path, fd, head, map, release }: Parts) {
    const { session_id, ...target } = head;
    this.session_id = session_id;
    this.target = target;
    this.#head = head;
    this.#path = path;
    this.#fd = fd;
    this.#map = map;
    this.#release = release;
  }

  get first_seq(): number {
    return this.#map.first_seq;
  }
  /** `first_seq - 1` while there is no message. */
  get last_seq(): number {
    return this.#map.last_seq;
  }
  /** The last message that an earlier tacho knew to be acknowledged. */
  get acked(): number {
    return this.#map.acked;
  }
  /** Whether it contains the session's end. */
  get ended(): boolean {
    return this.#map.ended;
  }
  /** Size of the file. */
  get bytes(): number {
    return this.#map.bytes;
  }
  /** When it was last changed. */
  get changed_ms(): number {
    return fstatSync(this.#fd).mtimeMs;
  }
  /** The last event of a run that has messages here, and the number of these messages. */
  get last_event(): { seq: number; messages: number } {
    return this.#map.last_event;
  }

  /** All or nothing. Refuses messages beyond `live_outbox_bytes_max`. */
  append(entries: readonly OutboxEntry[]): void {
    if (entries.length === 0) return;
    // The descriptor of a closed file may have been reused for another file.
    if (!this.#open) {
      const text = `session ${this.session_id}: its connection has been closed`;
      throw new TachoError('usage', text, { stage: STAGE });
    }
    const lines = entries.map(lineOf);
    const bytes = Buffer.from(lines.join(''));
    this.#checkRoom(bytes.length);
    try {
      if (this.#torn) this.#cut();
      // One write: a kill leaves all of it, or a prefix with a partial last line, which is removed on open.
      writeAll(this.#fd, bytes);
    } catch (cause) {
      this.#cutQuietly();
      throw fileError(cause, this.#path, STAGE);
    }
    for (const [i, entry] of entries.entries())
      this.#map.add(entry, Buffer.byteLength(lines[i] as string));
  }

  #checkRoom(more: number): void {
    if (this.#map.bytes + more <= STORE_LIMITS.live_outbox_bytes_max) return;
    const text = `${this.#path}: contains ${STORE_LIMITS.live_outbox_bytes_max} bytes that no collector has accepted: start one (tacho serve), or remove the file`;
    throw new TachoError('busy', text, { stage: STAGE });
  }

  /** The messages from `from_seq` on, about `bytes_max` bytes of them. Empty if there are no more. */
  async read(from_seq: number, bytes_max: number = LIMITS.read_chunk_bytes) {
    this.#reads += 1;
    try {
      return await this.#readFrom(from_seq, bytes_max);
    } finally {
      this.#reads -= 1;
    }
  }

  async #readFrom(from_seq: number, bytes_max: number): Promise<OutboxEntry[]> {
    let place = this.#map.before(from_seq);
    for (let size = bytes_max; place.offset < this.#map.bytes && this.#open; ) {
      this.#reading ??= openRead(this.#path);
      const wanted = Math.min(size, this.#map.bytes - place.offset);
      const bytes = Buffer.allocUnsafe(wanted);
      const { bytesRead } = await readAt(this.#reading, bytes, 0, wanted, place.offset);
      const { entries, used } = outboxEntries(bytes.subarray(0, bytesRead));
      if (used === 0) {
        if (bytesRead < wanted) break;
        size *= 2;
        continue;
      }
      const last = entries.at(-1);
      place = { seq: (last?.seq ?? place.seq - 1) + 1, offset: place.offset + used };
      const found = entries.filter(({ seq }) => seq >= from_seq);
      if (found.length === 0) continue;
      this.#map.remember(place);
      return found;
    }
    return [];
  }

  /** Frees the space of acknowledged messages if they are most of the file. Their numbers stay known. */
  trim(acked: number): void {
    const { offset } = this.#map.before(acked + 1);
    const rest_bytes = this.#map.bytes - offset;
    const known = acked >= this.first_seq && acked <= this.last_seq;
    if (!this.#open || this.#reads > 0 || !known) return;
    if (rest_bytes > Math.min(offset, TRIM_REST_BYTES_MAX)) return;
    try {
      this.#rewrite(acked, this.#rest(acked, offset));
    } catch {
      // For example on a full disk: the file is unchanged and still complete.
    }
  }

  /** The lines of the messages after a number, all of which are after the offset. */
  #rest(acked: number, offset: number): Buffer {
    const bytes = Buffer.allocUnsafe(this.#map.bytes - offset);
    this.#reading ??= openRead(this.#path);
    if (readSync(this.#reading, bytes, 0, bytes.length, offset) < bytes.length)
      throw errno('EIO', 'the file is shorter than it was');
    return bytes.subarray(offsetBehind(bytes, acked));
  }

  #rewrite(acked: number, rest: Buffer): void {
    const { last_event, ended } = this.#map;
    const note = lineOf({ event: last_event.seq, seq: acked, type: 'acked', text: '' });
    const pieces = [Buffer.from(headLine(this.#head) + note), rest];
    const map = new OutboxMap();
    const file = startPrivate(this.#path, STAGE, false);
    try {
      for (const piece of pieces) {
        file.write(piece);
        map.scan(piece);
      }
      map.ended = ended;
      map.last_event = last_event;
      file.commit();
    } finally {
      file.abandon();
    }
    this.#shut();
    this.#reading = null;
    this.#fd = openAppend(this.#path);
    this.#open = true;
    this.#map = map;
  }

  /** Releases the file for the next process, and stores the known acknowledgement. */
  close(acked = 0): void {
    const empty = this.last_seq < this.first_seq;
    if (this.#open && acked > this.#map.acked && !empty) this.#note(acked);
    // An outbox that never had a message is useless.
    this.#leave((path) => empty && this.#map.acked === 0 && unlinkQuietly(path));
  }

  /** Only an optimisation: unacknowledged messages are sent again and accepted once. */
  #note(acked: number): void {
    try {
      writeSync(this.#fd, lineOf({ event: 0, seq: acked, type: 'acked', text: '' }));
    } catch {
      this.#cutQuietly();
    }
  }

  /** Removes the remains of a failed write. */
  #cut(): void {
    ftruncateSync(this.#fd, this.#map.bytes);
    this.#torn = false;
  }

  /** If this fails too, the next append repeats it; nothing is written after a torn line. */
  #cutQuietly(): void {
    this.#torn = true;
    try {
      this.#cut();
    } catch {
      // The whole file system fails.
    }
  }

  /** Removes the file once everything is delivered. */
  remove(): void {
    this.#leave(unlinkQuietly);
  }

  /** No collector will ever accept it: the file is kept under another name and not sent again. */
  setAside(): string {
    const aside = `${this.#path}.refused`;
    this.#leave((path) => renameSync(path, aside));
    return aside;
  }

  #leave(work: (path: string) => void): void {
    if (!this.#open) return;
    this.#shut();
    work(this.#path);
    this.#release();
  }

  #shut(): void {
    this.#open = false;
    closeSync(this.#fd);
    if (this.#reading !== null) closeSync(this.#reading);
  }
}
