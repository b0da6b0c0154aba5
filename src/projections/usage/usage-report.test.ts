import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import type { Usage } from '../../model/parts.ts';
import {
  type CostedRow,
  type UsageReport,
  UsageReportFold,
  type UsageRequest,
  type UsedRun,
} from './usage-report.ts';

/** TZ applies to a whole process: a test worker cannot change its own. */
function inZone<T>(TZ: string, code: string, data: unknown = null): T {
  const from = (file: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, file)));
  const all = `import { mondayOf, PERIODS, shownFrom } from ${from('periods.ts')};
    import { UsageReportFold } from ${from('usage-report.ts')};
    const data = ${JSON.stringify(data)};
    ${code}`;
  const args = ['--input-type=module', '-e', all];
  const options = { encoding: 'utf8', env: { ...process.env, TZ } } as const;
  return JSON.parse(execFileSync(process.execPath, args, options)) as T;
}

/** Days of times. */
const daysIn = (zone: string, ...times: string[]) =>
  inZone<string[]>(
    zone,
    'console.log(JSON.stringify(data.map((at) => PERIODS.day(Date.parse(at)))))',
    times,
  );

const tokens = (given: Partial<Usage>): Usage => ({
  ...{ input: null, output: null, cache_read: null, cache_write: null, reasoning: null },
  ...given,
});

const row = (at: string | null, more: Partial<CostedRow> = {}): CostedRow => ({
  at_ms: at === null ? null : Date.parse(at),
  ...{ model: 'opus', sub_agent: false, tokens: tokens({ input: 10, output: 5 }) },
  ...{ cost_usd: 1, computed_usd: null, cost: 1, source: 'agent' },
  ...more,
});

let count = 0;
const run = (rows: CostedRow[], more: Partial<UsedRun> = {}): UsedRun => ({
  run_id: `run-${++count}`,
  ...{
    started_ms: null,
    agent: 'claude',
    project: '/home/me/shop',
    labels: {},
    success: true,
    finished: true,
    rows,
  },
  ...more,
});

function reportOf(runs: readonly UsedRun[], request: Partial<UsageRequest> = {}) {
  const fold = new UsageReportFold({ by: ['day'], since_ms: null, until_ms: null, ...request });
  for (const one of runs) fold.add(one);
  return fold.report();
}

const brief = ({ groups }: UsageReport) =>
  groups.map(({ keys, runs, cost }) => [...Object.values(keys), runs, cost]);

/** The reports of one run in a zone, by day, week and month. */
const reportsIn = (zone: string, one: UsedRun) =>
  inZone<UsageReport[]>(
    zone,
    `const reports = ['day', 'week', 'month'].map((key) => {
      const fold = new UsageReportFold({ by: [key], since_ms: null, until_ms: null });
      fold.add(data);
      return fold.report();
    });
    console.log(JSON.stringify(reports));`,
    one,
  );

verifies('SE-5', 'usage belongs to the local day on which it happened, in any time zone', () => {
  // Over midnight in New York, on the same day in Tokyo, and continued the next week.
  const session = run([
    row('2026-11-18T04:45:00Z'),
    row('2026-11-18T05:00:00Z', { cost: 2 }),
    row('2026-11-25T20:00:00Z', { cost: 4 }),
  ]);
  const west = reportsIn('America/New_York', session);
  expect(west.map(brief)).toEqual([
    [
      ['2026-11-17', 1, 1],
      ['2026-11-18', 1, 2],
      ['2026-11-25', 1, 4],
    ],
    [
      ['2026-W47', 1, 3],
      ['2026-W48', 1, 4],
    ],
    [['2026-11', 1, 7]],
  ]);
  for (const { total } of west)
    expect(total).toMatchObject({ runs: 1, ok: 1, cost: 7, tokens_total: 45 });
  const [east] = reportsIn('Asia/Tokyo', session).map(brief);
  expect(east).toEqual([
    ['2026-11-18', 1, 3],
    ['2026-11-26', 1, 4],
  ]);
});

test('days of 23 and 25 hours', () => {
  // In Berlin, clocks go forward at 01:00 UTC on 29 March, and back at 01:00 UTC on 25 October.
  const berlin = {
    '2026-03-28T22:45:00Z': '2026-03-28',
    '2026-03-28T23:00:00Z': '2026-03-29',
    '2026-03-29T21:45:00Z': '2026-03-29',
    '2026-03-29T22:00:00Z': '2026-03-30',
    '2026-10-24T22:00:00Z': '2026-10-25',
    '2026-10-25T22:45:00Z': '2026-10-25',
    '2026-10-25T23:00:00Z': '2026-10-26',
  };
  expect(daysIn('Europe/Berlin', ...Object.keys(berlin))).toEqual(Object.values(berlin));
  const new_york = {
    '2026-03-08T04:45:00Z': '2026-03-07',
    '2026-03-08T05:00:00Z': '2026-03-08',
    '2026-03-09T03:45:00Z': '2026-03-08',
    '2026-11-02T04:45:00Z': '2026-11-01',
    '2026-11-02T05:00:00Z': '2026-11-02',
  };
  expect(daysIn('America/New_York', ...Object.keys(new_york))).toEqual(Object.values(new_york));
});

test('weeks at the turn of the year, and the first day of a list', () => {
  const from = (zone: string, now: string) =>
    inZone<string[]>(
      zone,
      `const from = ['day', 'week', 'month'].map((period) => shownFrom(period, Date.parse(data)));
      console.log(JSON.stringify(from.map((at) => new Date(at).toISOString())));`,
      now,
    );
  const weeks = ['2024-12-30', '2025-12-28', '2025-12-29', '2026-12-31', '2027-01-03'];
  const found = inZone<string[][]>(
    'UTC',
    `const weeks = data.map((day) => PERIODS.week(Date.parse(day)));
    console.log(JSON.stringify([weeks, weeks.map(mondayOf)]));`,
    weeks,
  );
  expect(found).toEqual([
    ['2025-W01', '2025-W52', '2026-W01', '2026-W53', '2026-W53'],
    ['12-30', '12-22', '12-29', '12-28', '12-28'],
  ]);
  expect(from('UTC', '2026-11-18T19:00:00Z')).toEqual([
    '2026-10-20T00:00:00.000Z',
    '2026-08-31T00:00:00.000Z',
    '2025-12-01T00:00:00.000Z',
  ]);
  // 29 days earlier, before the clocks went forward.
  expect(from('Europe/Berlin', '2026-04-10T10:00:00Z')[0]).toBe('2026-03-11T23:00:00.000Z');
});

verifies('SE-5', 'a sum counts its unknown parts, and success only of finished runs', () => {
  const at = '2026-11-18T12:00:00Z';
  const none = tokens({});
  const report = reportOf(
    [
      run([row(at)]),
      run([row(at, { cost: 0.1, source: 'computed' }), row(at, { cost: 0.2, source: 'computed' })]),
      run([row(at), row(at, { model: 'new', cost: null, source: 'unknown' })], { success: false }),
      run([row(at, { model: null, tokens: none, cost: null, source: 'unknown' })], {
        success: false,
        finished: false,
      }),
    ],
    { by: ['agent'] },
  );
  expect(report.groups).toEqual([{ keys: { agent: 'claude' }, ...report.total }]);
  expect(report.total).toEqual({
    ...{ runs: 4, ok: 2, unfinished: 1, success_rate: 2 / 3 },
    tokens: { input: 50, output: 25, cache_read: null, cache_write: null, reasoning: null },
    ...{ tokens_total: 75, tokens_unknown_runs: 1 },
    ...{ cost: 2.3, cost_computed: 0.3, cost_unknown_runs: 2, cost_elsewhere_runs: 0 },
  });
  expect(report.unpriced).toEqual([
    { model: 'new', runs: 1, tokens: 15 },
    { model: null, runs: 1, tokens: null },
  ]);
});

test('one cost of a whole run counts once, where it was reported', () => {
  const rows = [
    row('2026-11-18T12:00:00Z', { cost: null, source: 'elsewhere' }),
    row('2026-11-18T12:00:00Z', { model: 'haiku', cost: 3 }),
  ];
  const { groups, total, unpriced } = reportOf([run(rows)], { by: ['model'] });
  expect(groups).toMatchObject([
    { keys: { model: 'haiku' }, cost: 3, cost_elsewhere_runs: 0 },
    { keys: { model: 'opus' }, cost: null, cost_unknown_runs: 0, cost_elsewhere_runs: 1 },
  ]);
  expect(total).toMatchObject({ cost: 3, cost_unknown_runs: 0, cost_elsewhere_runs: 0 });
  expect(unpriced).toEqual([]);
});

test('two keys, labels and roles; a run counts once in each group and once in the total', () => {
  const at = '2026-11-18T12:00:00Z';
  const runs = [
    run([row(at), row(at, { model: 'haiku', sub_agent: true, cost: 3 })], { labels: { ci: 'a' } }),
    run([row(at, { model: 'haiku', cost: 1 })], { agent: 'pi' }),
  ];
  const by = (...keys: string[]) => brief(reportOf(runs, { by: keys }));
  expect(by('model', 'agent')).toEqual([
    ['haiku', 'claude', 1, 3],
    ['haiku', 'pi', 1, 1],
    ['opus', 'claude', 1, 1],
  ]);
  expect(by('label:ci')).toEqual([
    ['a', 1, 4],
    [null, 1, 1],
  ]);
  expect(by('label:constructor')).toEqual([[null, 2, 5]]);
  expect(by('role')).toEqual([
    ['sub-agents', 1, 3],
    ['main', 2, 2],
  ]);
  expect(reportOf(runs, { by: ['model'] }).total).toMatchObject({ runs: 2, cost: 5 });
});

test('a requested time begins with its quarter of an hour, and excludes usage without a time', () => {
  const runs = [
    run([row('2026-11-18T11:45:00Z'), row('2026-11-18T12:00:00Z', { cost: 2 })]),
    run([row(null, { cost: 4 })]),
    run([row(null, { cost: 8 })], { started_ms: Date.parse('2026-11-18T12:20:00Z') }),
  ];
  const since_ms = Date.parse('2026-11-18T12:07:00Z');
  const later = reportOf(runs, { since_ms });
  expect([later.total.cost, later.without_time_runs]).toEqual([10, 1]);
  const before = reportOf(runs, { until_ms: Date.parse('2026-11-18T12:00:00Z') });
  expect([before.total.cost, before.without_time_runs]).toEqual([1, 1]);
  const all = reportOf(runs);
  expect([all.total.cost, all.without_time_runs]).toEqual([15, 0]);
  expect(all.groups.at(-1)?.keys).toEqual({ day: null });
});
