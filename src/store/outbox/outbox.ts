/**
 * What a session sends to a collector, on disk before it is sent: one file a session, the head and then one line a
 * message. Contract: the messages are numbered without a gap; one process at a time has the file; a torn last line never
 * was; what is there outlives the process, and the next tacho delivers it (LP-8). Nothing is synced: a power cut may take
 * the newest lines, a kill takes none.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  read,
  readdirSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileError, TachoError } from '../../lib/errors.ts';
import { fileFor } from '../../lib/ids.ts';
import { LIMITS } from '../../lib/limits.ts';
import {
  createPrivate,
  errno,
  openAppend,
  openRead,
  startPrivate,
  unlinkQuietly,
  writeAll,
} from '../files.ts';
import { takeLock } from '../lock.ts';
import { type Owner, thisOwner } from '../owner.ts';
import { ownFolder } from '../state-dir.ts';
import {
  lineOf,
  type OutboxEntry,
  OutboxMap,
  type OutboxTarget,
  offsetBehind,
  outboxEntries,
} from './lines.ts';

export type { OutboxEntry, OutboxTarget } from './lines.ts';

const STAGE = 'outbox';
const FILE = /^out-[0-9a-hjkmnp-tv-z]{26}\.jsonl$/;
const readAt = promisify(read);
/** What is copied to give the room of the others back. */
const TRIM_REST_BYTES_MAX = 16 * 1024 * 1024;

export interface OutboxHead extends OutboxTarget {
  v: 1;
  owner: Owner;
  session_id: string;
}

export interface Outbox {
  readonly session_id: string;
  /** Where its first tacho was told to send it. */
  readonly target: OutboxTarget;
  readonly first_seq: number;
  /** `first_seq - 1` while there is no message. */
  readonly last_seq: number;
  /** Up to here an earlier tacho knew it acknowledged. */
  readonly acked: number;
  /** Whether the session's end is in it. */
  readonly ended: boolean;
  /** The last event of a run that has messages here, and how many it has. */
  readonly last_event: { readonly seq: number; readonly messages: number };
  /** All or none; refuses what is over `live_outbox_bytes_max`. */
  append(entries: readonly OutboxEntry[]): void;
  /** The messages from `from_seq` on, as many as lie in some `bytes_max`; none when there is no more. */
  read(from_seq: number, bytes_max?: number): Promise<OutboxEntry[]>;
  /** Bytes of the file. */
  readonly bytes: number;
  /** When it was changed last. */
  readonly changed_ms: number;
  /** Gives the room of acknowledged messages back, where that is most of the file. Their numbers stay known. */
  trim(acked: number): void;
  /** Leaves the file for the next, with what is known to be acknowledged. */
  close(acked?: number): void;
  /** All is delivered. */
  remove(): void;
  /** No collector will ever take it: it is kept beside, where nobody tries again. */
  setAside(): string;
}

export const outboxPath = (dir: string, session_id: string) =>
  join(dir, `${fileFor('out', session_id)}.jsonl`);

/** Paths of what waits to be delivered. */
export function listOutboxes(dir: string): string[] {
  if (!existsSync(dir)) return [];
  try {
    return readdirSync(dir)
      .filter((name) => FILE.test(name))
      .sort()
      .map((name) => join(dir, name));
  } catch (cause) {
    throw fileError(cause, dir, STAGE);
  }
}

export interface OutboxStart extends OutboxTarget {
  session_id: string;
  /** Number of the first message, where nothing is there yet. */
  first_seq?: number;
}

/** The session's outbox: a new one, or the one that is there. Null while another process has it. */
export function openOutbox(dir: string, start: OutboxStart): Outbox | null {
  ownFolder(dir, true);
  const path = outboxPath(dir, start.session_id);
  const release = takeLock(`${path}.lock`);
  if (release === null) return null;
  try {
    const known = existsSync(path) ? scanned(path, release) : null;
    return known ?? created(path, start, release);
  } catch (cause) {
    release();
    throw fileError(cause, path, STAGE);
  }
}

/** One that is there; null when another process has it, or nothing can be read there. */
export function takeOutbox(path: string): Outbox | null {
  let release: (() => void) | null = null;
  try {
    release = takeLock(`${path}.lock`);
    if (release === null) return null;
    const outbox = scanned(path, release);
    if (outbox === null) release();
    return outbox;
  } catch {
    release?.();
    return null;
  }
}

function created(path: string, start: OutboxStart, release: () => void): Outbox {
  const { session_id, url, token_file, ca, first_seq } = start;
  const head = { session_id, url, token_file, ca };
  // A head that was torn says nothing of what it was for.
  unlinkQuietly(path);
  const fd = createPrivate(path);
  const line = Buffer.from(headLine(head));
  writeAll(fd, line);
  const map = new OutboxMap();
  map.begin(first_seq ?? 1, line.length);
  return new FileOutbox({ path, fd, head, map, release });
}

function headLine(head: Parts['head']): string {
  const { session_id, url, token_file, ca } = head;
  const whole: OutboxHead = { v: 1, owner: thisOwner(), session_id, url, token_file, ca };
  return `${JSON.stringify(whole)}\n`;
}

function scanned(path: string, release: () => void): Outbox | null {
  const map = new OutboxMap();
  const reading = openRead(path);
  try {
    const buffer = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
    for (let at = 0, count = -1; count !== 0; at += count) {
      count = readSync(reading, buffer, 0, buffer.length, at);
      map.scan(buffer.subarray(0, count));
    }
  } finally {
    closeSync(reading);
  }
  const { head } = map;
  if (head === null) return null;
  const fd = openAppend(path);
  // Only where there is something to cut: it would count as a change.
  if (fstatSync(fd).size !== map.bytes) ftruncateSync(fd, map.bytes);
  return new FileOutbox({ path, fd, head, map, release });
}

interface Parts {
  path: string;
  fd: number;
  head: Omit<OutboxHead, 'v' | 'owner'>;
  map: OutboxMap;
  release: () => void;
}

class FileOutbox implements Outbox {
  readonly session_id: string;
  readonly target: OutboxTarget;
  readonly #head: Parts['head'];
  readonly #path: string;
  #fd: number;
  #map: OutboxMap;
  readonly #release: () => void;
  #reading: number | null = null;
  /** Under way: what they read must lie where it is. */
  #reads = 0;
  #open = true;
  /** A failed write left bytes behind the last whole line. */
  #torn = false;

  constructor({ path, fd, head, map, release }: Parts) {
    const { session_id, url, token_file, ca } = head;
    this.session_id = session_id;
    this.target = { url, token_file, ca };
    this.#head = head;
    this.#path = path;
    this.#fd = fd;
    this.#map = map;
    this.#release = release;
  }

  get first_seq(): number {
    return this.#map.first_seq;
  }
  get last_seq(): number {
    return this.#map.last_seq;
  }
  get acked(): number {
    return this.#map.acked;
  }
  get ended(): boolean {
    return this.#map.ended;
  }
  get bytes(): number {
    return this.#map.bytes;
  }
  get changed_ms(): number {
    return fstatSync(this.#fd).mtimeMs;
  }
  get last_event(): { seq: number; messages: number } {
    return this.#map.last_event;
  }

  append(entries: readonly OutboxEntry[]): void {
    if (entries.length === 0) return;
    // The number of a file that was closed may be another's by now.
    if (!this.#open) {
      const text = `session ${this.session_id}: its connection has been closed`;
      throw new TachoError('usage', text, { stage: STAGE });
    }
    const lines = entries.map(lineOf);
    const bytes = Buffer.from(lines.join(''));
    this.#checkRoom(bytes.length);
    try {
      if (this.#torn) this.#cut();
      // One write: a kill leaves all of it, or a beginning whose last line is cut on open.
      writeAll(this.#fd, bytes);
    } catch (cause) {
      this.#cutQuietly();
      throw fileError(cause, this.#path, STAGE);
    }
    for (const [i, entry] of entries.entries())
      this.#map.add(entry, Buffer.byteLength(lines[i] as string));
  }

  #checkRoom(more: number): void {
    if (this.#map.bytes + more <= LIMITS.live_outbox_bytes_max) return;
    const text = `${this.#path}: holds ${LIMITS.live_outbox_bytes_max} bytes that no collector took: start one (tacho serve), or remove it`;
    throw new TachoError('busy', text, { stage: STAGE });
  }

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

  trim(acked: number): void {
    const { offset } = this.#map.before(acked + 1);
    const rest_bytes = this.#map.bytes - offset;
    const known = acked >= this.first_seq && acked <= this.last_seq;
    if (!this.#open || this.#reads > 0 || !known) return;
    if (rest_bytes > Math.min(offset, TRIM_REST_BYTES_MAX)) return;
    try {
      this.#rewrite(acked, this.#rest(acked, offset));
    } catch {
      // On a full disk, say: the file stays as it was, and has all that is wanted of it.
    }
  }

  /** The lines of the messages behind a number, of which all lie behind the offset. */
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

  close(acked = 0): void {
    if (!this.#open) return;
    if (acked > this.#map.acked && this.last_seq >= this.first_seq) this.#note(acked);
    this.#shut();
    // An outbox that never had a message is of no use to anybody.
    if (this.last_seq < this.first_seq && this.#map.acked === 0) unlinkQuietly(this.#path);
    this.#release();
  }

  /** Only saves the next one's asking: what is not noted is sent again and taken once. */
  #note(acked: number): void {
    try {
      writeSync(this.#fd, lineOf({ event: 0, seq: acked, type: 'acked', text: '' }));
    } catch {
      this.#cutQuietly();
    }
  }

  /** Removes what a failed write left. */
  #cut(): void {
    ftruncateSync(this.#fd, this.#map.bytes);
    this.#torn = false;
  }

  /** Where this fails too, the next append repeats it; nothing is written behind a torn line. */
  #cutQuietly(): void {
    this.#torn = true;
    try {
      this.#cut();
    } catch {
      // The file system fails as a whole.
    }
  }

  remove(): void {
    if (!this.#open) return;
    this.#shut();
    unlinkQuietly(this.#path);
    this.#release();
  }

  setAside(): string {
    const aside = `${this.#path}.refused`;
    if (!this.#open) return aside;
    this.#shut();
    renameSync(this.#path, aside);
    this.#release();
    return aside;
  }

  #shut(): void {
    this.#open = false;
    closeSync(this.#fd);
    if (this.#reading !== null) closeSync(this.#reading);
  }
}
