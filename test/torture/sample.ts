/** The cases that are part of `npm test`: fixed for a seed, spread over all scenarios and kinds of faults. */
import { expect, onTestFinished } from 'vitest';
import { note } from '../e2e/needs.ts';
import { verifies } from '../e2e/verifies.ts';
import { type Kind, nameOf, Player, SCENARIOS, WAYS } from './cases.ts';
import { whyNoInjection } from './inject.ts';
import { DEFAULT_SEED, Random } from './random.ts';

const SEED = Number(process.env.TACHO_TEST_SEED ?? DEFAULT_SEED);
/** Cases per scenario, each with another kind of fault. */
const CASES = 2;
/** For a busy machine; alone a scenario takes some five seconds. */
const LIMIT_MS = 600_000;

export function testSample(kind: Kind, ids: readonly string[], title: string): void {
  const why = whyNoInjection();
  const unless = why === null ? '' : ` (NOT RUN: ${why})`;
  if (why !== null) note(`${title}: ${why}`);
  for (const [n, scenario] of SCENARIOS.entries()) {
    const body = async () => {
      if (why !== null) return;
      const player = new Player();
      onTestFinished(() => player.close());
      const random = new Random(SEED + n);
      const ways = random.shuffled(WAYS[kind]);
      for (let turn = 0; turn < CASES; turn++) {
        const way = ways[turn % ways.length]!;
        const at = 1 + random.below((await player.operations(scenario, way)).length);
        const one = { scenario: scenario.name, ...way, at };
        const { faults, operation } = await player.play(one);
        const repeat = `npm run torture -- --case ${nameOf(one)}`;
        expect(faults, `${operation}; repeat with: ${repeat}`).toEqual([]);
      }
    };
    verifies(ids, `${scenario.name}: ${title}${unless}`, body, LIMIT_MS);
  }
}
