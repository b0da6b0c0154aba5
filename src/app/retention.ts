/** Keeping the store small: what the policies let go, what goes back, and what there is (ST-5). */
import { existsSync } from 'node:fs';
import { TachoError } from '../lib/errors.ts';
import type { Event } from '../model/event.ts';
import { readArchive } from '../store/archive.ts';
import { collectRuns, type GcResult } from '../store/gc.ts';
import { type Index, openIndex, type RunRow } from '../store/index-db.ts';
import { type JournalEntry, openJournal } from '../store/journal.ts';
import { type Leaving, planRemoval, type RetentionPolicy } from '../store/retention.ts';
import { fileBytes, journalBytes } from '../store/sizes.ts';
import type { StateDir } from '../store/state-dir.ts';
import { sweepTemporary } from '../store/temporary.ts';
import { bury } from '../store/tombstones.ts';
import { CAPTURE_SOURCE } from './recorder.ts';
import { Rebuilt } from './reindex.ts';

export interface Collected {
  leaving: Leaving[];
  /** Null on a dry run. */
  done: GcResult | null;
}

export async function collect(
  state: StateDir,
  policies: readonly RetentionPolicy[],
  options: { now_ms: number; dry_run: boolean },
): Promise<Collected> {
  const index = openIndex(state);
  try {
    sweepTemporary(state.tmp);
    const runs = index.listRuns();
    const sizes = await journalBytes(state, index);
    const agents = new Map(runs.map(({ run_id, agent }) => [run_id, agent]));
    // Files are looked at only where their size decides something, or of those that go.
    const sized = policies.some(({ bytes_max }) => bytes_max !== null);
    const bytesOf = (run_id: string) =>
      (sizes.get(run_id) ?? 0) +
      (sized ? fileBytes(state, agents.get(run_id) as string, run_id) : 0);
    const leaving = planRemoval(runs, policies, { now_ms: options.now_ms, bytesOf });
    if (!sized)
      for (const item of leaving) item.bytes += fileBytes(state, item.run.agent, item.run.run_id);
    if (options.dry_run) return { leaving, done: null };
    const going = leaving.map(({ run: { run_id }, archive }) => ({ run_id, archive }));
    return { leaving, done: await collectRuns(state, index, going, options.now_ms) };
  } finally {
    index.close();
  }
}

/** Entries that go back at a time. */
const RESTORE_ENTRIES = 512;

/** Puts archived runs back; `wanted` empty: all of the archive. Returns their ids. */
export async function restore(
  state: StateDir,
  path: string,
  wanted: readonly string[],
): Promise<string[]> {
  if (!existsSync(path))
    throw new TachoError('not_found', `${path}: there is no such archive`, { stage: 'archive' });
  const index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  const rebuilt = new Map<string, Rebuilt>();
  try {
    let held: JournalEntry[] = [];
    const flush = async () => {
      await journal.append(held);
      held = [];
    };
    for await (const entry of readArchive(path)) {
      const { session, source, body } = entry;
      if (wanted.length > 0 && !wanted.includes(session)) continue;
      held.push(entry);
      let run = rebuilt.get(session);
      if (run === undefined) {
        run = new Rebuilt(state);
        rebuilt.set(session, run);
      }
      if (source === CAPTURE_SOURCE) run.push(JSON.parse(body) as Event);
      if (held.length >= RESTORE_ENTRIES) await flush();
    }
    await flush();
    bury(state, [...rebuilt.keys()], 'restored');
    for (const run of rebuilt.values()) {
      const outcome = run.finish();
      if (outcome !== null) index.saveOutcome(outcome);
    }
    return [...rebuilt.keys()];
  } finally {
    await journal.close();
    index.close();
  }
}

export interface StatsRow {
  name: string;
  runs: number;
  ok: number;
  /** Null: not known of any of them. */
  cost: number | null;
  tokens: number | null;
  tool_calls: number;
  bytes: number;
}

export interface Stats {
  total: StatsRow;
  by_agent: StatsRow[];
  /** Newest first. */
  by_day: StatsRow[];
}

export const NO_STATS: Stats = { total: newRow('all'), by_agent: [], by_day: [] };

export async function statsOf(state: StateDir, days: number): Promise<Stats> {
  const index: Index = openIndex(state);
  try {
    const sizes = await journalBytes(state, index);
    const total = newRow('all');
    const agents = new Map<string, StatsRow>();
    const by_day = new Map<string, StatsRow>();
    for (const run of index.listRuns()) {
      const bytes = (sizes.get(run.run_id) ?? 0) + fileBytes(state, run.agent, run.run_id);
      const day =
        run.started_ms === null ? 'unknown' : new Date(run.started_ms).toISOString().slice(0, 10);
      for (const row of [total, rowOf(agents, run.agent), rowOf(by_day, day)]) add(row, run, bytes);
    }
    return {
      total,
      by_agent: [...agents.values()].sort((a, b) => b.runs - a.runs),
      by_day: [...by_day.values()].slice(0, days),
    };
  } finally {
    index.close();
  }
}

function newRow(name: string): StatsRow {
  return { name, runs: 0, ok: 0, cost: null, tokens: null, tool_calls: 0, bytes: 0 };
}

function rowOf(rows: Map<string, StatsRow>, name: string): StatsRow {
  const row = rows.get(name) ?? newRow(name);
  rows.set(name, row);
  return row;
}

function add(row: StatsRow, run: RunRow, bytes: number): void {
  row.runs += 1;
  row.ok += run.success ? 1 : 0;
  if (run.cost !== null) row.cost = (row.cost ?? 0) + run.cost;
  if (run.tokens !== null) row.tokens = (row.tokens ?? 0) + run.tokens;
  row.tool_calls += run.tool_calls;
  row.bytes += bytes;
}
