import { expect, test } from 'vitest';
import type { StatedRun } from '../../app/runs/unfinished.ts';
import { createColours } from '../../lib/colours.ts';
import { columns } from '../../lib/terminal-text.ts';
import { type ListStyle, listLines } from './list-text.ts';

const NOW = Date.UTC(2026, 10, 15, 12);

const row = (at: number, more: Partial<StatedRun> = {}): StatedRun => ({
  run_id: `r_01m7fgt0m${at}fsq17ftyqkm6nvh8`,
  agent: 'demo',
  session_id: null,
  model: null,
  started_ms: NOW - at * 60_000,
  finished_ms: NOW - at * 60_000 + 1500,
  success: true,
  exit_reason: 'ok',
  cost: 0.0105,
  cost_source: 'agent',
  tokens: null,
  steps: 1,
  tool_calls: 3,
  failed_calls: 0,
  denied_calls: 0,
  project: '/home/user/shop',
  project_remote: null,
  prompt: 'try it',
  labels: {},
  unfinished: null,
  ...more,
});

const ROWS = [
  row(1, { prompt: 'Fix the failing test in the greeting script,\nthen write a README' }),
  row(2, { cost: null, agent: 'claude', exit_reason: 'provider_error', success: false }),
  row(3, {
    prompt: '挨拶スクリプトの失敗したテストを直して、READMEを書いてください',
    denied_calls: 2,
  }),
  row(4, { tool_calls: 1234, failed_calls: 56, cost: 12.5, model: 'claude-opus-5-5' }),
  row(5, { started_ms: null, finished_ms: null, failed_calls: null, prompt: null }),
  row(6, { project: '/home/user/a-project-with-a-long-name', started_ms: NOW - 400 * 86_400_000 }),
];

function lines(width: number | null, more: Partial<ListStyle> = {}, rows = ROWS): string[] {
  const colour = createColours(false);
  const style = { colour, unicode: true, width: width ?? 100, columns: width, now_ms: NOW };
  return [...listLines(rows, { ...style, ...more })].map((line) => line.slice(0, -1));
}

const headOf = (text: string | undefined) => (text ?? '').split(/ {2,}/);

test.each([40, 80, 200])('a run is one line at %i columns, aligned with the header', (width) => {
  for (const unicode of [true, false]) {
    const shown = lines(width, { unicode });
    expect(shown).toHaveLength(ROWS.length + 1);
    for (const line of shown) {
      expect(line).not.toMatch(/[\n\r]/);
      expect(columns(line)).toBeLessThanOrEqual(width);
    }
  }
});

test('80 columns have room for the project if there are several; 200 for more', () => {
  const narrow = headOf(lines(80)[0]);
  expect(narrow[1]).toMatch(/^TIME (UTC|[+-]\d\d:\d\d)$/);
  expect(narrow.filter((head) => !head.startsWith('TIME'))).toEqual([
    'RUN',
    'AGENT',
    'STATUS',
    'PROJECT',
    'PROMPT',
  ]);
  const one = headOf(lines(80, {}, [row(1), row(2)])[0]);
  expect(one.slice(2)).toEqual(['AGENT', 'STATUS', 'CALLS', 'TOOK', 'COST', 'PROMPT']);
  expect(lines(80)[2]).toContain('provider_error');
  const free = headOf(lines(80, {}, [row(1, { cost: null }), row(2, { cost: null })])[0]);
  expect(free).not.toContain('COST');
  const wide = headOf(lines(200)[0]).join(' ');
  expect(wide).toMatch(
    /^RUN TIME \S+ AGENT STATUS CALLS FAILED DENIED TOOK COST MODEL PROJECT PROMPT$/,
  );
});

test('cells are aligned, even if the cost is unknown', () => {
  const [head = '', ...shown] = lines(200);
  const cost = head.indexOf('COST') + 'COST'.length;
  const prompt = head.indexOf('PROMPT');
  expect(shown.map((line) => line.slice(0, cost).split(' ').at(-1))).toEqual([
    '$0.0105',
    '-',
    '$0.0105',
    '$12.50',
    '$0.0105',
    '$0.0105',
  ]);
  expect(shown[1]?.slice(prompt)).toBe('try it');
  expect(shown[2]?.slice(prompt)).toMatch(/^挨拶/);
});

test('in a pipe every cell is whole, so that grep finds it', () => {
  const long = 'word '.repeat(90).trim();
  const [, first] = lines(null, {}, [row(1, { prompt: `${long}\nlast words` })]);
  expect(first?.endsWith(`${long} last words`)).toBe(true);
  expect(lines(null)[6]).toContain('a-project-with-a-long-name');
});

test('ids are longer if two rows have the same prefix', () => {
  const same = [row(1), row(1, { run_id: 'r_01m7fgt0m1fsq17ftyqkm6nvh9' })];
  const ids = lines(80, {}, same).map((line) => line.split(' ')[0]);
  expect(ids.slice(1)).toEqual(['01m7fgt0m1fsq17ftyqkm6nvh8', '01m7fgt0m1fsq17ftyqkm6nvh9']);
});

test('the status has a colour: green, yellow for cancelled, red for every other end', () => {
  const rows = [
    row(1),
    row(2, { success: false, exit_reason: 'cancelled' }),
    row(3, { success: false, exit_reason: 'timeout' }),
  ];
  const shown = lines(80, { colour: createColours(true) }, rows).slice(1);
  const codes = shown.map((line) => /\u001b\[(3[123])m(?:ok|cancelled|timeout)/.exec(line)?.[1]);
  expect(codes).toEqual(['32', '33', '31']);
});

test('a list of no runs has no header', () => {
  expect(lines(80, {}, [])).toEqual([]);
});

test('a long list keeps the widths of its first page', () => {
  const rows = Array.from({ length: 450 }, (_, at) => row(100 + at, { agent: 'demo' }));
  rows.push(row(999, { agent: 'a-very-long-agent', tool_calls: 1_000_000 }));
  const shown = lines(80, {}, rows);
  expect(shown).toHaveLength(452);
  for (const line of shown) expect(columns(line)).toBeLessThanOrEqual(80);
});
