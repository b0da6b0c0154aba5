import { expect, test } from 'vitest';
import { createMaker } from '../../test/build-events.ts';
import type { DataOf } from '../model/event.ts';
import { USAGE_PERIOD_MS, type UsageRow } from '../model/usage.ts';
import { PROJECTION_LIMITS } from './limits.ts';
import { createOutcomeFold, measuredBy } from './outcome.ts';

const START = Date.UTC(2026, 10, 18, 23, 30);
const NEXT_DAY = START + 3 * USAGE_PERIOD_MS;
const NOTHING = { output: null, cache_read: null, cache_write: null, reasoning: null };

type Report = Partial<Omit<DataOf<'usage_reported'>, 'usage'>> & { at_ms?: number; input?: number };

/** The rows of a run with these reports: input tokens and dollars, by time and model. */
function rows(...reports: Report[]): readonly UsageRow[] {
  const make = createMaker();
  const fold = createOutcomeFold({ keepIo: false });
  fold.push(make('run_started', { model: null }, { at_ms: START }));
  fold.push(make('session_started', { model: 'main' }, { at_ms: START }));
  let at = START;
  for (const { at_ms = at, input = null, ...data } of reports) {
    at = at_ms;
    const usage = { ...NOTHING, input };
    fold.push(
      make(
        'usage_reported',
        { mode: 'add', cost_usd: null, model: null, ...data, usage },
        { at_ms },
      ),
    );
  }
  const { outcome, usage } = measuredBy(fold);
  const [input, cost] = totalOf(usage);
  expect(input).toBe(outcome.metrics.tokens.input);
  expect(cost ?? -1).toBeCloseTo(outcome.metrics.cost ?? -1, 9);
  return usage;
}

function totalOf(usage: readonly UsageRow[]) {
  const sum = (figures: (number | null)[]) => {
    const known = figures.filter((figure) => figure !== null);
    return known.length === 0 ? null : known.reduce((a, b) => a + b);
  };
  return [sum(usage.map(({ tokens }) => tokens.input)), sum(usage.map((row) => row.cost_usd))];
}

const brief = (usage: readonly UsageRow[]) =>
  usage.map(({ at_ms, model, sub_agent, tokens, cost_usd }) =>
    [
      at_ms === null ? '?' : at_ms - START,
      model,
      sub_agent ? 'sub' : 'root',
      tokens.input,
      cost_usd,
    ].join(' '),
  );

test('reports are added up by quarter of an hour, model and kind of agent', () => {
  const found = rows(
    { at_ms: START + 5, input: 1 },
    { at_ms: START + 6, input: 2, model: 'main', cost_usd: 0.5 },
    { at_ms: START + 7, input: 4, model: 'other' },
    { at_ms: NEXT_DAY + 1, input: 8, parent_call_id: 'c1', model: 'small' },
    { at_ms: NEXT_DAY + 2, input: 16, parent_call_id: 'c2' },
  );
  expect(brief(found)).toEqual([
    '0 main root 3 0.5',
    '0 other root 4 ',
    `${NEXT_DAY - START} small sub 8 `,
    `${NEXT_DAY - START}  sub 16 `,
  ]);
});

test('a total keeps the rows that explain a part of it, and the rest has its own time and model', () => {
  const found = rows(
    { input: 10 },
    { at_ms: NEXT_DAY, input: 15, mode: 'total', model: 'big', cost_usd: 2 },
  );
  expect(brief(found)).toEqual(['0 main root 10 ', `${NEXT_DAY - START} big root 5 2`]);
  const equal = rows(
    { input: 10, cost_usd: 0.1 },
    { input: 5, cost_usd: 0.2 },
    {
      input: 15,
      cost_usd: 0.3,
      mode: 'total',
      at_ms: NEXT_DAY,
    },
  );
  expect(equal).toHaveLength(1);
});

test('a total that is smaller than what was reported replaces it', () => {
  const found = rows({ input: 10 }, { at_ms: NEXT_DAY, input: 9, mode: 'total' }, { input: 1 });
  expect(brief(found)).toEqual([`${NEXT_DAY - START} main root 10 `]);
});

test('figures that a total lacks are unknown', () => {
  const found = rows({ input: 10, cost_usd: 1 }, { mode: 'total', cost_usd: 1 });
  expect(brief(found)).toEqual(['0 main root  1']);
});

test('a run without usage has one row of unknown figures', () => {
  expect(brief(rows())).toEqual(['0 main root  ']);
});

test('the number of rows and the length of names are limited, and nothing is lost', () => {
  const many = PROJECTION_LIMITS.usage_rows_max + 10;
  const found = rows(...Array.from({ length: many }, (_, n) => ({ input: 1, model: `m${n}` })));
  expect(found).toHaveLength(PROJECTION_LIMITS.usage_rows_max + 1);
  expect(totalOf(found)[0]).toBe(many);
  const [row] = rows({ input: 1, model: 'x'.repeat(10_000) });
  expect(row?.model).toHaveLength(PROJECTION_LIMITS.usage_model_chars);
});
