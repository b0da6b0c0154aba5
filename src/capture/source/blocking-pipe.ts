/** Our own write end of a pipe, kept open while the agent lives. */
import { constants, readFileSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { CAPTURE_LIMITS } from '../limits.ts';

/** `hasRefused` must be called after its drain has exited. */
export type BlockingPipe = ReturnType<typeof keptBlocking>;

/**
 * Keeps a pipe blocking. A Node program makes a pipe that is its stdout or stderr non-blocking, and the flag belongs
 * to the open file: it affects all programs that share the pipe, even after the Node program was killed. A full pipe
 * then refuses their writes. Node can clear the flag only through a method of the handle.
 */
export function keptBlocking(fd: number, path: string) {
  const end = new Socket({ fd, readable: false, writable: true }) as Socket & { _handle?: Handle };
  /** The size of the spool file when the pipe was last blocking. */
  let before = 0;
  let found = false;
  let refused = false;
  /** Whether the pipe may have refused output: it can only have been full if that much came out of it since then. */
  const hasRefused = () => {
    refused ||= found && sizeOf(path) - before >= CAPTURE_LIMITS.pipe_full_bytes_min;
    return refused;
  };
  const look = () => {
    hasRefused();
    found = isNonBlocking(fd);
    end._handle?.setBlocking?.(true);
    if (!found) before = sizeOf(path);
  };
  // The socket itself has made it non-blocking.
  end._handle?.setBlocking?.(true);
  const timer = setInterval(look, CAPTURE_LIMITS.pipe_poll_ms).unref();
  const close = () => {
    clearInterval(timer);
    look();
    end.destroy();
  };
  return { fd, close, hasRefused };
}

/** 0 if unknown: the agent can remove or replace the file. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

type Handle = { setBlocking?: (blocking: boolean) => number } | null;

function isNonBlocking(fd: number): boolean {
  try {
    const text = readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1');
    const flags = /^flags:\s*(\d+)/m.exec(text)?.[1] ?? '';
    return (Number.parseInt(flags, 8) & constants.O_NONBLOCK) !== 0;
  } catch {
    // Unknown without /proc.
    return false;
  }
}
