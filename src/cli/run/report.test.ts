import { expect, test } from 'vitest';
import { CONFIG, createMaker } from '../../../test/build-events.ts';
import type { Event } from '../../model/event.ts';
import { caughtBy } from '../../projections/fail-on.ts';
import { annotationLines } from '../../projections/github.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { RunReportFold } from '../../projections/run-report.ts';
import { reportOf } from './report.ts';

const make = createMaker();
const command = 'echo "<b>" | tee\n::error::mine ##[group]';
const DENIED = [
  make('run_started'),
  make('call_requested', { input: { command } }),
  make('call_decided', { decision: 'deny', reason: 'no\u001b[31m @you' }),
  make('call_finished', { status: 'denied', ok: false, exit_code: null, duration_ms: 20 }),
  make('run_finished', { completeness: { grade: 'partial', gaps: ['usage_unknown'], filled: [] } }),
];

const FAILED = [
  make('run_started', {
    prompt: 'fix the <test>\nand more',
    config: {
      ...CONFIG,
      labels: { build: '7' },
      attempt: { number: 2, earlier_ms: 5, first_run_id: 'r_0' },
    },
  }),
  make('call_requested', { call_id: 'c7', tool: 'Read', input: { file_path: 'a.txt' } }),
  make('problem', { code: 'unfinished_call' }),
  make('problem', { code: 'no_end_record' }),
  make('run_finished', {
    ok: false,
    exit_reason: 'timeout',
    error: 'the run took longer than --timeout 5',
    final_output: 'I begin:\n\n  - first\n',
    usage: null,
    cost_usd: null,
    completeness: { grade: 'partial', gaps: ['no_end_record', 'unfinished_call:1'], filled: [] },
  }),
];

const reported = (...fail_on: Parameters<typeof caughtBy>[0]) => reportedOf(DENIED, fail_on);

function reportedOf(events: readonly Event[], fail_on: Parameters<typeof caughtBy>[0] = []) {
  const fold = createOutcomeFold({ keepIo: false });
  const calls = new RunReportFold();
  for (const event of events) fold.push(event);
  calls.push(events);
  const [outcome, report] = [fold.finish(), calls.finish()];
  return { outcome, report, caught: caughtBy(fail_on, report, outcome.completeness) };
}

test('a denied call is one annotation, which names its command and cannot give commands', () => {
  const lines = annotationLines(reportOf(reported()).annotations()).trimEnd().split('\n');
  expect(lines).toEqual([
    expect.stringMatching(
      /^::warning title=Bash denied::Bash: echo "<b>" \| tee ::error::mine ##\\u\{5b\}group\]: denied: no\\u\{1b\}\[31m @you$/,
    ),
    '::notice title=tacho::the record is incomplete: tokens unknown',
  ]);
});

test('a condition of --fail-on is an error of the run, and its calls are errors', () => {
  const { annotations, summary, junit } = reportOf(reported('denied', 'incomplete'));
  expect(annotations().map(({ level, title }) => [level, title])).toEqual([
    ['error', 'tacho run demo: --fail-on denied,incomplete'],
    ['error', 'Bash denied'],
  ]);
  expect(summary()).toMatch(
    /^## ❌ tacho run demo: \\-\\-fail\\-on denied,incomplete\n\n\\-\\-fail\\-on denied: 1 call was denied; .*\n\n\|/,
  );
  expect(summary()).toContain('1 call, 1 denied:');
  expect(summary()).not.toMatch(/<b>|@you|\u001b/);
  expect(summary()).toMatch(/\| 🚫 \| Bash: echo .* \| denied \| no.* \| 20ms \|/);
  expect(junit()).toContain('<failure message="--fail-on denied: 1 call was denied; --fail-on');
  expect(junit()).toContain('Bash: echo "&lt;b&gt;" | tee ::error::mine');
  expect(reportOf(reported()).junit()).toContain('failures="0"');
});

test('a summary has the result and its reason first, then the task, and the text of the agent with its lines', () => {
  const { summary, junit } = reportOf(reportedOf(FAILED));
  expect(summary()).toBe(
    [
      '## ❌ tacho run demo: timeout',
      'the run took longer than \\-\\-timeout 5',
      [
        '|  |  |',
        '| --- | --- |',
        '| task | fix the &lt;test&gt; and more |',
        '| agent | demo 1.0 |',
        '| model | toy |',
        '| attempt | 2 |',
        '| duration | 1.2s |',
        '| cost | unknown |',
        '| tokens | unknown |',
        '| record | incomplete: no end record, 1 unfinished call |',
        '| labels | build=7 |',
        '| run | `r_1` |',
      ].join('\n'),
      '> I begin:<br><br>\\- first',
      '1 call:',
      [
        '|  | call | status | reason | duration |',
        '| --- | --- | --- | --- | --- |',
        '| ⏹️ | Read: a.txt | cancelled |  |  |\n',
      ].join('\n'),
    ].join('\n\n'),
  );
  expect(junit()).toContain('<failure message="timeout: the run took longer than --timeout 5"');
});

test('a run that did not start is an error with its reason in each format', () => {
  const { annotations, summary, junit } = reportOf({ agent: 'claude', error: 'not <installed>' });
  expect(annotations()).toEqual([
    { level: 'error', title: 'tacho run claude', message: 'not <installed>' },
  ]);
  expect(summary()).toBe('## ❌ tacho run claude: not started\n\nnot &lt;installed&gt;\n');
  expect(junit()).toContain('<testcase name="run" classname="claude">');
  expect(junit()).toContain('<error message="not &lt;installed&gt;" type="error">');
});
