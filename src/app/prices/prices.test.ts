import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { allAgents } from '../../agents/registry.ts';
import { Report } from '../../lib/schema/mistakes.ts';
import { readYaml } from '../../lib/schema/yaml.ts';
import type { Pricing } from '../../model/agent.ts';
import type { Usage } from '../../model/parts.ts';
import type { MeasuredRun, UsageRow } from '../../model/usage.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { type OwnPrices, ownPrices } from '../config/prices.ts';
import { withCost } from './costs.ts';
import { openPrices, PRICE_LIST, priceId } from './price-list.ts';
import { followPrices } from './price-runs.ts';

const NOTHING: Usage = {
  input: null,
  output: null,
  cache_read: null,
  cache_write: null,
  reasoning: null,
};
const IN_OUTPUT: Pricing = { provider: null, reasoning: 'in_output', needs: ['input', 'output'] };
const RUN = 'r_a0000000000000000000000000';

function runWith(rows: readonly Partial<UsageRow>[], cost: number | null = null): MeasuredRun {
  const usage = rows.map((row) => ({
    at_ms: Date.UTC(2026, 9, 1),
    model: null,
    sub_agent: false,
    tokens: NOTHING,
    cost_usd: null,
    computed_usd: null,
    ...row,
  }));
  const empty = createOutcomeFold({ keepIo: false }).finish();
  const names = Object.keys(NOTHING) as (keyof Usage)[];
  const tokens = Object.fromEntries(
    names.map((name) => {
      const known = usage.flatMap((row) => row.tokens[name] ?? []);
      return [name, known.length === 0 ? null : known.reduce((a, b) => a + b)];
    }),
  ) as unknown as Usage;
  const tokens_used = (tokens.input ?? 0) + (tokens.output ?? 0) + (tokens.cache_read ?? 0);
  const metrics = { ...empty.metrics, tokens, tokens_used, cost };
  const cost_source = cost === null ? ('unknown' as const) : ('agent' as const);
  const outcome = { ...empty, run_id: RUN, agent: 'demo', metrics: { ...metrics, cost_source } };
  return { outcome, usage };
}

const figures = ({ outcome, usage }: MeasuredRun) => [
  outcome.metrics.cost === null ? null : Number(outcome.metrics.cost.toFixed(9)),
  outcome.metrics.cost_source,
  usage.map(({ computed_usd }) => computed_usd && Number(computed_usd.toFixed(9))),
];

const TOKENS = {
  input: 1_000_000,
  output: 100_000,
  cache_read: 2_000_000,
  cache_write: 0,
  reasoning: 50_000,
};

verifies('SE-6', 'the cost is computed from the tokens of each model and its price', async () => {
  const prices = await openPrices([]);
  // gpt-5: $1.25 in, $10 out, $0.125 cached. gemini-2.5-pro: $1.25, $10, $0.125.
  const codex: Pricing = { provider: 'openai', reasoning: 'in_output', needs: ['input', 'output'] };
  const gemini: Pricing = {
    provider: 'google',
    reasoning: 'beside',
    needs: ['input', 'reasoning'],
  };
  const one = (model: string, pricing: Pricing) =>
    figures(withCost(runWith([{ model, tokens: TOKENS }]), pricing, prices));
  expect(one('gpt-5', codex)).toEqual([1.25 + 1 + 0.25, 'computed', [2.5]]);
  expect(one('gemini-2.5-pro', gemini)).toEqual([1.25 + 1.5 + 0.25, 'computed', [3]]);
  // Cache writes of Anthropic cost more than input: $3 in, $15 out, $0.30 read, $3.75 written.
  const written = {
    ...NOTHING,
    input: 1_000,
    output: 1_000,
    cache_read: 10_000,
    cache_write: 4_000,
  };
  const claude = withCost(
    runWith([{ model: 'claude-sonnet-4.5', tokens: written }]),
    IN_OUTPUT,
    prices,
  );
  expect(figures(claude)).toEqual([0.003 + 0.015 + 0.003 + 0.015, 'computed', [0.036]]);
  // A million tokens are many requests: the price of one long request does not apply.
  expect(one('claude-sonnet-4.5', IN_OUTPUT)[0]).toBe(3 + 1.5 + 0.6);
});

verifies('SE-6', 'a run with any unknown price or figure has an unknown cost', async () => {
  const prices = await openPrices([]);
  const known = { model: 'gpt-5', tokens: { ...NOTHING, input: 1_000_000, output: 0 } };
  const cost = (rows: Partial<UsageRow>[], pricing = IN_OUTPUT) =>
    figures(withCost(runWith(rows), pricing, prices));
  expect(cost([known])).toEqual([1.25, 'computed', [1.25]]);
  expect(cost([known, { ...known, model: 'mock-model' }])).toEqual([null, 'unknown', [1.25, null]]);
  expect(cost([known, { ...known, model: null }])[1]).toBe('unknown');
  expect(cost([known], { ...IN_OUTPUT, needs: ['input', 'cache_read'] })).toEqual([
    null,
    'unknown',
    [null],
  ]);
  expect(cost([{ model: 'gpt-5' }])[1]).toBe('unknown');
  expect(cost([])[1]).toBe('unknown');
  // Nothing was used, so no price is needed.
  expect(cost([{ model: 'mock-model', tokens: { ...NOTHING, input: 0, output: 0 } }])).toEqual([
    0,
    'computed',
    [0],
  ]);
});

verifies('SE-6', 'the figure of the agent is never replaced', async () => {
  const run = runWith([{ model: 'gpt-5', tokens: TOKENS }], 7);
  expect(withCost(run, IN_OUTPUT, await openPrices([]))).toBe(run);
});

describe('prices of models', () => {
  test('are found by the names that agents use', async () => {
    const prices = await openPrices([]);
    const input = (model: string, provider: string | null = null) =>
      prices.of(model, provider, Date.UTC(2026, 9, 1))?.input ?? null;
    expect(input('gpt-5-codex', 'openai')).toBe(1.25);
    expect(input('claude-sonnet-4.5')).toBe(3);
    expect(input('claude-sonnet-4-5-20250929', 'anthropic')).toBe(3);
    expect(input('claude-sonnet-4-5[1m]', 'anthropic')).toBe(3);
    expect(input('anthropic/claude-sonnet-4.5')).toBe(3);
    expect(input('openrouter/anthropic/claude-sonnet-4.5')).toBe(3);
    expect(input('google/gemini-2.5-pro')).toBe(1.25);
    // A model of another provider, behind this agent's own.
    expect(input('deepseek-chat', 'openai')).toBeGreaterThan(0);
    for (const name of ['mock-model', '', 'gpt-99-nothing', 'a/b/c', '__proto__', 'constructor'])
      expect(input(name, 'openai'), name).toBe(null);
  });

  test('of the user come first: exact names, then patterns in their order', async () => {
    const price = (input: number) => ({ input, output: 1, cache_read: 1, cache_write: 1 });
    const own: OwnPrices = [
      { name: 'qwen3-*', price: price(1) },
      { name: '*', price: price(2) },
      { name: 'gpt-5', price: price(3) },
    ];
    const prices = await openPrices(own);
    const input = (model: string) => prices.of(model, 'openai', null)?.input;
    expect(['qwen3-coder', 'gpt-5', 'other'].map(input)).toEqual([1, 3, 2]);
    expect(priceId(own)).not.toBe(priceId([]));
  });

  test('the version is the installed one, and the date is a day', () => {
    const path = join(
      import.meta.dirname,
      '../../../node_modules/@pydantic/genai-prices/package.json',
    );
    expect(JSON.parse(readFileSync(path, 'utf8')).version).toBe(PRICE_LIST.version);
    expect(new Date(PRICE_LIST.date).toISOString()).toMatch(PRICE_LIST.date);
  });
});

/** Reads this content of `prices:`; throws the mistakes in it. */
function read(text: string) {
  const report = new Report('config');
  const yaml = readYaml('tacho.yaml', text);
  const found = ownPrices(yaml.value, report.open(yaml));
  report.end();
  return found;
}

test('prices in tacho.yaml are dollars per million tokens; a mistake has its place', () => {
  expect(read('"qwen3-*": { input: 0.5, output: 2 }')).toEqual([
    { name: 'qwen3-*', price: { input: 0.5, output: 2, cache_read: 0.5, cache_write: 0.5 } },
  ]);
  expect(() => read('a: { input: 1 }')).toThrow(/tacho\.yaml:1:.*lacks the field output/);
  expect(() => read('a: { input: -1, output: 1 }')).toThrow(/must be a number of at least 0/);
  expect(() => read('a: { input: 1, output: 1, cached: 1 }')).toThrow(/unknown field/);
  expect(() => read('"*********": { input: 1, output: 1 }')).toThrow('more than 7 stars');
});

verifies(
  'SE-6',
  'costs in the index follow the list of prices, except those of agents',
  async () => {
    const tokens = { ...NOTHING, input: 1_000_000, output: 0 };
    const state = openStateDir(join(testFolder(), 'state'));
    using index = openIndex(state);
    const unknown = runWith([{ model: 'own-model', tokens }]);
    const other = runWith([{ model: 'own-model', tokens }], 9);
    const second = { ...other, outcome: { ...other.outcome, run_id: `${RUN.slice(0, -1)}1` } };
    index.saveRuns([unknown, second]);
    const config = testFolder();
    vi.stubEnv('XDG_CONFIG_HOME', config);
    mkdirSync(join(config, 'tacho'));
    const setPrice = (input: number) =>
      writeFileSync(
        join(config, 'tacho', 'tacho.yaml'),
        `prices: { "own-*": { input: ${input}, output: 0 } }`,
        { mode: 0o600 },
      );
    const costs = () =>
      [...index.usage()].map((row) => [row.run_cost, row.run_cost_source, row.computed_usd]);
    try {
      for (const price of [3, 40, 5]) {
        setPrice(price);
        await followPrices(index);
        expect(costs()).toEqual([
          [price, 'computed', price],
          [9, 'agent', null],
        ]);
        expect(index.getRun(RUN)?.metrics).toMatchObject({ cost: price, cost_source: 'computed' });
      }
      rmSync(join(config, 'tacho'), { recursive: true });
      await followPrices(index);
      expect(costs()[0]).toEqual([null, 'unknown', null]);
      expect(index.getRun(RUN)?.metrics).toMatchObject({ cost: null, cost_source: 'unknown' });
    } finally {
      vi.unstubAllEnvs();
    }
  },
);

test('every agent that reports tokens but no cost declares how its tokens are priced', async () => {
  const lacking = (await allAgents()).filter(
    ({ capabilities, pricing }) =>
      capabilities.usage !== 'never' && capabilities.cost === 'never' && pricing === undefined,
  );
  expect(lacking.map(({ id }) => id)).toEqual([]);
});
