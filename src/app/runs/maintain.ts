/** Requests of programs that repair a store, make it smaller or sum it up: the commands of `tacho runs` as functions. */
import { TachoError } from '../../lib/errors.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { isOwnState } from '../../store/state-mark.ts';
import { foreignState, isTrusted, NOT_RECOVERED } from '../config/own-state.ts';
import type { Recovery } from '../run/recover-run.ts';
import { type Collected, collectByPolicy, collectedOf, type GcOptions } from './gc.ts';
import { filterOf } from './query.ts';
import { NO_STATS, type Stats, statsOf } from './retention.ts';
import type { RecoverOptions, StatsOptions } from './store-options.ts';

/** The result for an unfinished run. */
export interface Recovered {
  /**
   * `recovered`: its record is finished. `failed`: it could not be stored; a later recovery tries again. `busy`: another
   * process is working on it. `running`: its agent is still running. `unreadable`: its raw output cannot be read.
   */
  state: 'recovered' | 'failed' | 'busy' | 'running' | 'unreadable';
  /** Id of the run. */
  run_id: string;
  /** The record of a recovered run; otherwise null. */
  outcome: RunOutcome | null;
  /** Why its record is not finished; null if it is. */
  why: string | null;
}

const DAYS = 14;

export async function* recoverForProgram(
  state: StateDir,
  options: RecoverOptions,
  say: (text: string) => void,
): AsyncGenerator<Recovered> {
  const { run: run_id, wait = true, force, signal } = options;
  const acting = { trust: isTrusted(options.trust, process.env), say };
  if (!acting.trust && !isOwnState(state.path))
    throw new TachoError('untrusted', foreignState(state.path, NOT_RECOVERED), {
      stage: 'recover',
    });
  const { recoverAll } = await import('../run/recover.ts');
  const asked = { wait, force, run_id, ...(signal && { signal }) };
  for await (const recovery of recoverAll(state, asked)) yield recoveredOf(recovery);
  const { deliverLeft } = await import('../live/deliver-left.ts');
  await deliverLeft(state.path, acting)();
}

function recoveredOf(recovery: Recovery): Recovered {
  const { run_id } = recovery;
  if (recovery.state === 'recovered')
    return { state: 'recovered', run_id, outcome: recovery.result.outcome, why: null };
  const why =
    recovery.state === 'running'
      ? `its agent is still running (process ${recovery.pid})`
      : recovery.why;
  // Only the automatic recovery leaves a run.
  return { state: recovery.state as Recovered['state'], run_id, outcome: null, why };
}

/** `state`: null if there is no store. */
export async function statsForProgram(
  state: StateDir | null,
  { days = DAYS, by, ...filter }: StatsOptions,
): Promise<Stats> {
  const query = filterOf('stats', filter, state);
  return state === null ? structuredClone(NO_STATS) : statsOf(state, { days, by, query });
}

export async function gcForProgram(
  state: StateDir,
  options: GcOptions,
  say: (text: string) => void,
): Promise<Collected> {
  const consenting = { trust: isTrusted(options.trust, process.env), say, ask: () => null };
  const { findProject } = await import('./projects.ts');
  const project = options.project && findProject(state, options.project);
  return collectedOf(await collectByPolicy(state, { ...options, project }, consenting));
}
