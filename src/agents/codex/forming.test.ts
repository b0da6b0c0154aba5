/** Items that are seen only in progress. */
import { expect, test } from 'vitest';
import { useLimits } from '../../../test/use-limits.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Draft } from '../../model/draft.ts';
import { AGENT_LIMITS } from '../kit/limits.ts';
import { commandOfLine } from './shell-line.ts';
import { stream } from './stream.ts';

/** A tenth of the limit. */
const SIZE = LIMITS.waiting_bytes_max / 10;
const item = (id: string, command: string) => ({
  type: 'item.updated',
  item: { id, type: 'command_execution', command, status: 'in_progress' },
});
const requested = (out: readonly Draft[]) =>
  out.flatMap((draft) => (draft.kind === 'call_requested' ? [draft.data.call_id] : []));

test('items in progress are held up to a number of characters; others are requested', () => {
  const out: Draft[] = [];
  const decoder = stream();
  const fit = 9;
  // A repeated item replaces its earlier version.
  for (let times = 0; times < 100; times++) decoder.record(item('0', 'x'.repeat(SIZE)), out);
  for (let n = 1; n < fit; n++) decoder.record(item(`${n}`, 'x'.repeat(SIZE)), out);
  decoder.record(item('8', 'y'.repeat(SIZE)), out);
  expect(requested(out)).toEqual([]);
  decoder.record(item('a', 'x'.repeat(2 * SIZE)), out);
  decoder.record(item('a', 'x'.repeat(2 * SIZE)), out);
  expect(requested(out)).toEqual(['a']);
  decoder.record({ ...item('a', 'ls'), type: 'item.completed' }, out);
  decoder.record({ ...item('0', 'ls'), type: 'item.completed' }, out);
  decoder.record(item('b', 'x'.repeat(SIZE)), out);
  decoder.end(out);
  const rest = Array.from({ length: fit - 1 }, (_, n) => `${n + 1}`);
  expect(requested(out)).toEqual(['a', '0', ...rest, 'b']);
});

test('items in progress are held up to a number; others are requested', () => {
  useLimits(LIMITS, { open_calls_max: 10 });
  const out: Draft[] = [];
  const decoder = stream();
  const ids = Array.from({ length: 12 }, (_, n) => `${n}`);
  for (const id of ids) decoder.record(item(id, 'ls'), out);
  for (const id of ids) decoder.record(item(id, 'ls -l'), out);
  expect(requested(out)).toEqual(['10', '11']);
  decoder.end(out);
  expect(requested(out)).toEqual(['10', '11', ...ids.slice(0, 10)]);
});

test('a command line over its limit is not split into words', () => {
  const line = (words: number) => `bash -c "${'x '.repeat(words)}"`;
  expect(commandOfLine(line(10))).toBe('x '.repeat(10));
  const long = line(AGENT_LIMITS.split_line_chars_max / 2);
  expect(commandOfLine(long)).toBe(long);
});
