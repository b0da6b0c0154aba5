/** The first and last bytes read from a file, used to detect that it was truncated and has grown again. */
import { readSync } from 'node:fs';
import { CAPTURE_LIMITS } from '../limits.ts';

/** Bytes before the position that stay the same in a file without a mark that was only overwritten in place. */
const SAME_BYTES = 256;

export class KnownBytes {
  readonly #head = Buffer.alloc(CAPTURE_LIMITS.tail_window_bytes);
  readonly #last = Buffer.alloc(CAPTURE_LIMITS.tail_window_bytes);
  readonly #now = Buffer.alloc(CAPTURE_LIMITS.tail_window_bytes);
  #head_length = 0;
  #last_length = 0;
  /** Where reading began. */
  #from: number;
  /** Bytes at the file's beginning that change only if the file is truncated. */
  #mark: number;

  constructor(from: number, mark: Buffer | null) {
    this.#mark = mark?.length ?? 0;
    this.#from = from - this.#mark;
    if (mark !== null) this.add(mark);
  }

  /** Reading restarts at the file's first byte, where there is no mark any more. */
  forget(): void {
    this.#from = 0;
    this.#mark = 0;
    this.#head_length = 0;
    this.#last_length = 0;
  }

  add(bytes: Buffer): void {
    const room = this.#head.length - this.#head_length;
    if (room > 0) this.#head_length += bytes.copy(this.#head, this.#head_length, 0, room);
    const last = this.#last;
    if (bytes.length >= last.length) {
      bytes.copy(last, 0, bytes.length - last.length);
      this.#last_length = last.length;
      return;
    }
    const kept = Math.min(this.#last_length, last.length - bytes.length);
    last.copyWithin(0, this.#last_length - kept, this.#last_length);
    bytes.copy(last, kept);
    this.#last_length = kept + bytes.length;
  }

  /** The change to the bytes before `position`, or null. Costs two short reads of cached pages. */
  check(fd: number, position: number): 'truncated' | 'overwritten' | null {
    const length = this.#last_length;
    if (this.#read(fd, length, position - length) < length) return 'truncated';
    const moved = !this.#equal(this.#last, Math.max(0, length - SAME_BYTES), length);
    const changed = this.#renew(this.#last, length);
    this.#read(fd, this.#head_length, this.#from);
    const cut = this.#mark === 0 ? moved : !this.#equal(this.#head, 0, this.#mark);
    if (cut) return 'truncated';
    return this.#renew(this.#head, this.#head_length) || changed ? 'overwritten' : null;
  }

  #read(fd: number, length: number, at: number): number {
    return length === 0 ? 0 : readSync(fd, this.#now, 0, length, at);
  }

  #equal(known: Buffer, from: number, to: number): boolean {
    return from === to || known.compare(this.#now, from, to, from, to) === 0;
  }

  /** Whether the current bytes differ from the known ones. The current bytes become the known ones. */
  #renew(known: Buffer, length: number): boolean {
    if (this.#equal(known, 0, length)) return false;
    this.#now.copy(known, 0, 0, length);
    return true;
  }
}
