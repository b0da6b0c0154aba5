/** Follows a file that another process writes, using file watching, and polling for missed changes. */
import {
  close,
  constants,
  type FSWatcher,
  fstat,
  fstatSync,
  openSync,
  read,
  type Stats,
  watch,
} from 'node:fs';
import { promisify } from 'node:util';
import { TachoError, withPath } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { KnownBytes } from './known-bytes.ts';

/**
 * `truncated`: the file was truncated and may have grown again. The bytes of the last read are from its new
 * beginning; unread bytes are lost. `overwritten`: bytes that were read have changed in place. `shortened`: the file
 * has lost bytes at its end, but its beginning is unchanged.
 */
export interface Cut {
  kind: 'truncated' | 'overwritten' | 'shortened';
  /** How far the file had been read. */
  position: number;
  /** Its size now. */
  size: number;
}

export interface TailOptions {
  from: number;
  /** The bytes before `from`, with which the file begins. If they are missing, it was truncated. */
  mark?: Buffer | null;
  /** False: poll only, for file systems that report no changes. */
  watch?: boolean;
}

const STAGE = 'tail';
const readAt = promisify(read);
const closeFd = promisify(close);

function openFile(path: string): number {
  // Without O_NONBLOCK, a FIFO in place of the file would block this process.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  return withPath(path, STAGE, () => openSync(path, flags));
}

/** Does not keep the process alive. */
export class Tail {
  /** Offset of the next byte to read. */
  position: number;
  /** Whether something may have changed since the last read began. */
  changed = true;
  readonly #path: string;
  readonly #fd: number;
  readonly #poll: NodeJS.Timeout;
  readonly #listeners = new Set<() => void>();
  readonly #known: KnownBytes;
  #cut: Cut | null = null;
  /** The file's size at the last read. */
  #size = 0;
  #scratch: Buffer | null = null;
  #watcher: FSWatcher | null = null;
  #busy: Promise<unknown> | null = null;
  #closed = false;
  /** Nothing after this offset has to be read. */
  #until = Number.POSITIVE_INFINITY;
  #stopped = false;

  /** Throws a TachoError if the file cannot be opened. */
  constructor(path: string, options: TailOptions) {
    this.#path = path;
    this.position = options.from;
    this.#known = new KnownBytes(options.from, options.mark ?? null);
    this.#fd = openFile(path);
    if (!fstatSync(this.#fd).isFile()) {
      close(this.#fd);
      throw new TachoError('not_a_file', `${path}: not a regular file`, { stage: STAGE });
    }
    if (options.watch !== false) this.#startWatching();
    this.#poll = setInterval(() => this.#look(), LIMITS.tail_poll_ms);
    this.#poll.unref();
  }

  /** Whether the file system reports changes. If not, only the poll finds them. */
  get watching(): boolean {
    return this.#watcher !== null;
  }

  #startWatching(): void {
    try {
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#wake());
      this.#watcher.on('error', () => this.#stopWatching());
    } catch {
      // Watching is not available (inotify limits, file system without support): polling is enough.
      this.#watcher = null;
    }
  }

  #stopWatching(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  #wake(): void {
    if (this.#closed) return;
    this.changed = true;
    for (const listener of [...this.#listeners]) listener();
  }

  #look(): void {
    if (this.changed || this.#busy !== null) return;
    const pending = this.#stat().then((found) => {
      if (found !== null && found.size !== this.position) this.#wake();
    });
    this.#hold(pending);
  }

  #stat(): Promise<Stats | null> {
    return new Promise((done) => fstat(this.#fd, (error, found) => done(error ? null : found)));
  }

  /** Keeps the descriptor open until `pending` settles. */
  #hold<T>(pending: Promise<T>): Promise<T> {
    const mine = pending.finally(() => {
      if (this.#busy === mine) this.#busy = null;
    });
    mine.catch(() => {});
    this.#busy = mine;
    return mine;
  }

  /**
   * The bytes available now, at most `LIMITS.read_chunk_bytes` or the length of the given buffer. Null if there is
   * nothing new. With a buffer, the result is a view of it. Only one read at a time.
   */
  async read(buffer?: Buffer): Promise<Buffer | null> {
    // Only the poll's check of the size can be in progress here.
    if (this.#busy !== null) await this.#busy;
    if (this.#closed || this.#stopped) return null;
    return this.#hold(this.#readNow(buffer));
  }

  async #readNow(buffer: Buffer | undefined): Promise<Buffer | null> {
    this.changed = false;
    this.#scratch ??= buffer === undefined ? Buffer.allocUnsafe(LIMITS.read_chunk_bytes) : null;
    const target = buffer ?? (this.#scratch as Buffer);
    try {
      let got = await this.#fill(target);
      this.#cut = this.#findCut(got);
      if (this.#cut?.kind === 'truncated') {
        this.position = 0;
        this.#known.forget();
        got = await this.#fill(target);
      }
      this.position += got;
      // After a truncation the offset is meaningless: then the end of the file decides.
      this.#stopped =
        this.#until !== Number.POSITIVE_INFINITY &&
        (got < target.length || this.position >= this.#until);
      if (got === 0) return null;
      if (got === target.length) this.changed = true;
      const bytes = target.subarray(0, got);
      this.#known.add(bytes);
      return buffer === undefined ? Buffer.from(bytes) : bytes;
    } catch (cause) {
      throw new TachoError('input_unreadable', `${this.#path}: ${(cause as Error).message}`, {
        stage: STAGE,
        cause,
      });
    }
  }

  async #fill(target: Buffer): Promise<number> {
    const { bytesRead } = await readAt(this.#fd, target, 0, target.length, this.position);
    return bytesRead;
  }

  /** After a read: if the bytes before it are unchanged, it was a read of the same file. */
  #findCut(got: number): Cut | null {
    const { position } = this;
    const changed = this.#known.check(this.#fd, position);
    const size = this.size();
    const shorter = size < this.#size ? 'shortened' : null;
    this.#size = size;
    const cut = size < position && (got === 0 || changed !== null);
    const kind = cut ? 'truncated' : (changed ?? shorter);
    return kind === null ? null : { kind, position, size };
  }

  /** The file's current size. */
  size(): number {
    return fstatSync(this.#fd).size;
  }

  /** From now on, only the file's current content is read, at most up to the offset `most`. May be called again. */
  stop(most: number): void {
    this.#until = Math.min(this.size(), most);
    this.#stopped = false;
  }

  /** A change by another process to bytes already read, found by the last read, or null. Returned once. */
  takeCut(): Cut | null {
    const cut = this.#cut;
    this.#cut = null;
    return cut;
  }

  /** Calls `listener` at each change until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#poll);
    this.#stopWatching();
    this.#listeners.clear();
    await this.#busy?.catch(() => {});
    await closeFd(this.#fd).catch(() => {});
  }
}

export type WaitResult = 'changed' | 'timeout' | 'aborted';

/**
 * Resolves as soon as any tail may have something new. A change between a tail's last read and this call is not
 * missed. Keeps the process alive while it waits.
 */
export function waitForChange(
  tails: readonly Tail[],
  signal: AbortSignal | null,
  ms: number,
): Promise<WaitResult> {
  if (signal?.aborted) return Promise.resolve('aborted');
  if (tails.some((tail) => tail.changed)) return Promise.resolve('changed');
  return new Promise((resolve) => {
    const undo: (() => void)[] = [];
    const done = (result: WaitResult) => {
      for (const step of undo) step();
      resolve(result);
    };
    const timer = setTimeout(() => done('timeout'), ms);
    undo.push(() => clearTimeout(timer));
    for (const tail of tails) undo.push(tail.onChange(() => done('changed')));
    if (signal !== null) {
      const abort = () => done('aborted');
      signal.addEventListener('abort', abort, { once: true });
      undo.push(() => signal.removeEventListener('abort', abort));
    }
  });
}
