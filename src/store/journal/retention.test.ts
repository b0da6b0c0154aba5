import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import type { WeighedRun } from '../index/runs-table.ts';
import { planRemoval, type RetentionPolicy } from './retention.ts';

const NOW = Date.UTC(2026, 10, 15);
const DAY = 86_400_000;

const run = (name: string, days: number, more: Partial<WeighedRun> = {}): WeighedRun => ({
  run_id: name,
  agent: 'one',
  started_ms: NOW - days * DAY,
  finished_ms: NOW - days * DAY,
  success: true,
  exit_reason: 'ok',
  project: null,
  labels: {},
  bytes: 100,
  ...more,
});

const FAILED = { success: false, exit_reason: 'agent_error' } as const;

/** Newest first. */
const RUNS = [
  run('a', 1, { project: '/w/one' }),
  run('b', 2, { ...FAILED, project: '/w/one/packages/b' }),
  run('c', 3, { agent: 'two', project: '/w/one-more' }),
  run('d', 40, { labels: { phase: 'plan' } }),
  run('e', 50, FAILED),
  run('f', 60, { success: false, exit_reason: 'timeout', agent: 'two' }),
  run('g', 70, { started_ms: null, finished_ms: null }),
];

const policy = (more: Partial<RetentionPolicy>): RetentionPolicy => ({
  name: 'p',
  agent: null,
  status: null,
  project: null,
  labels: {},
  age_ms_max: null,
  runs_max: null,
  bytes_max: null,
  keep_failed: false,
  keep_successful: false,
  archive: true,
  ...more,
});

const leaving = (...policies: Partial<RetentionPolicy>[]) =>
  planRemoval(() => RUNS, policies.map(policy), NOW);
const names = (...policies: Partial<RetentionPolicy>[]) =>
  leaving(...policies)
    .map(({ run }) => run.run_id)
    .join('');

describe('runs that a policy removes', () => {
  const month = { age_ms_max: 30 * DAY };
  verifies('ST-5', 'by age, count, size, status, agent, label and project', () => {
    expect(names(month)).toBe('def');
    expect(names({ runs_max: 3 })).toBe('defg');
    expect(names({ bytes_max: 250 })).toBe('cdefg');
    expect(names({ ...month, status: 'failed' })).toBe('ef');
    expect(names({ ...month, status: 'timeout' })).toBe('f');
    expect(names({ ...month, status: 'ok' })).toBe('d');
    expect(names({ runs_max: 1, agent: 'two' })).toBe('f');
    expect(names({ runs_max: 0, labels: { phase: 'plan' } })).toBe('d');
    expect(names({ runs_max: 0, labels: { phase: 'build' } })).toBe('');
    expect(names({ runs_max: 0, labels: { phase: null } })).toBe('d');
    expect(names({ runs_max: 0, project: '/w/one' })).toBe('ab');
    expect(names({ runs_max: 0, project: '/' })).toBe('abc');
  });

  verifies('ST-5', 'keep rules are honoured, and kept runs do not count', () => {
    expect(names({ ...month, keep_failed: true })).toBe('d');
    expect(names({ ...month, keep_successful: true })).toBe('ef');
    expect(names({ runs_max: 2, keep_failed: true })).toBe('dg');
    expect(names({ runs_max: 0, keep_failed: true, keep_successful: true })).toBe('');
  });

  test('any of several policies removes a run, and one that archives is enough', () => {
    const both = leaving({ ...month, archive: false }, { name: 'q', runs_max: 5, archive: true });
    expect(both.map(({ run, why, archive }) => [run.run_id, why, archive])).toEqual([
      ['d', 'p: max_age', false],
      ['e', 'p: max_age', false],
      ['f', 'p: max_age', true],
      ['g', 'q: max_runs', true],
    ]);
  });

  test('a run without a known time has no age', () => {
    expect(names({ age_ms_max: 0 })).toBe('abcdef');
  });
});
