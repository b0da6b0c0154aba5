/**
 * Writes to a file descriptor without ever blocking the event loop: Node's own stdout blocks on a full pipe, and then no
 * signal is handled. Contract: everything is written in order, or nothing more can be and that is said; it never rejects.
 */
import { write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface FdWriter {
  /** Resolves when the text is with the system, or nothing more can be written. */
  write(text: string | Uint8Array): Promise<void>;
  /** The reader has gone away, or writing fails; what is written since is dropped. */
  readonly gone: boolean;
  /** Why writing fails, where it is not the reader's doing: a full disk. */
  readonly failure: Error | null;
}

const READER_GONE = new Set(['EPIPE', 'ECONNRESET', 'EBADF']);

function writeSome(fd: number, bytes: Uint8Array, from: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, from, bytes.length - from, null, (error, count) => {
      if (error) reject(error);
      else resolve(count);
    });
  });
}

export function createFdWriter(fd: number): FdWriter {
  let queue: Promise<void> = Promise.resolve();
  const writer = { gone: false, failure: null as Error | null, write: put };

  async function writeAll(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length && !writer.gone; ) {
      try {
        done += await writeSome(fd, bytes, done);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        // A descriptor that somebody else made non-blocking: the reader is slow, not gone.
        if (code === 'EAGAIN') await sleep(5);
        else {
          writer.gone = true;
          if (!READER_GONE.has(code ?? '')) writer.failure = error as Error;
        }
      }
    }
  }

  function put(text: string | Uint8Array): Promise<void> {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
    queue = queue.then(() => writeAll(bytes));
    return queue;
  }

  return writer;
}
