import { expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { createNormaliser } from './normalise.ts';

verifies(
  'AG-13',
  'a number that JSON cannot store is null in the event as well, and reported',
  () => {
    const normaliser = createNormaliser('x', { rows: [], passed_through: [] });
    for (const [input, stored] of [
      [Number.POSITIVE_INFINITY, null],
      [{ a: [1, Number.NEGATIVE_INFINITY] }, { a: [1, null] }],
    ]) {
      const call = { call_id: 'c', native_tool: 'y', input, parent_call_id: null };
      expect(normaliser.call(call)).toMatchObject({ input: stored, problems: ['lossy_number'] });
    }
  },
);
