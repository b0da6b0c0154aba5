import { describe, expect, test } from 'vitest';
import { createMaker, USAGE } from '../../test/build-events.ts';
import {
  FinalText,
  OpenCalls,
  Pieces,
  RunFold,
  SpokenText,
  tokensUsed,
  UsageFold,
} from './run-fold.ts';

const make = createMaker();

describe('usage', () => {
  const report = (mode: 'add' | 'total', input: number | null, cost_usd: number | null) =>
    make('usage_reported', { mode, usage: { ...USAGE, input }, cost_usd }).data;

  test('is the sum of incremental reports, for each known figure', () => {
    const fold = new UsageFold();
    for (const data of [report('add', null, 0.5), report('add', 7, null), report('add', 3, 0.25)])
      fold.push(data);
    expect(fold).toEqual({
      tokens: { input: 10, output: 60, cache_read: 15, cache_write: null, reasoning: null },
      cost_usd: 0.75,
      model: null,
    });
    expect(tokensUsed(fold.tokens)).toBe(85);
  });

  test('is the last total, and unknown for figures that it lacks', () => {
    const fold = new UsageFold();
    for (const data of [report('add', 100, 0.5), report('total', null, null)]) fold.push(data);
    expect(fold).toMatchObject({ tokens: { ...USAGE, input: null }, cost_usd: null });
    expect(tokensUsed(null)).toBe(null);
  });

  test('does not change the report', () => {
    const fold = new UsageFold();
    const first = report('add', 1, null);
    fold.push(first);
    fold.push(report('add', 1, null));
    expect(first.usage.input).toBe(1);
  });
});

test('names come from the end record, then from the agent, then from usage, then from the start', () => {
  const run = new RunFold();
  const seen = [
    make('run_started', { model: 'asked', session_id: null, cwd: null, agent_version: '1' }),
    make('usage_reported', { model: 'billed' }),
    make('session_started', { model: 'said', session_id: 's1', cwd: '/a', agent_version: '2' }),
    make('session_started', { model: 'later', session_id: 's2', cwd: '/b', agent_version: null }),
    make('run_finished', { model: 'ended', session_id: 's3' }),
  ].map((event) => {
    run.push(event);
    return [run.names.model, run.names.session_id, run.names.cwd, run.agent_version];
  });
  expect(seen).toEqual([
    ['asked', null, null, '1'],
    ['billed', null, null, '1'],
    ['said', 's1', '/a', '2'],
    ['said', 's1', '/a', '2'],
    ['ended', 's3', '/a', '2'],
  ]);
});

test('the final output keeps whole texts within its limit, and counts the others', () => {
  const text = new FinalText(10);
  const says = (said: string, message_id: string | null) =>
    text.push(make('message_finished', { text: said, message_id }));
  for (const said of ['four', 'much more', 'five5']) says(said, 'm1');
  expect([text.value, text.chars, text.missing]).toEqual(['four', 18, 14]);
  says('a text too long', 'm2');
  expect([text.value, text.missing]).toEqual(['a text too', 5]);
  text.push(make('step_started'));
  for (const said of ['one', 'two']) says(said, null);
  expect([text.value, text.missing]).toEqual(['one\ntwo', 0]);
});

describe('spoken text', () => {
  test('completes a message with the part that was not streamed', () => {
    const spoken = new SpokenText(10);
    const piece = (message_id: string | null, text: string) => spoken.piece({ message_id, text });
    expect([piece('m1', 'Hel'), piece(null, 'lo')]).toEqual([true, false]);
    expect(spoken.whole({ message_id: 'm1', text: 'Hello.' })).toBe('.');
    expect(spoken.whole({ message_id: 'm1', text: 'Hello.' })).toBe(null);
    expect([piece('m2', 'a'), piece('m3', 'b')]).toEqual([true, true]);
    expect(spoken.whole({ message_id: 'm4', text: 'c' })).toBe(null);
  });

  test('adds nothing when its pieces do not match the message, or are too long to be kept', () => {
    const spoken = new SpokenText(10);
    for (const text of ['Hallo', 'eleven more']) {
      spoken.piece({ message_id: null, text });
      expect(spoken.whole({ message_id: 'm1', text: 'Hello.' })).toBe('');
    }
    const pieces = new Pieces(3);
    pieces.add('abc');
    expect(pieces.rest('abcd')).toBe('d');
    pieces.add('d');
    expect(pieces.rest('abcd')).toBe(null);
  });
});

test('open calls are those requested and not finished, up to a limit, each request once', () => {
  const calls = new OpenCalls(({ data }) => data.tool, 2);
  const request = (call_id: string) => calls.push(make('call_requested', { call_id }));
  expect([request('c1'), request('c1'), request('c2'), request('c3')]).toEqual(
    Array(4).fill('Bash'),
  );
  expect([calls.count, [...calls.keys()]]).toEqual([3, ['c1', 'c2']]);
  expect(calls.push(make('permission_asked', { call_id: 'c2' }))).toBe('Bash');
  expect(calls.push(make('permission_asked', { call_id: null }))).toBe(undefined);
  expect(calls.push(make('notice'))).toBe(undefined);
  expect(calls.push(make('call_finished', { call_id: 'c1' }))).toBe('Bash');
  expect(calls.push(make('call_finished', { call_id: 'c1' }))).toBe(undefined);
  expect([calls.count, [...calls.keys()]]).toEqual([3, ['c2']]);
});
