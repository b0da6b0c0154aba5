/** The log of messages that failed a rule, whole, for inspection; over its limit the older half goes (CF-4). */
import { closeSync, fstatSync } from 'node:fs';
import { openAppend, readPrivate, writeAll, writeAtomic } from '../../store/files.ts';
import { APP_LIMITS } from '../limits.ts';

/** Contract: never throws; `lost` counts what could not be written. */
export function createFailingLog(path: string) {
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
    writeAtomic(path, kept, 'board', false);
  }

  const log = {
    written: 0,
    lost: 0,
    /** One line: what is given as head, and `text`, the message as it came. */
    add(head: Record<string, unknown>, text: string) {
      const bytes = Buffer.from(`${JSON.stringify({ ...head, text })}\n`);
      try {
        open();
        if (size + bytes.length > APP_LIMITS.live_failing_bytes_max) {
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
