/**
 * The health of a watcher, in a small file next to the store, rewritten at most once per second: what `--status` and
 * `doctor` report. Contract: without the file, or with an old one, no claim is made.
 */
import { join } from 'node:path';
import { readTextFile } from '../../lib/text-file.ts';
import { writeAtomic } from '../../store/files.ts';
import { lockState } from '../../store/kernel-lock.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { NotifyStatus } from './notify.ts';

export interface Health {
  /** Process id of the watcher. */
  pid: number;
  /** When it started, and when this was written, in milliseconds since 1970. */
  started_ms: number;
  written_ms: number;
  /** Ids of the agents that it follows. */
  agents: string[];
  /** Session files that it knows. */
  sessions: number;
  /** Sessions that wait to be imported. */
  waiting: number;
  /** The longest time from a change of a file to its durable events, in the last minute. Null if nothing changed. */
  lag_ms: number | null;
  /** When all folders were last looked at. */
  reconciled_ms: number | null;
  /** Folders that are polled because they cannot be watched. */
  unwatched: number;
  /** Files that could not be imported, with the reason. */
  set_aside: { path: string; why: string }[];
  /** How many there are. */
  set_aside_count: number;
  /** Files that look like sessions, but are not imported. */
  strays: string[];
  /** How many there are. */
  strays_count: number;
  /** Notifications since it started. Null: there are no rules. */
  notified: NotifyStatus | null;
}

const STAGE = 'watch';
const BYTES_MAX = 1024 * 1024;
const healthPath = ({ path }: StateDir) => join(path, 'watch.json');
export const watchLock = ({ path }: StateDir) => join(path, 'watch.lock');
/** Locked by the watcher for as long as it lives. Others only look at it: they would disturb one that starts. */
export const watchLife = ({ path }: StateDir) => join(path, 'watch.life');

export function writeHealth(state: StateDir, health: Health): void {
  writeAtomic(healthPath(state), `${JSON.stringify(health)}\n`, STAGE, false);
}

/** Null if no watcher has ever written it. */
function readHealth(state: StateDir): Health | null {
  try {
    const limits = { bytes_max: BYTES_MAX, stage: STAGE };
    return JSON.parse(readTextFile(healthPath(state), limits).text) as Health;
  } catch {
    return null;
  }
}

export interface WatchStatus {
  /** Whether a watcher runs now. */
  running: boolean;
  health: Health | null;
}

export function watchStatus(state: StateDir): WatchStatus {
  const running = lockState(watchLife(state)) === 'held';
  return { running, health: readHealth(state) };
}
