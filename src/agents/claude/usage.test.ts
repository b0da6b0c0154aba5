import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import type { Draft } from '../../model/draft.ts';
import { claude } from './index.ts';

const ID = '11111111-2222-4333-8444-555555555555';
const own = (day: number) => ({ sessionId: ID, timestamp: `2026-01-0${day}T00:00:00.000Z` });

const prompt = (day: number) => ({
  ...own(day),
  type: 'user',
  message: { role: 'user', content: `prompt of day ${day}` },
});
/** A message with 100 tokens of input. */
const answer = (day: number) => ({
  ...own(day),
  type: 'assistant',
  requestRef: `r${day}`,
  message: {
    id: `m${day}`,
    role: 'assistant',
    model: 'big',
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: 'done' }],
    usage: { input_tokens: 100, output_tokens: 7 },
  },
});
/** The figures of all runs so far. */
const paid = (cost: number, input: number) => ({
  type: 'cost-state',
  sessionId: ID,
  totalCostUSD: cost,
  modelUsage: { big: { inputTokens: input, outputTokens: 1, costUSD: cost } },
});

function reports(records: readonly object[], all_runs: boolean) {
  const decoder = claude.session?.decoder({ all_runs });
  const drafts: Draft[] = [];
  for (const record of records) decoder?.record(record, drafts);
  decoder?.end(drafts);
  return drafts.flatMap((draft) => (draft.kind === 'usage_reported' ? [draft] : []));
}

function total(records: readonly object[], all_runs: boolean) {
  const last = reports(records, all_runs).at(-1)?.data;
  return [last?.mode, last?.usage.input, last?.cost_usd];
}

const TWICE = [prompt(1), answer(1), paid(0.5, 400), prompt(2), answer(2), paid(0.75, 500)];

verifies('SE-6', 'an import counts all runs of a session; otherwise the last one counts', () => {
  expect([total(TWICE, true), total(TWICE, false)]).toEqual([
    ['total', 500, 0.75],
    ['total', 100, 0.25],
  ]);
});

verifies('SE-6', 'a run without its own figures makes the cost unknown, not the tokens', () => {
  expect(total([...TWICE, prompt(3), answer(3)], true)).toEqual(['total', 600, null]);
});

verifies('SE-6', 'a fork counts only its own messages, in all of its runs', () => {
  const head = { ...own(4), type: 'queue-operation', operation: 'enqueue' };
  const copied = [prompt(1), answer(1)];
  const first = [prompt(4), answer(4), paid(0.9, 700)];
  const second = [prompt(5), answer(5), paid(1, 900)];
  expect(total([head, ...copied, ...first, ...second], true)).toEqual(['total', 200, null]);
});

verifies('SE-6', 'each message is reported with its time and model', () => {
  const added = reports(TWICE, true).filter(({ data }) => data.mode === 'add');
  expect(added.map(({ at_ms, data }) => [at_ms, data.mode, data.model, data.usage.input])).toEqual([
    [Date.parse(own(1).timestamp), 'add', 'big', 100],
    [Date.parse(own(2).timestamp), 'add', 'big', 100],
  ]);
});

verifies('SE-6', 'the cost of each run of a session is reported where the run ended', () => {
  const all = reports(TWICE, true).map(({ data }) => [data.mode, data.usage.input, data.cost_usd]);
  expect(all).toEqual([
    ['add', 100, null],
    ['total', 400, 0.5],
    ['add', 100, null],
    ['total', 500, 0.75],
    ['total', 500, 0.75],
  ]);
});
