import { expect, test } from 'vitest';
import { createMaker } from '../../test/build-events.ts';
import { call, transcript } from '../../test/build-transcript.ts';
import { createColours } from '../lib/colours.ts';
import { gapText, recordText } from '../lib/record-words.ts';
import { columns } from '../lib/terminal-text.ts';
import type { Event } from '../model/event.ts';
import { PROBLEM_CODES } from '../model/words.ts';
import type { HumanStyle } from './human-parts.ts';
import { createOutcomeFold } from './outcome.ts';
import { headText } from './outcome-text.ts';
import { headOfOutcome, headOfTranscript } from './run-head.ts';
import { viewOf } from './transcript.ts';
import { type ShowOptions, transcriptText } from './transcript-text.ts';

const STYLE: HumanStyle = { colour: createColours(false), unicode: true, width: 80, wrap: true };

function outcomeOf(events: readonly Event[]) {
  const fold = createOutcomeFold({ keepIo: false });
  for (const event of events) fold.push(event);
  return fold.finish();
}

function failedRun(): Event[] {
  const make = createMaker();
  const config = { ...make('run_started').data.config, labels: { build: '7', ci: 'yes' } };
  return [
    make('run_started', { config: config as never }),
    make('call_requested'),
    make('call_finished', { status: 'error', ok: false }),
    make('call_requested', { call_id: 'c2' }),
    make('call_decided', { call_id: 'c2', decision: 'deny', reason: 'not allowed' }),
    make('call_finished', { call_id: 'c2', status: 'denied', ok: false }),
    make('file_changed', { path: '/home/user/project/a.txt' }),
    make('problem', { code: 'no_end_record', detail: 'the stream has no end record' }),
    make('run_finished', {
      ok: false,
      exit_reason: 'agent_error',
      error: `the agent exited with code 41: ${'please set a key or another, '.repeat(8)}KEY`,
      tool_calls: 2,
      terminal_evidence: 'process_exit',
      completeness: {
        grade: 'partial',
        gaps: ['no_end_record', 'unfinished_call:1', 'usage_unknown'],
        filled: [],
      },
    }),
  ];
}

test('the head of a run has each fact once, in words', () => {
  const lines = headText(headOfOutcome(outcomeOf(failedRun())), STYLE).split('\n');
  const rows = lines.map((line) => [line.slice(0, 10).trim(), line.slice(10)]);
  expect(rows.map(([name]) => name).filter((name) => name !== '')).toEqual([
    'run',
    'agent',
    'session',
    'project',
    'labels',
    'started',
    'prompt',
    'result',
    'error',
    'record',
    'work',
    'usage',
    'files',
    'warning',
  ]);
  const value = (name: string) => rows.find(([first]) => first === name)?.[1];
  expect(value('labels')).toBe('build=7, ci=yes');
  expect(value('started')).toMatch(/^1970-01-01 \d\d:\d\d \S+ · took 1\.2s$/);
  expect(value('result')).toBe(
    "✗ agent_error: the agent failed (from the exit of the agent's process)",
  );
  expect(value('record')).toBe('incomplete: no end record, 1 unfinished call, tokens unknown');
  expect(value('work')).toBe('1 step · 2 calls, 1 failed, 1 denied');
  expect(value('warning')).toBe('Bash denied: not allowed');
  expect(value('files')).toBe('a.txt created');
});

test.each([40, 80, 200])('its lines keep to %i columns and the error is whole', (width) => {
  const outcome = outcomeOf(failedRun());
  for (const unicode of [true, false]) {
    const text = headText(headOfOutcome(outcome), { ...STYLE, width, unicode });
    for (const line of text.split('\n')) expect(columns(line)).toBeLessThanOrEqual(width);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(outcome.error_details?.message);
  }
});

test('an imported run names its file, and a repeated warning is counted', () => {
  const head = headOfOutcome(outcomeOf(failedRun()));
  const labels = { imported: 'a.jsonl', imported_sha256: 'abc', build: '7' };
  const retry = 'provider retry, network';
  const warnings = [retry, retry, `provider error network: ${head.error}`];
  const lines = headText({ ...head, labels, warnings }, { ...STYLE, width: 400 }).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'imported  from a.jsonl',
      'labels    build=7',
      'warning   provider retry, network (2 times)',
      'warning   provider error network',
    ]),
  );
  expect(lines.join()).not.toContain('abc');
});

test('a run without token figures is complete, and the text names what is missing', () => {
  const record = (grade: 'complete' | 'partial' | 'unavailable', ...gaps: string[]) =>
    recordText({ grade, gaps, filled: [] });
  expect(record('complete')).toBe('record complete');
  expect(record('partial', 'usage_unknown')).toBe('record complete, without token figures');
  expect(record('partial', 'torn_line:1', 'usage_unknown')).toBe(
    'record incomplete: 1 torn line, tokens unknown',
  );
  expect(record('unavailable', 'no_end_record')).toBe('record empty: no end record');
});

test('every gap has a description, and an unknown code is shown unchanged', () => {
  for (const code of PROBLEM_CODES) expect(gapText(`${code}:2`)).not.toMatch(/[_:]/);
  expect(gapText('journal_entries_left_out:2')).toBe('2 damaged journal entries left out');
  expect([gapText('from_the_future:3'), gapText('constructor')]).toEqual([
    'from the future:3',
    'constructor',
  ]);
});

const SHOW: ShowOptions = { ...STYLE, full: false, thinking: false, tool: null, from: 0 };

function shown(options: Partial<ShowOptions> = {}): string {
  const task = call('Task', { description: 'find usages', prompt: 'p' }, { id: 't1' });
  const made = transcript([task, call('Bash', { command: 'ls' }, { status: 'denied' })]);
  const [first] = made.messages;
  if (first === undefined) throw new Error('no message');
  const sub = { ...first, index: 1, parent_tool_call_id: 't1', content: 'I look.', tool_calls: [] };
  const long = { ...first, index: 2, content: 'ein langer Satz '.repeat(20), tool_calls: [] };
  const view = viewOf({ ...made, messages: [first, sub, long] });
  return [...transcriptText(view, headOfTranscript(view), { ...SHOW, ...options })].join('');
}

test('a sub-agent has the name of its task and no step', () => {
  expect(shown()).toContain('\n    sub-agent: find usages\n      I look.\n');
  expect(shown({ from: 2 })).not.toContain('I look.');
});

test('calls below another call name it, and a tool is found in any case', () => {
  const script = call('codemode', { code: 'x' }, { id: 'm1' });
  const made = transcript([script]);
  const [first] = made.messages;
  if (first === undefined) throw new Error('no message');
  const inner = call('Bash', { command: 'ls' });
  const below = { parent_tool_call_id: 'm1', content: '', tool_calls: [inner] };
  const sub = { ...first, index: 1, ...below };
  const view = viewOf({ ...made, messages: [first, sub] });
  const text = (options: Partial<ShowOptions>) =>
    [...transcriptText(view, headOfTranscript(view), { ...SHOW, ...options })].join('');
  expect(text({})).toContain('\n    called by codemode\n      ✓ Bash ls');
  expect(text({ tool: 'bash' })).toContain('✓ Bash ls');
  expect(text({ tool: 'Edit' })).toContain(
    'No calls of Edit. Tools of this run: codemode, Bash.\n',
  );
});

test('a transcript that starts at a later message shows the number of earlier messages', () => {
  expect(shown({ from: 2 })).toContain('\n(2 earlier messages not shown)\n');
  expect(shown()).not.toContain('earlier message');
});

test('texts are wrapped on a terminal, but not in a pipe', () => {
  for (const line of shown().split('\n')) expect(columns(line)).toBeLessThanOrEqual(80);
  expect(shown({ wrap: false })).toContain('ein langer Satz '.repeat(20).trim());
});
