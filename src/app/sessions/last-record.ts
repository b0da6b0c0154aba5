/** When a session was last used, according to its records: a copy or a `touch` changes the time of its file. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { jsonIn } from '../../lib/json.ts';
import type { Agent, SessionFile } from '../../model/agent.ts';

/** The last records of a session are in its last bytes, unless the last one alone is longer. */
const TAIL_BYTES = 64 * 1024;

function tailOf(path: string): string {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, size - bytes.length));
  } finally {
    closeSync(fd);
  }
}

/** The time of its file if its records have none. */
function lastRecordMs({ session }: Agent, { path, modified_ms }: SessionFile): number {
  if (session == null || session.read?.(path) != null) return modified_ms;
  try {
    const times = tailOf(path)
      .split('\n')
      .map((line) => session.timeOf(jsonIn(line)))
      .filter((at_ms) => at_ms !== null);
    return times.length === 0 ? modified_ms : Math.min(Math.max(...times), modified_ms);
  } catch {
    return modified_ms;
  }
}

/** The most recently used session. No record is later than its file, so only newer files are read. */
export function usedLast<T extends { agent: Agent; file: SessionFile }>(
  sessions: readonly T[],
): T[] {
  const newest = sessions.toSorted((a, b) => b.file.modified_ms - a.file.modified_ms);
  let best: { session: T; at_ms: number } | null = null;
  for (const session of newest) {
    if (best !== null && session.file.modified_ms <= best.at_ms) break;
    const at_ms = lastRecordMs(session.agent, session.file);
    if (best === null || at_ms > best.at_ms) best = { session, at_ms };
  }
  return best === null ? [] : [best.session];
}
