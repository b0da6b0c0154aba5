import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { createColours } from '../../lib/colours.ts';
import { columns } from '../../lib/terminal-text.ts';
import type { UsageReport, UsageSums } from '../../projections/usage/usage-report.ts';
import { rangeText, usageText } from './text.ts';

const sums = (cost: number | null, more: Partial<UsageSums> = {}): UsageSums => ({
  ...{ runs: 12, ok: 11, unfinished: 0, success_rate: 11 / 12 },
  tokens: {
    input: 1_234_567,
    output: 987_654,
    cache_read: 104.2e6,
    cache_write: 5.5e6,
    reasoning: 0,
  },
  ...{ tokens_total: 111_922_221, tokens_unknown_runs: 0 },
  ...{ cost, cost_computed: 0, cost_unknown_runs: 0, cost_elsewhere_runs: 0 },
  ...more,
});

const day = (name: string | null, ...of: Parameters<typeof sums>) => ({
  keys: { day: name },
  ...sums(...of),
});

const REPORT: UsageReport = {
  by: ['day'],
  since_ms: new Date(2026, 9, 20).getTime(),
  until_ms: null,
  groups: [
    day('2026-11-16', 12.4, { cost_unknown_runs: 3 }),
    day('2026-11-17', 123.456, { cost_computed: 100 }),
    day('2026-11-18', 0.001, { success_rate: null, unfinished: 12 }),
    day(null, null, {
      cost_unknown_runs: 12,
      tokens_total: null,
      tokens: { input: null, output: null, cache_read: null, cache_write: null, reasoning: null },
    }),
  ],
  total: sums(135.857, { runs: 48, unfinished: 12, cost_computed: 100, cost_unknown_runs: 15 }),
  unpriced: [
    { model: 'new-model\u001b[2J', runs: 3, tokens: 1_200_000 },
    { model: null, runs: 12, tokens: null },
  ],
  without_time_runs: 1,
};

const style = (width: number | null, colour = false) => ({
  ...{ colour: createColours(colour), unicode: width !== null, width: width ?? 100 },
  columns: width,
  prices_file: '/home/me/.config/tacho/tacho.yaml',
});
const linesOf = (report: UsageReport, width: number | null) =>
  usageText(report, style(width)).split('\n');

verifies(
  'SE-5',
  'the table fits 80 columns, with bars, aligned figures and the unknown part',
  () => {
    const lines = linesOf(REPORT, 80);
    expect(lines.map(columns).filter((width) => width > 80)).toEqual([]);
    expect(lines.slice(0, 6)).toEqual([
      'DAY         RUNS   OK  INPUT  CACHED  OUTPUT      COST',
      '2026-11-16    12  92%   1.2M  109.7M  987.7k    $12.40, 3 runs unknown   █',
      '2026-11-17    12  92%   1.2M  109.7M  987.7k  ~$123.46                   ███████',
      '2026-11-18    12    -   1.2M  109.7M  987.7k    <$0.01                   █',
      'unknown       12  92%      -       -       -   unknown',
      'total         48  92%   1.2M  109.7M  987.7k  ~$135.86, 15 runs unknown',
    ]);
  },
);

test('a wide terminal has more columns, a narrow one fewer; a pipe has all, whole', () => {
  const wide = linesOf(REPORT, 200);
  expect(wide[0]).toMatch(/CACHE READ {2}CACHE WRITTEN {2}OUTPUT {2}TOKENS +COST +BY COST$/);
  expect(wide[1]).toContain(' 104.2M           5.5M  987.7k  111.9M ');
  for (const width of [40, 60, 80, 109, 110, 120]) {
    const lines = linesOf(REPORT, width).slice(0, 6);
    expect(lines.filter((line) => columns(line) > width)).toEqual([]);
    expect(lines[5]).toContain('~$135.86, 15 runs unknown');
  }
  const long = 'm'.repeat(90);
  const model: UsageReport = {
    ...REPORT,
    by: ['model', 'day'],
    groups: [{ ...sums(1), keys: { model: long, day: null } }],
  };
  expect(linesOf(model, null)[1]).toContain(`${long}  unknown`);
  expect(linesOf(model, 80)[1]).toMatch(/^m+… {2}unknown /);
});

test('notes list the time, the unknown parts and the models without a price', () => {
  const text = linesOf(REPORT, 80).slice(6).join('\n');
  expect(text).toContain('Usage from 2026-10-20 on, in local time.\n');
  expect(text).toContain('OK does not count 12 runs without an end.\n');
  expect(text).toContain('1 run with usage at an unknown time: not included.\n');
  expect(text).toMatch(/^ {2}new-model\S* {2}3 runs {2}1\.2M tokens$/m);
  expect(text).toContain(
    '/home/me/.config/tacho/tacho.yaml:\n  prices: # dollars per million tokens\n    "new-model',
  );
  expect(text).not.toContain('\u001b');
  const until_ms = new Date(2026, 10, 19).getTime();
  expect(rangeText({ since_ms: null, until_ms })).toBe('to 2026-11-18');
});

test('a cost that is in another line is neither 0 nor unknown', () => {
  const groups = [day('a', null, { cost_elsewhere_runs: 12 }), day('b', 2)];
  const lines = linesOf({ ...REPORT, groups }, 80);
  expect(lines[1]).toMatch(/ -$/);
  expect(lines.join('\n')).toContain('Some agents report one cost per run');
});

test('projects with the same name are shown with their paths', () => {
  const report = (...paths: string[]): UsageReport => ({
    ...REPORT,
    by: ['project'],
    groups: paths.map((project) => ({ ...sums(1), keys: { project } })),
  });
  const first = (...paths: string[]) =>
    linesOf(report(...paths), null)
      .slice(1, 1 + paths.length)
      .map((line) => line.split(' ')[0]);
  expect(first('/a/shop', '/a/site')).toEqual(['shop', 'site']);
  expect(first('/a/shop', '/b/shop', '/b/site')).toEqual(['/a/shop', '/b/shop', 'site']);
});

test('without any cost, bars show the tokens; a single line has none', () => {
  const without = { ...REPORT, groups: [day('a', null), day('b', null, { tokens_total: 5 })] };
  const [head, a, b] = linesOf(without, 120);
  expect(head).toMatch(/BY TOKENS$/);
  expect([a, b].map((line) => line?.match(/█+$/)?.[0].length)).toEqual([20, 1]);
  expect(linesOf({ ...REPORT, groups: [day('a', 5)] }, 120)[1]).not.toContain('█');
});
