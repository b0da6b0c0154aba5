/**
 * Which runs a watcher has sent to its collector, in a file of the store: one line per change, the last one of a run
 * counts. Contract: with the outbox and the journal it is enough to continue after a kill. Without it, only what changes
 * from now on is sent.
 */
import { join } from 'node:path';
import { readTextFile } from '../../lib/text-file.ts';
import { withFd } from '../../lib/with-fd.ts';
import { openAppend, writeAll, writeAtomic } from '../../store/files.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';

const STAGE = 'watch';

/** A run's live sessions so far. */
export interface SentRun {
  run_id: string;
  /** Their number. The first has the id of the run. */
  sessions: number;
  /** Whether the last one has no end yet. */
  open: boolean;
  /** The number of events in the ended ones. */
  events: number;
}

interface Head {
  v: 1;
  url: string;
  since_ms: number;
}

/** Null if it is not a file of ours. A line that was not written completely is ignored. */
function parsed(text: string): { head: Head; runs: Map<string, SentRun> } | null {
  const runs = new Map<string, SentRun>();
  let head: Head | null = null;
  for (const line of text.split('\n')) {
    try {
      const row = JSON.parse(line) as Head & SentRun;
      if (typeof row.since_ms === 'number') head = row;
      else if (typeof row.run_id === 'string') runs.set(row.run_id, row);
    } catch {
      // The last line of a killed process.
    }
  }
  return head === null ? null : { head, runs };
}

export class LiveBook {
  /** Sessions that changed before this time are not sent. */
  readonly since_ms: number;
  readonly #path: string;
  readonly #runs: Map<string, SentRun>;

  /** `exists`: whether a run is still in the store. For another collector than before it begins now. */
  constructor(
    state: StateDir,
    { url, now_ms, exists }: { url: string; now_ms: number; exists: (run_id: string) => boolean },
  ) {
    this.#path = join(state.path, 'watch-live.jsonl');
    const known = this.#read();
    const same = known?.head.url === url;
    this.since_ms = known !== null && same ? known.head.since_ms : now_ms;
    const kept = [...(known?.runs.values() ?? [])].filter(
      ({ run_id, open }) => open || exists(run_id),
    );
    // The numbers stay: the outbox may have messages of those sessions for the other collector.
    const runs = same ? kept : kept.map((run) => ({ ...run, open: false, events: 0 }));
    this.#runs = new Map(runs.map((run) => [run.run_id, run]));
    const lines = [{ v: 1, url, since_ms: this.since_ms }, ...runs];
    writeAtomic(
      this.#path,
      lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      STAGE,
      false,
    );
  }

  get(run_id: string): SentRun | undefined {
    return this.#runs.get(run_id);
  }

  put(run: SentRun): void {
    const line = Buffer.from(`${JSON.stringify(run)}\n`);
    withFd(openAppend(this.#path), (fd) => writeAll(fd, line));
    this.#runs.set(run.run_id, run);
  }

  /** Runs with a session that has no end yet. */
  open(): SentRun[] {
    return [...this.#runs.values()].filter(({ open }) => open);
  }

  #read() {
    try {
      const limits = { bytes_max: APP_LIMITS.watch_live_book_bytes_max, stage: STAGE };
      return parsed(readTextFile(this.#path, limits).text);
    } catch {
      return null;
    }
  }
}
