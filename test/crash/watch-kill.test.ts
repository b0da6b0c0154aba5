/** A watcher that is killed while sessions grow. `npm run torture -- --only watch` does this 100 times for every agent. */
import { expect } from 'vitest';
import { agentOf } from '../../src/app/config/agent-of.ts';
import { verifies } from '../e2e/verifies.ts';
import { DEFAULT_SEED } from '../torture/random.ts';
import { playKills } from '../torture/watch-kill.ts';

const SEED = Number(process.env.TACHO_TEST_SEED ?? DEFAULT_SEED);

/** Lines with sub-agents beside them, or among the other sessions; documents; a database. */
const AGENTS = ['claude', 'codex', 'cline', 'opencode'];

verifies(
  ['WA-15', 'WA-3', 'WA-6'],
  'a watcher that is killed and started again loses nothing, and has nothing twice',
  async () => {
    const results = await Promise.all(
      AGENTS.map(async (id) => {
        const agent = await agentOf(id);
        return playKills(agent, { kills: 3, seed: SEED, scenarios: 4 });
      }),
    );
    expect(results.flatMap(({ faults }) => faults)).toEqual([]);
    for (const { runs } of results) expect(runs).toBeGreaterThan(2);
  },
  600_000,
);
