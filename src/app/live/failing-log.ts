/**
 * The log of messages that failed a rule, in full, for inspection. Over its limit the older half is dropped (CF-4).
 * Late messages are an exception: after an outage every message is late, so after the first few of a session one line
 * gives their number and the first and last `seq`. Messages that arrived before they happened are not late and are
 * logged in full.
 */
import { closeSync, fstatSync } from 'node:fs';
import { LIMITS } from '../../lib/limits.ts';
import { openAppend, readPrivate, writeAll, writeAtomic } from '../../store/files.ts';
import { APP_LIMITS } from '../limits.ts';

/** Late messages of a session that are not logged individually. */
interface LateMessages {
  connection: string | null;
  messages: number;
  first_seq: number;
  last_seq: number;
}

/** Contract: never throws. `lost` counts lines that could not be written. */
export function createFailingLog(path: string) {
  const late = new Map<string, LateMessages>();
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

  /** False if it could not be written. */
  function write(line: Record<string, unknown>): boolean {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      open();
      if (size + bytes.length > APP_LIMITS.live_failing_bytes_max) {
        halve();
        open();
      }
      writeAll(fd, bytes);
      size += bytes.length;
      return true;
    } catch {
      close();
      return false;
    }
  }

  const log = {
    written: 0,
    /** Late messages that are only counted in the log. */
    summed: 0,
    lost: 0,
    /** Writes one line: the given head, and `text`, the message as it arrived. */
    add(head: Record<string, unknown>, text: string): void {
      if (write({ ...head, text })) log.written += 1;
      else log.lost += 1;
    },
    /** Counts a late message. */
    addLate(connection: string | null, session_id: string, seq: number): void {
      const known = late.get(session_id);
      if (known !== undefined) {
        known.messages += 1;
        known.first_seq = Math.min(known.first_seq, seq);
        known.last_seq = Math.max(known.last_seq, seq);
        return;
      }
      if (late.size >= LIMITS.live_sessions_max) log.flush(null);
      late.set(session_id, { connection, messages: 1, first_seq: seq, last_seq: seq });
    },
    /** Writes the counts since the last call, one line per session. */
    flush(at: string | null): void {
      for (const [session_id, { connection, ...counted }] of late) {
        const why = `${counted.messages} more messages arrived late`;
        const failed = [{ rule: LATE_RULE, why }];
        const line = { received_at: at, connection, failed, late: { session_id, ...counted } };
        if (write(line)) log.summed += counted.messages;
        else log.lost += counted.messages;
      }
      late.clear();
    },
    close(): void {
      log.flush(null);
      close();
    },
  };
  return log;
}

/** The rule that events arrive in time. */
const LATE_RULE = '3.2';

/**
 * Whether a message failed only because of its delay. The rule also fails for a message that arrived before it
 * happened.
 */
export const isOnlyLate = (failed: readonly { rule: string }[], delay_ms: number) =>
  failed.length === 1 && failed[0]?.rule === LATE_RULE && delay_ms > 0;
