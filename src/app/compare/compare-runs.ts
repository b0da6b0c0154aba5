/** Compares recorded runs call by call, from their journals (RR-1, RR-2). */
import { TachoError } from '../../lib/errors.ts';
import type { RunComparison } from '../../model/comparison.ts';
import type { AlignOptions } from '../../projections/compare/align.ts';
import { createRunFacts, type RunFacts } from '../../projections/compare/call-facts.ts';
import { compare } from '../../projections/compare/compare.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { withStoredCost } from '../prices/costs.ts';
import { findRunIds, journalledEvents } from '../runs/replay.ts';
import { storedOutcome } from '../runs/show.ts';

const usage = (text: string) => new TachoError('usage', text, { stage: 'compare' });

/** `names`: as people give them. A run may be unfinished. */
export async function compareStored(
  state: StateDir,
  names: readonly string[],
  options: AlignOptions = {},
): Promise<RunComparison> {
  const most = APP_LIMITS.compared_runs_max;
  if (names.length < 2) throw usage('give at least two runs to compare');
  if (names.length > most) throw usage(`give at most ${most} runs to compare`);
  const run_ids = findRunIds(state, names);
  const twice = run_ids.findIndex((run_id, at) => run_ids.indexOf(run_id) < at);
  if (twice >= 0) throw usage(`"${names[twice]}" is run ${run_ids[twice]}, which is given twice`);
  const facts: RunFacts[] = [];
  for (const run_id of run_ids) {
    const found = await factsOf(state, run_id);
    facts.push({ ...found, outcome: withStoredCost(found.outcome, storedOutcome(state, run_id)) });
  }
  return compare(facts, options);
}

async function factsOf(state: StateDir, run_id: string): Promise<RunFacts> {
  const facts = createRunFacts();
  let events = 0;
  for await (const event of journalledEvents(state, run_id)) {
    facts.push(event);
    events += 1;
  }
  if (events > 0) return facts.finish();
  throw new TachoError('not_found', `no run "${run_id}" in ${state.path}`, { stage: 'find' });
}
