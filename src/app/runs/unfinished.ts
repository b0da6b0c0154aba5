/** The states of runs that may not be finished (WA-9), from the evidence in the index and the process table. */
import { findAgent } from '../../agents/registry.ts';
import { findProcesses } from '../../capture/source/agent-processes.ts';
import { type RunStateName, stateOf, type UnfinishedState } from '../../model/unfinished.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { RunRow } from '../../store/index/runs-table.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';

/** A run as shown in lists. */
export interface StatedRun extends RunRow {
  /** The state of a run that is not finished, with its evidence; null if the run is finished. */
  unfinished: UnfinishedState | null;
}

export type States = ReadonlyMap<string, UnfinishedState>;

/** By run. Finished runs have none. */
export async function unfinishedStates(index: Index, now_ms = Date.now()): Promise<States> {
  const states = new Map<string, UnfinishedState>();
  const rows = index.unfinished();
  if (rows.length === 0) return states;
  const find = findProcesses();
  // A process that runs in a folder has the session there that was used last.
  const newer = new Map<string, number>();
  rows.sort((a, b) => b.evidence.last_ms - a.evidence.last_ms);
  for (const { run_id, agent, evidence } of rows) {
    const { binaries = [], process_names = [] } = (await findAgent(agent)) ?? {};
    const place = `${agent} ${evidence.cwd}`;
    const before = newer.get(place) ?? 0;
    newer.set(place, before + 1);
    const process = find([...binaries, ...process_names], evidence.cwd, before);
    const old = now_ms - evidence.last_ms >= APP_LIMITS.unfinished_age_ms;
    const state = old && process.is !== 'alive' ? null : stateOf(evidence, process, now_ms);
    if (state !== null) states.set(run_id, state);
  }
  return states;
}

/** The state of one run; null if it is finished. */
export async function unfinishedOf(
  state: StateDir,
  run_id: string,
): Promise<UnfinishedState | null> {
  using index = openIndex(state);
  return (await unfinishedStates(index)).get(run_id) ?? null;
}

/** Removes the evidence of runs that nobody continued for long. */
export function forgetFinished(index: Index, states: States, now_ms = Date.now()): void {
  for (const { run_id, evidence } of index.unfinished())
    if (!states.has(run_id) && now_ms - evidence.last_ms >= APP_LIMITS.unfinished_age_ms)
      index.saveEvidence(run_id, null);
}

/** Rows with their states. */
export function* withStates(rows: Iterable<RunRow>, states: States): Generator<StatedRun, void> {
  for (const row of rows) yield { ...row, unfinished: states.get(row.run_id) ?? null };
}

/** The states of a store's runs, by id. */
export async function stateLookup(
  state: StateDir | null,
): Promise<(run_id: string) => RunStateName | null> {
  if (state === null) return () => null;
  using index = openIndex(state);
  const states = await unfinishedStates(index);
  return (run_id) => states.get(run_id)?.state ?? null;
}
