/**
 * Writes to a file descriptor without blocking the event loop: Node's own stdout blocks on a full pipe, and then no
 * signal is handled. Contract: everything is written in order, or writing stops and `gone` is true; it never rejects.
 */
import { write } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errnoOf } from './errors.ts';

export type FdWriter = Readonly<ReturnType<typeof createFdWriter>>;

const READER_GONE = new Set(['EPIPE', 'ECONNRESET', 'EBADF']);

const writeSome = promisify(write);

export function createFdWriter(fd: number) {
  let queue: Promise<void> = Promise.resolve();
  const writer = {
    /** The reader has closed the pipe, or writing failed. Later writes are dropped. */
    gone: false,
    /** Why writing failed, unless the reader closed the pipe: a full disk, for example. */
    failure: null as Error | null,
    write: put,
  };

  async function writeAll(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length && !writer.gone; ) {
      try {
        const { bytesWritten } = await writeSome(fd, bytes, done, bytes.length - done, null);
        done += bytesWritten;
      } catch (error) {
        const code = errnoOf(error);
        // Another process made the descriptor non-blocking: the reader is slow, not gone.
        if (code === 'EAGAIN') await sleep(5);
        else {
          writer.gone = true;
          if (!READER_GONE.has(code)) writer.failure = error as Error;
        }
      }
    }
  }

  /** Resolves when the system has accepted the text, or nothing more can be written. */
  function put(text: string | Uint8Array): Promise<void> {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
    queue = queue.then(() => writeAll(bytes));
    return queue;
  }

  return writer;
}
