/** Which runs a state folder has for each session, so that nothing is counted twice. */
import type { RunOutcome } from '../../model/outcome.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { dieHere, failsAt } from '../../store/failpoint.ts';
import type { Index } from '../../store/index/index-db.ts';
import type { ImportRow } from '../../store/index/sources-table.ts';
import { bury, readTombstones } from '../../store/journal/tombstones.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { importedDigest, importId, importLabels, type NewId } from '../runs/import-id.ts';

export interface Entry {
  run_id: string;
  session_id: string | null;
  started_ms: number;
  finished_ms: number;
  steps: number;
  tool_calls: number;
  /** Of an import. Null for a run that was recorded live. */
  sha256: string | null;
  /** The labels that the id of an import is derived from. */
  labels: Record<string, string>;
}

function entryOf(row: ImportRow): Entry {
  const { run_id, session_id, steps, tool_calls } = row;
  const started_ms = row.started_ms ?? 0;
  return {
    run_id,
    session_id,
    steps,
    tool_calls,
    started_ms,
    finished_ms: row.finished_ms ?? started_ms,
    sha256: importedDigest(row),
    labels: importLabels(row.labels),
  };
}

function rowOf({ run_id, agent, session_id, metrics, metadata }: RunOutcome): ImportRow {
  const { start_time_ms: started_ms, end_time_ms: finished_ms, steps } = metrics;
  const figures = { started_ms, finished_ms, steps, tool_calls: metrics.tool_calls_count };
  return { run_id, agent, session_id, ...figures, labels: metadata.labels };
}

/** The later state of a session comes first. */
function later(a: Entry, b: Entry): number {
  return (
    b.finished_ms - a.finished_ms ||
    b.steps - a.steps ||
    b.tool_calls - a.tool_calls ||
    (a.run_id < b.run_id ? -1 : 1)
  );
}

/** Newest first, as in the list of runs. */
function newest(a: Entry, b: Entry): number {
  return b.started_ms - a.started_ms || (a.run_id < b.run_id ? 1 : -1);
}

/** A new state of an import, and how many events it covers. */
interface Saved {
  run: MeasuredRun | null;
  events: number;
}

const NOTHING_SAVED: Saved = { run: null, events: 0 };

export class Ledger {
  readonly #state: StateDir;
  readonly #index: Index;
  readonly #deleted: Set<string>;

  constructor(state: StateDir, index: Index) {
    this.#state = state;
    this.#index = index;
    this.#deleted = readTombstones(state);
  }

  /** The import of a session with this digest. */
  imported(agent: string, sha256: string): Entry | null {
    const entries = this.#entries(this.#index.runsOfDigest(agent, sha256));
    return entries.filter((entry) => entry.sha256 === sha256).sort(newest)[0] ?? null;
  }

  /** The last run of the session that was recorded live. */
  recorded(agent: string, session_id: string | null): Entry | null {
    return this.#ofSession(agent, session_id).find((entry) => entry.sha256 === null) ?? null;
  }

  /** The last one that had ended when an import of the session began. */
  recordedBefore(agent: string, session_id: string | null, started_ms: number): Entry | null {
    const recorded = this.#ofSession(agent, session_id).filter((entry) => entry.sha256 === null);
    return recorded.find((entry) => entry.finished_ms < started_ms) ?? null;
  }

  /** The first one that began after this time. */
  recordedAfter(agent: string, session_id: string | null, begun_ms: number): Entry | null {
    const recorded = this.#ofSession(agent, session_id).filter((entry) => entry.sha256 === null);
    return recorded.findLast((entry) => entry.started_ms > begun_ms) ?? null;
  }

  /**
   * Imports of other sessions that begin at the same time: one of the two may contain a copy of the other's
   * beginning.
   */
  begunAt(agent: string, session_id: string | null, started_ms: number): Entry[] {
    // Two unknown times are not equal.
    if (started_ms === 0) return [];
    return this.#entries(this.#index.runsBegunAt(agent, started_ms))
      .filter((entry) => entry.sha256 !== null && entry.session_id !== session_id)
      .sort(newest);
  }

  /** The id of a new import. Null if it was deleted and is not requested by name. */
  newId(
    content: { agent: string; sha256: string },
    started_ms: number,
    by_name: boolean,
  ): NewId | null {
    for (let again = 0; ; again++) {
      const id = importId(content, again, started_ms);
      if (!this.#deleted.has(id.run_id)) return id;
      if (!by_name) return null;
    }
  }

  /**
   * Removes imports that another run of the session contains too: those imported while tacho recorded the session,
   * and all but the latest state after the last recorded run. Returns their ids. `saved`: a new import, which gets
   * its row with that, unless it is one of them. After a kill at any moment, no session is listed twice: recorded
   * deletions, and journal entries without a row, are settled before the next list.
   */
  settle(
    agent: string,
    session_id: string | null,
    { run, events }: Saved = NOTHING_SAVED,
  ): string[] {
    const saved = run?.outcome ?? null;
    if (saved !== null && failsAt('before_row')) dieHere();
    const removed = this.#replacedIn(this.#ofSession(agent, session_id, saved));
    if (removed.length > 0) {
      if (failsAt('before_replace')) dieHere();
      bury(this.#state, removed);
      if (failsAt('after_bury')) dieHere();
    }
    for (const run_id of removed) this.#deleted.add(run_id);
    const kept = run === null || removed.includes(run.outcome.run_id) ? [] : [run];
    const grown = new Map(kept.map(({ outcome }) => [outcome.run_id, events]));
    if (kept.length + removed.length > 0) this.#index.saveRuns(kept, removed, grown);
    return removed;
  }

  #replacedIn(entries: readonly Entry[]): string[] {
    const recorded = entries.filter((entry) => entry.sha256 === null);
    const since_ms = Math.max(0, ...recorded.map((entry) => entry.finished_ms));
    const covered: Entry[] = [];
    const after: Entry[] = [];
    for (const entry of entries) {
      const { started_ms, sha256 } = entry;
      if (sha256 === null) continue;
      if (recorded.some((run) => started_ms >= run.started_ms && started_ms <= run.finished_ms))
        covered.push(entry);
      else if (started_ms >= since_ms) after.push(entry);
    }
    return [...covered, ...after.slice(1)].map((entry) => entry.run_id);
  }

  /** Latest first. */
  #ofSession(agent: string, session_id: string | null, saved: RunOutcome | null = null): Entry[] {
    if (session_id === null) return [];
    const rows = this.#index.runsOfSession(agent, session_id);
    if (saved === null) return this.#entries(rows).sort(later);
    const others = rows.filter(({ run_id }) => run_id !== saved.run_id);
    return this.#entries([...others, rowOf(saved)]).sort(later);
  }

  #entries(rows: readonly ImportRow[]): Entry[] {
    return rows.filter(({ run_id }) => !this.#deleted.has(run_id)).map(entryOf);
  }
}
