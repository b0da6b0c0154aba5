/**
 * The health of a watcher, in a small file next to the store, rewritten at most once per second: what `--status` and
 * `doctor` report. Contract: without the file, or with an old one, no claim is made.
 */
import { join } from 'node:path';
import { plural } from '../../lib/figures.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { writeAtomic } from '../../store/files.ts';
import { lockState } from '../../store/kernel-lock.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { NotifyStatus } from './notify.ts';
import type { WatchLiveStatus } from './watch-live.ts';

/** Health of a watcher. */
export interface Health {
  /** Process id of the watcher. */
  pid: number;
  /** When it started, in milliseconds since 1970. */
  started_ms: number;
  /** When this was written. */
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
  /** The connection to a collector. Null: there is none. */
  live: WatchLiveStatus | null;
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

/** A watcher that did not write its health for this long is stalled. */
const STALLED_MS = 60_000;

/** Whether a watcher runs, and how. */
export interface WatchStatus {
  /** Whether a watcher runs now. */
  running: boolean;
  /** Whether it runs, but has not reported for a minute: it hangs, or one import takes long. */
  stalled: boolean;
  /** The last report of the last watcher. Null if none ever ran. */
  health: Health | null;
}

export function watchStatus(state: StateDir): WatchStatus {
  const running = lockState(watchLife(state)) === 'held';
  const health = readHealth(state);
  const stalled = running && health !== null && Date.now() - health.written_ms > STALLED_MS;
  return { running, stalled, health };
}

/** The connection to a collector, in one line for people. */
export function liveText({ url, connected, ...live }: WatchLiveStatus): string {
  const facts = [`${plural(live.open, 'open session')}`];
  if (live.waiting_messages > 0)
    facts.push(`${plural(live.waiting_messages, 'message')} wait in the outbox`);
  if (live.behind > 0) facts.push(`${plural(live.behind, 'run')} to be sent from the journal`);
  if (live.refused > 0) facts.push(`${plural(live.refused, 'session')} refused`);
  if (live.last_failure !== null) facts.push(`last failure: ${live.last_failure}`);
  return `${connected ? 'sent to' : 'not connected to'} ${url}: ${facts.join('; ')}`;
}
