/** The log of messages that failed a rule, whole, for inspection; over its limit the older half goes (CF-4). */
import { closeSync, fstatSync } from 'node:fs';
import { LIMITS } from '../../lib/limits.ts';
import { openAppend, readPrivate, startPrivate, writeAll } from '../../store/files.ts';

export interface FailingLog {
  add(head: Record<string, unknown>, text: string): void;
  readonly written: number;
  readonly lost: number;
  close(): void;
}

/** Each line: what is given as head, and `text`, the message as it came. Contract: never throws; what it could not write it counts. */
export function createFailingLog(path: string): FailingLog {
  let fd = -1;
  let size = 0;

  function open(): number {
    if (fd < 0) {
      fd = openAppend(path);
      size = fstatSync(fd).size;
    }
    return fd;
  }

  function close(): void {
    if (fd >= 0) closeSync(fd);
    fd = -1;
  }

  function halve(): void {
    close();
    const old = readPrivate(path);
    const kept = old.subarray(old.indexOf(10, Math.floor(old.length / 2)) + 1);
    const file = startPrivate(path, 'board', false);
    try {
      file.write(kept);
      file.commit();
    } finally {
      file.abandon();
    }
  }

  const log = {
    written: 0,
    lost: 0,
    add(head: Record<string, unknown>, text: string) {
      const bytes = Buffer.from(`${JSON.stringify({ ...head, text })}\n`);
      try {
        open();
        if (size + bytes.length > LIMITS.live_failing_bytes_max) {
          halve();
          open();
        }
        writeAll(fd, bytes);
        size += bytes.length;
        log.written += 1;
      } catch {
        log.lost += 1;
        close();
      }
    },
    close,
  };
  return log;
}
