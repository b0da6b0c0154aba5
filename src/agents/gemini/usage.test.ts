import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import type { Draft } from '../../model/draft.ts';
import { gemini } from './index.ts';

/** The reports of a result with these figures. */
function reports(stats: object) {
  const decoder = gemini.stream?.();
  const drafts: Draft[] = [];
  decoder?.record({ type: 'result', status: 'success', stats }, drafts);
  decoder?.end(drafts);
  return drafts.flatMap(({ kind, data }) => (kind === 'usage_reported' ? [data] : []));
}

const figures = (total_tokens: number, input_tokens: number, cached: number, output: number) => ({
  ...{ total_tokens, input_tokens, cached, output_tokens: output, input: input_tokens - cached },
});
const usage = (input: number, cache_read: number, output: number, reasoning: number) => ({
  ...{ input, output, cache_read, cache_write: null, reasoning },
});

verifies('SE-6', 'thoughts are the part of the total that is neither input nor output', () => {
  const one = figures(150, 100, 40, 30);
  expect(reports({ ...one, models: { pro: one } })).toEqual([
    { mode: 'total', usage: usage(60, 40, 30, 20), cost_usd: null, model: 'pro' },
  ]);
});

verifies('SE-6', 'the figures of several models are reported one by one', () => {
  const models = { pro: figures(150, 100, 40, 30), flash: figures(15, 10, 0, 5) };
  expect(reports({ ...figures(165, 110, 40, 35), models })).toEqual([
    { mode: 'total', usage: usage(60, 40, 30, 20), cost_usd: null, model: 'pro' },
    { mode: 'add', usage: usage(10, 0, 5, 0), cost_usd: null, model: 'flash' },
  ]);
  // Models without all of the figures: only the sum is known.
  expect(reports({ ...figures(200, 110, 40, 35), models })).toHaveLength(1);
});
