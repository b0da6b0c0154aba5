/**
 * Limits the memory of unfinished long lines. Each connection may buffer a whole message, so all of them together could
 * take gigabytes: only some long lines are read at a time, and the others wait.
 * Contract: waiting lines get their turn, because a stalled line loses its place. Places for private transports are
 * kept free.
 */
import type { Connection, Hub, LongLine } from './hub.ts';

const isLong = ({ hub, lines }: Connection) => lines.held > hub.limits.short_line_bytes;

/** Called when a connection has received bytes or closed. Returns the connections that may be read again. */
export function placeLine(connection: Connection): Connection[] {
  const { hub } = connection;
  const { long_lines, long_lines_waiting } = hub;
  const place = long_lines.get(connection);
  const open = connection.phase === 'open' || connection.phase === 'greeting';
  if (!open || !isLong(connection)) {
    long_lines_waiting.delete(connection);
    return long_lines.delete(connection) ? admit(hub) : [];
  }
  const now_ms = hub.elapsed();
  if (place !== undefined) {
    place.heard_ms = now_ms;
    place.bytes = connection.lines.held;
    return [];
  }
  if (long_lines_waiting.has(connection)) return [];
  long_lines_waiting.add(connection);
  const admitted = admit(hub);
  if (!long_lines_waiting.has(connection)) return admitted;
  hub.countLimit('long_lines_max');
  if (long_lines_waiting.size > hub.limits.long_lines_waiting_max) {
    hub.countLimit('long_lines_waiting_max');
    long_lines_waiting.delete(connection);
    refuseLine(connection, 'too many long lines are waiting');
  }
  return admitted;
}

/** The rest of the line is read and dropped; the connection stays open. */
function refuseLine(connection: Connection, why: string): void {
  const received_bytes = connection.lines.held;
  connection.lines.giveUp();
  connection.line_refused = true;
  const details = { received_bytes, max_capacity: connection.hub.limits.long_lines_max };
  const message = `${why}: the line is dropped, send it again`;
  connection.complain('CAPACITY_EXHAUSTED', message, { retriable: true, details });
}

/** Gives places to waiting connections, in turn. */
function admit(hub: Hub): Connection[] {
  const { long_lines, long_lines_waiting, limits } = hub;
  const others_max = Math.max(1, limits.long_lines_max - limits.long_lines_private);
  const now_ms = hub.elapsed();
  const admitted: Connection[] = [];
  for (const connection of long_lines_waiting) {
    if (long_lines.size >= limits.long_lines_max) break;
    if (!connection.wire.private && othersIn(long_lines) >= others_max) continue;
    long_lines_waiting.delete(connection);
    const line = { since_ms: now_ms, heard_ms: now_ms, bytes: connection.lines.held };
    long_lines.set(connection, line);
    admitted.push(connection);
  }
  return admitted;
}

function othersIn(long_lines: ReadonlyMap<Connection, LongLine>): number {
  let found = 0;
  for (const { wire } of long_lines.keys()) if (!wire.private) found += 1;
  return found;
}

/** Checks for stalled lines while others wait. `resume`: continues reading a connection. */
export function watchLines(hub: Hub, resume: (connection: Connection) => void): void {
  if (hub.long_lines_timer !== null || hub.long_lines_waiting.size === 0) return;
  const every_ms = hub.limits.line_stall_ms_min;
  let looked_ms = hub.elapsed();
  const timer = setInterval(() => {
    const now_ms = hub.elapsed();
    for (const connection of refuseStalled(hub, Math.max(0, now_ms - looked_ms - every_ms)))
      resume(connection);
    looked_ms = now_ms;
    if (hub.long_lines_waiting.size > 0) return;
    clearInterval(timer);
    hub.long_lines_timer = null;
  }, every_ms);
  hub.long_lines_timer = timer.unref();
}

/** Refuses stalled lines while others wait. `late_ms`: how long this process itself was delayed. */
function refuseStalled(hub: Hub, late_ms: number): Connection[] {
  const { long_lines, long_lines_waiting } = hub;
  if (long_lines_waiting.size === 0) return [];
  const now_ms = hub.elapsed();
  const stall_ms = stallOf(hub);
  for (const [connection, line] of [...long_lines]) {
    line.since_ms += late_ms;
    line.heard_ms += late_ms;
    if (!isStalled(hub, line, { now_ms, stall_ms }) || connection.paused) continue;
    long_lines.delete(connection);
    refuseLine(connection, 'a line was not finished in time while others waited');
  }
  return admit(hub);
}

function stallOf({ limits, long_lines, long_lines_waiting }: Hub): number {
  const share = Math.min(1, long_lines.size / long_lines_waiting.size);
  return Math.max(limits.line_stall_ms_min, limits.line_stall_ms * share);
}

function isStalled(
  { limits }: Hub,
  { since_ms, heard_ms, bytes }: LongLine,
  { now_ms, stall_ms }: { now_ms: number; stall_ms: number },
): boolean {
  if (now_ms - heard_ms > stall_ms) return true;
  return now_ms - since_ms > limits.line_ms + bytes / limits.line_bytes_per_ms;
}
