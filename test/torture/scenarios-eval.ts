/** A disturbed command that makes the transcript of an imported session, on first use (TR-1). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Lane } from './lane.ts';
import type { Scenario } from './scenario.ts';
import { fiveRuns, grade, must, oneImported } from './scenarios-store.ts';
import {
  commandFaults,
  recoveryFaults,
  successFaults,
  tidyFaults,
  wholeFaults,
} from './store-checks.ts';

const transcriptOf = ({ state }: Lane, run_id: string) =>
  join(state, 'transcripts', 'claude', `${run_id}.transcript.jsonl`);

const grading: Scenario = {
  name: 'grade',
  async prepare(lane) {
    const known = await fiveRuns(lane);
    return { known, facts: { run_id: oneImported(known) } };
  },
  act: (lane, injection, { facts }) => grade(lane, facts.run_id ?? '', { injection }),
  async *check(lane, { known, facts }, ran) {
    const run_id = facts.run_id ?? '';
    yield* commandFaults(ran);
    if (ran.code === 0 && !existsSync(transcriptOf(lane, run_id)))
      yield 'eval reports success but stored no transcript';
    yield* recoveryFaults(lane);
    // A transcript is complete or does not exist.
    yield* wholeFaults(lane, known);
    await must(grade(lane, run_id));
    if (!existsSync(transcriptOf(lane, run_id))) yield 'the transcript was not made again';
    yield* wholeFaults(lane, known);
    yield* successFaults(await lane.tacho(['runs', 'reindex']));
    yield* wholeFaults(lane, known);
    yield* tidyFaults(lane);
  },
};

export const EVAL_SCENARIOS: readonly Scenario[] = [grading];
