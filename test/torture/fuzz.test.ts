/** Mutated input for every reader of foreign bytes; for more: `npm run torture -- --only fuzz`. */
import { expect } from 'vitest';
import { verifies } from '../e2e/verifies.ts';
import { fuzz } from './fuzz-process.ts';
import { DEFAULT_SEED } from './random.ts';

const INPUTS = 1_500;

verifies(
  ['AG-2', 'AG-13', 'RE-25'],
  'mutated recordings, files and messages raise no exception, give the same events in any chunking and keep the contract',
  async () => {
    const seed = Number(process.env.TACHO_TEST_SEED ?? DEFAULT_SEED);
    const { findings, inputs } = await fuzz({ seed, count: INPUTS });
    expect(findings).toEqual([]);
    expect(Object.values(inputs).reduce((sum, count) => sum + count, 0)).toBe(INPUTS);
  },
  600_000,
);
