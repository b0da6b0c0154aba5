/** The states of runs that may not be finished (WA-9), from the evidence in the index and the process table. */
import { findAgent } from '../../agents/registry.ts';
import { findProcesses } from '../../capture/source/agent-processes.ts';
import { type RunStateName, stateOf, type UnfinishedState } from '../../model/unfinished.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import type { RunRow } from '../../store/index/runs-table.ts';
import type { StateDir } from '../../store/state-dir.ts';

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
  for (const { run_id, agent, evidence } of rows) {
    const { binaries = [], process_names = [] } = (await findAgent(agent)) ?? {};
    const state = stateOf(evidence, find([...binaries, ...process_names], evidence.cwd), now_ms);
    if (state !== null) states.set(run_id, state);
  }
  return states;
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
