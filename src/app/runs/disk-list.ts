/**
 * Texts kept for later in constant memory: first in a buffer, beyond a limit in an unnamed file, and read back by
 * number. Contract: however the process ends, none of the texts stays on disk.
 */
import { closeSync, readSync } from 'node:fs';
import { fileError } from '../../lib/errors.ts';
import { writeAll } from '../../store/files.ts';
import { openTemporary, type TemporaryFile } from '../../store/temporary.ts';
import { APP_LIMITS } from '../limits.ts';

const SLAB_BYTES_MIN = 64 * 1024;
const PIECE_BYTES = 256 * 1024;
const COMMA = 0x2c;

export class DiskList {
  /** One more than the highest number. */
  count = 0;
  readonly #folder: string;
  readonly #encoding: 'latin1' | 'utf8';
  #slab = Buffer.allocUnsafe(SLAB_BYTES_MIN);
  #fill = 0;
  #written = 0;
  #file: TemporaryFile | null = null;
  /** Offset and length of each text, by number. */
  #places = new Float64Array(1024);
  /** A part of the file, read ahead. */
  #window = Buffer.allocUnsafe(0);
  #window_at = 0;
  #window_fill = 0;

  /** `folder` contains the file, and is created on demand. `latin1`: the texts are byte text. */
  constructor(folder: string, encoding: 'latin1' | 'utf8') {
    this.#folder = folder;
    this.#encoding = encoding;
  }

  /** Numbers may be used in any order. */
  put(text: string, index: number): void {
    const encoding = this.#encoding;
    this.#makeRoom(1 + (encoding === 'latin1' ? text.length : Buffer.byteLength(text)));
    this.#slab[this.#fill++] = COMMA;
    const bytes = this.#slab.write(text, this.#fill, encoding);
    while (index * 2 + 1 >= this.#places.length) {
      const larger = new Float64Array(this.#places.length * 2);
      larger.set(this.#places);
      this.#places = larger;
    }
    this.#places[index * 2] = this.#written + this.#fill;
    this.#places[index * 2 + 1] = bytes;
    this.count = Math.max(this.count, index + 1);
    this.#fill += bytes;
  }

  /** The bytes of a text, valid until the next call, or null. Nothing may be added after this. */
  get(index: number): Buffer | null {
    return this.list(index, () => false)?.bytes ?? null;
  }

  /**
   * The text with this number and the following ones that are stored directly after it, as long as `more` accepts
   * their numbers, separated by commas. `next` is the first number that is not included. Null as for `get`.
   */
  list(index: number, more: (index: number) => boolean): { bytes: Buffer; next: number } | null {
    const places = this.#places;
    const from = places[index * 2] as number;
    let end = from + (places[index * 2 + 1] as number);
    if (index >= this.count || end === from) return null;
    // The content of the file ends where the buffer begins.
    const last = Math.min(from + PIECE_BYTES, from < this.#written ? this.#written : Infinity);
    let next = index + 1;
    for (; next < this.count && places[next * 2] === end + 1 && more(next); next++) {
      const further = end + 1 + (places[next * 2 + 1] as number);
      if (further > last) break;
      end = further;
    }
    return { bytes: this.#bytesAt(from, end - from), next };
  }

  /** Grows the buffer up to its limit, then empties it into the file. */
  #makeRoom(bytes: number): void {
    if (this.#fill + bytes <= this.#slab.length) return;
    if (this.#fill + bytes > APP_LIMITS.spill_memory_bytes) this.#toFile();
    const needed = this.#fill + bytes;
    if (needed <= this.#slab.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#slab.length * 2));
    this.#slab.copy(larger, 0, 0, this.#fill);
    this.#slab = larger;
  }

  #toFile(): void {
    if (this.#written + this.#fill > APP_LIMITS.spill_bytes_max)
      throw new Error(`it takes more than ${APP_LIMITS.spill_bytes_max} bytes`);
    this.#file ??= openTemporary(this.#folder);
    try {
      writeAll(this.#file.fd, this.#slab.subarray(0, this.#fill));
    } catch (cause) {
      throw fileError(cause, this.#folder, 'spill');
    }
    this.#written += this.#fill;
    this.#fill = 0;
  }

  #bytesAt(offset: number, length: number): Buffer {
    const from = offset - this.#written;
    if (from >= 0) return this.#slab.subarray(from, from + length);
    let at = offset - this.#window_at;
    if (at < 0 || at + length > this.#window_fill) {
      const size = Math.max(length, PIECE_BYTES);
      if (size > this.#window.length) this.#window = Buffer.allocUnsafe(size);
      this.#window_fill = Math.min(this.#window.length, this.#written - offset);
      this.#readFile(this.#window.subarray(0, this.#window_fill), offset);
      this.#window_at = offset;
      at = 0;
    }
    return this.#window.subarray(at, at + length);
  }

  #readFile(into: Buffer, offset: number): void {
    const { fd } = this.#file as TemporaryFile;
    for (let done = 0; done < into.length; ) {
      const count = readSync(fd, into, done, into.length - done, offset + done);
      if (count === 0) throw new Error(`${this.#folder}: a temporary file was truncated`);
      done += count;
    }
  }

  close(): void {
    if (this.#file === null) return;
    closeSync(this.#file.fd);
    this.#file.remove();
    this.#file = null;
  }
}

/** A part of this size becomes its own chunk: copying it costs more than passing it on. */
const LARGE_BYTES = PIECE_BYTES / 2;

/** The same bytes in large chunks, each valid until the next is requested. */
export function* inPieces(parts: Iterable<string | Buffer>): Generator<Buffer, void> {
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  let fill = 0;
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    if (fill + bytes.length > piece.length || bytes.length >= LARGE_BYTES) {
      if (fill > 0) yield piece.subarray(0, fill);
      fill = 0;
    }
    if (bytes.length >= LARGE_BYTES) yield bytes;
    else fill += bytes.copy(piece, fill);
  }
  if (fill > 0) yield piece.subarray(0, fill);
}
