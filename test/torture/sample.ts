/** The share of the cases that is part of `npm test`: fixed for a seed, spread over all scenarios and ways. */
import { expect, onTestFinished, test } from 'vitest';
import { note } from '../e2e/needs.ts';
import { type Kind, nameOf, Player, SCENARIOS, WAYS } from './cases.ts';
import { whyNoInjection } from './inject.ts';
import { DEFAULT_SEED, Random } from './random.ts';

const SEED = Number(process.env.TACHO_TEST_SEED ?? DEFAULT_SEED);

/** `per_scenario` cases of each scenario; each next one in another way. */
export function testSample(kind: Kind, title: string, per_scenario: number): void {
  const why = whyNoInjection();
  if (why !== null) note(`${title}: ${why}`);
  for (const [n, scenario] of SCENARIOS.entries()) {
    test.skipIf(why !== null)(
      `${scenario.name}: ${title}`,
      async () => {
        const player = new Player();
        onTestFinished(() => player.close());
        const random = new Random(SEED + n);
        const ways = random.shuffled(WAYS[kind]);
        for (let turn = 0; turn < per_scenario; turn++) {
          const way = ways[turn % ways.length]!;
          const at = 1 + random.below(await player.count(scenario, way));
          const one = { scenario: scenario.name, ...way, at };
          const { faults, operation } = await player.play(one);
          const repeat = `npm run torture -- --case ${nameOf(one)}`;
          expect(faults, `${operation}; repeat with: ${repeat}`).toEqual([]);
        }
      },
      300_000,
    );
  }
}
