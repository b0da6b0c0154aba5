/** One process as shown in Linux's /proc. */
import { readFileSync } from 'node:fs';

export interface ProcessStat {
  pid: number;
  ppid: number;
  pgid: number;
  /** Null if the system does not report it. */
  session: number | null;
  name: string;
  /** Start time in clock ticks. Together with the pid it identifies one process permanently. */
  start: string;
}

/** `pid (name) state ppid pgid session …`. The name may contain blanks and parentheses. */
export function parseStat(text: string): ProcessStat | null {
  const open = text.indexOf('(');
  const shut = text.lastIndexOf(')');
  const rest = text.slice(shut + 2).split(' ');
  const start = rest[19];
  if (open < 0 || shut < open || start === undefined) return null;
  const state = rest[0];
  if (state === 'Z' || state === 'X' || state === 'x') return null;
  return {
    pid: Number(text.slice(0, open)),
    ppid: Number(rest[1]),
    pgid: Number(rest[2]),
    session: Number(rest[3]),
    name: text.slice(open + 1, shut),
    start,
  };
}

/** Null if the process is not running, and on systems without /proc. */
export function readStat(pid: number | string): ProcessStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
}
