import { expect, test } from 'vitest';
import { type Kept, rehearsalPage, rehearsalsModule, withResults } from './kept.ts';
import type { Result } from './matrix.ts';

const kept = (agent: string, version: string, scenarios: Kept['scenarios']): Kept => ({
  agent,
  package: `${agent}-cli`,
  version,
  date: '2026-01-02',
  scenarios,
});
const result = (agent: string, scenario: string, outcome: Result['outcome']): Result => ({
  agent,
  version: '2.0.0',
  scenario,
  outcome,
  reasons: [],
  duration_ms: 1,
  room: null,
});
const pin = (id: string) => ({ id, package: { name: `${id}-cli`, version: '2.0.0' } });
const NOW = { scenarios: ['text', 'read'], date: '2026-03-04' };

test('a rehearsal of one agent replaces only its results, and drops versions without a pin', () => {
  const before = [
    kept('toy', '1.0.0', { text: 'passed' }),
    kept('doll', '2.0.0', { text: 'passed' }),
  ];
  const fresh = [result('toy', 'read', 'passed'), result('toy', 'text', 'left_out')];
  expect(withResults(before, fresh, { pins: [pin('doll'), pin('toy')], ...NOW })).toEqual([
    kept('doll', '2.0.0', { text: 'passed' }),
    { ...kept('toy', '2.0.0', { text: 'left_out', read: 'passed' }), date: '2026-03-04' },
  ]);
});

test('a rehearsal of one scenario keeps the others', () => {
  const before = [kept('toy', '2.0.0', { text: 'passed', read: 'failed' })];
  const [after] = withResults(before, [result('toy', 'read', 'passed')], {
    pins: [pin('toy')],
    ...NOW,
  });
  expect(after?.scenarios).toEqual({ text: 'passed', read: 'passed' });
});

test('the page has a mark for each scenario and the date', () => {
  const both = [
    kept('toy', '1.0.0', { text: 'passed', read: 'failed' }),
    kept('doll', '2.0.0', { text: 'left_out' }),
  ];
  const page = rehearsalPage(both, '<!-- rehearsal:begin --><!-- rehearsal:end -->');
  expect(page.split('\n').slice(2, 7)).toEqual([
    '| scenario | toy 1.0.0  | doll 2.0.0 |',
    '| -------- | ---------- | ---------- |',
    '| text     | ✓          | –          |',
    '| read     | ✗          | –          |',
    '| date     | 2026-01-02 | 2026-01-02 |',
  ]);
});

test('only versions that passed count as rehearsed', () => {
  const text = rehearsalsModule([
    kept('toy', '1.0.0', { text: 'passed', read: 'failed' }),
    kept('doll', '2.0.0', { text: 'passed', read: 'left_out' }),
  ]);
  expect([text.includes("'toy'"), text.includes("'doll'")]).toEqual([false, true]);
});
