/** A run with more events than are recorded: it has an end, is listed, and blocks nothing. */
import { expect } from 'vitest';
import { prepareRun } from '../../src/app/run/request.ts';
import { startRun } from '../../src/app/run/run.ts';
import { verifyRun } from '../../src/app/runs/verify.ts';
import { CAPTURE_LIMITS } from '../../src/capture/limits.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { openIndex } from '../../src/store/index/index-db.ts';
import { stateDirAt } from '../../src/store/state-dir.ts';
import { chaosRun } from '../chaos-agent.ts';
import { useLimits } from '../use-limits.ts';
import { spools, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();

verifies(
  ['RE-12', 'ST-9'],
  'a run over the event limit ends as its agent reports, with a gap, and its spool is removed',
  async () => {
    useLimits(CAPTURE_LIMITS, { run_events_max: 300 });
    useLimits(LIMITS, { session_events_max: 1_000 });
    const request = await prepareRun(chaosRun(place, 'flood'));
    const { result } = await startRun(request, []);
    const { run_id, exit_reason, outcome, unlisted } = await result;
    expect([exit_reason, unlisted, outcome.success]).toEqual(['ok', null, true]);
    expect(outcome.completeness.grade).toBe('partial');
    expect(outcome.completeness.gaps).toContain('events_over_limit:1');
    const state = stateDirAt(place.state);
    expect(await verifyRun(state, run_id)).toMatchObject({ ok: true, faults: [] });
    const index = openIndex(state);
    expect([...index.listRuns()].map((row) => row.run_id)).toEqual([run_id]);
    index.close();
    expect(spools(place)).toEqual([]);
  },
);
