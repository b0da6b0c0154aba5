import { expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { caughtBy } from '../../projections/fail-on.ts';
import { annotationLines } from '../../projections/github.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { RunReportFold } from '../../projections/run-report.ts';
import { annotationsOfRun, junitOfRun, summaryOfRun } from './report.ts';

const make = createMaker();
const command = 'echo "<b>" | tee\n::error::mine ##[group]';
const events = [
  make('run_started'),
  make('call_requested', { input: { command } }),
  make('call_decided', { decision: 'deny', reason: 'no\u001b[31m @you' }),
  make('call_finished', { status: 'denied', ok: false, exit_code: null, duration_ms: 20 }),
  make('run_finished', { completeness: { grade: 'partial', gaps: ['usage_unknown'], filled: [] } }),
];

function reported(...fail_on: Parameters<typeof caughtBy>[0]) {
  const fold = createOutcomeFold({ keepIo: false });
  const calls = new RunReportFold();
  for (const event of events) fold.push(event);
  calls.push(events);
  const [outcome, report] = [fold.finish(), calls.finish()];
  return { outcome, report, caught: caughtBy(fail_on, report, outcome.completeness) };
}

test('a denied call is one annotation, which names its command and cannot give commands', () => {
  const lines = annotationLines(annotationsOfRun(reported())).trimEnd().split('\n');
  expect(lines).toEqual([
    expect.stringMatching(
      /^::warning title=Bash denied::Bash: echo "<b>" \| tee ::error::mine ##\\u\{5b\}group\]: denied: no\\u\{1b\}\[31m @you$/,
    ),
    '::notice title=tacho::the record is partial: usage_unknown',
  ]);
});

test('a condition of --fail-on is an error of the run, and its calls are errors', () => {
  const levels = annotationsOfRun(reported('denied', 'incomplete')).map(({ level }) => level);
  expect(levels).toEqual(['error', 'error', 'notice']);
  const summary = summaryOfRun(reported('denied'));
  expect(summary).toContain('## tacho run demo: ok, but \\-\\-fail\\-on');
  expect(summary).toContain('1 call, 1 denied:');
  expect(summary).not.toMatch(/<b>|@you|\u001b/);
  expect(summary).toMatch(/\| ❌ \| Bash: echo .* \| denied \| no.* \| 20ms \|/);
  const junit = junitOfRun(reported('denied'));
  expect(junit).toContain('<failure message="--fail-on denied: 1 call was denied"');
  expect(junit).toContain('Bash: echo "&lt;b&gt;" | tee ::error::mine');
  expect(junitOfRun(reported())).toContain('failures="0"');
});
