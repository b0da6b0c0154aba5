import { describe, expect, test } from 'vitest';
import { CONFIG, createMaker } from '../../test/build-events.ts';
import type { Event } from '../model/event.ts';
import { FAIL_ON } from '../model/words.ts';
import { caughtBy } from './fail-on.ts';
import { PROJECTION_LIMITS } from './limits.ts';
import { createOutcomeFold } from './outcome.ts';
import { callName, RunReportFold } from './run-report.ts';

function reportOf(events: readonly Event[]) {
  const fold = new RunReportFold();
  fold.push(events);
  return fold.finish();
}

const COMPLETE = { grade: 'complete' as const, gaps: [], filled: [] };

describe('the report of a run', () => {
  const make = createMaker();
  const bash = (call_id: string, command: string) =>
    make('call_requested', { call_id, input: { command } });
  const report = reportOf([
    make('run_started'),
    bash('c1', 'node\n  test.js'),
    make('call_decided', { call_id: 'c1', decision: 'deny', reason: 'requires approval' }),
    make('call_finished', { call_id: 'c1', status: 'denied', exit_code: null }),
    make('call_requested', {
      call_id: 'c2',
      tool: 'Read',
      input: { file_path: '/home/user/project/a.txt' },
    }),
    make('permission_asked', { call_id: 'c2' }),
    make('call_finished', {
      call_id: 'c2',
      tool: 'Read',
      status: 'error',
      output: '\n<e>no such</e>\n',
    }),
    bash('c5', `npm test ${'x'.repeat(400)}`),
    make('call_finished', {
      call_id: 'c5',
      status: 'error',
      output: 'Exit code 1\n\n> test\n> node test.js\n\nsum is -1\n',
    }),
    bash('c3', 'sleep 9'),
    make('call_finished', { call_id: 'c3', status: 'ok' }),
    make('call_updated', { call_id: 'c3', status: 'timeout', exit_code: 124 }),
    bash('c4', 'true'),
    make('call_finished', { call_id: 'c9', tool: 'Glob', status: 'ok' }),
    make('provider_retried'),
    make('problem', { code: 'unfinished_call' }),
    make('problem', { code: 'no_end_record' }),
    make('run_finished'),
  ]);

  test('has the command or path of each call, and the reason of a failure', () => {
    const rows = report.calls.map((call) => [callName(call), call.status, call.reason]);
    expect(rows).toEqual([
      ['Bash: node test.js', 'denied', 'requires approval'],
      ['Read: a.txt', 'error', 'no such'],
      [`Bash: npm test ${'x'.repeat(291)}…`, 'error', 'sum is -1'],
      ['Bash: sleep 9', 'timeout', null],
      ['Bash: true', 'cancelled', null],
      ['Glob', 'ok', null],
    ]);
    expect(report.calls[3]?.exit_code).toBe(124);
    const counts = { denied: 1, error: 2, ok: 1, timeout: 1, cancelled: 1 };
    expect(Object.fromEntries(report.counts)).toEqual(counts);
  });

  test('has the warnings that neither a call nor the completeness of the record shows', () => {
    expect(report.warnings).toEqual([expect.stringMatching(/^provider retry/)]);
  });

  test('fails a run on the conditions that it meets', () => {
    const found = caughtBy([...FAIL_ON, 'denied'], report, {
      grade: 'partial',
      gaps: ['no_end_record'],
      filled: [],
    });
    expect(
      found.map(({ condition, message, calls }) => [condition, message, calls.length]),
    ).toEqual([
      ['denied', '1 call was denied', 1],
      ['failed-call', '3 calls failed', 3],
      ['incomplete', 'the record is incomplete: no end record', 0],
    ]);
    expect(caughtBy([], report, COMPLETE)).toEqual([]);
    expect(caughtBy(FAIL_ON, reportOf([make('run_started')]), COMPLETE)).toEqual([]);
  });
});

test('a denied call counts after any number of calls', () => {
  const make = createMaker();
  const most = PROJECTION_LIMITS.report_calls_max;
  const calls = Array.from({ length: most + 1 }, (_, n) => [
    make('call_requested', { call_id: `c${n}` }),
    make('call_finished', { call_id: `c${n}`, status: n === most ? 'denied' : 'ok' }),
  ]);
  const report = reportOf(calls.flat());
  expect(report.calls).toHaveLength(most);
  expect(caughtBy(['denied'], report, COMPLETE)).toMatchObject([{ message: '1 call was denied' }]);
});

test('an outcome warns of unseen changes only if commands ran without a git work tree', () => {
  const warned = (without_git: boolean, tool: string) => {
    const make = createMaker();
    const config = without_git ? { ...CONFIG, without_git: true as const } : CONFIG;
    const fold = createOutcomeFold({ keepIo: false });
    for (const event of [make('run_started', { config }), make('call_requested', { tool })])
      fold.push(event);
    return fold.finish().warnings.some((text) => text.includes('no git work tree'));
  };
  expect([warned(true, 'Bash'), warned(true, 'Read'), warned(false, 'Bash')]).toEqual([
    true,
    false,
    false,
  ]);
});
