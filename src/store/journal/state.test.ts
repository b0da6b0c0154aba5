/** A journal's knowledge of a source's entries. */
import { expect, test } from 'vitest';
import { LIMITS } from '../../lib/limits.ts';
import { createSift } from './read.ts';
import { newReport } from './scan.ts';
import { SourceState } from './state.ts';

const FAR = 9_999_999;

test('an entry with an outlying number costs little memory, and the numbers in between are accepted', () => {
  const used = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  const source = new SourceState();
  source.know(1, 7);
  source.know(FAR, 0);
  const sift = createSift(newReport());
  for (const seq of [1, FAR]) expect(sift({ source: 's', seq, crc: 7 })).toBe('s');
  expect(used() - before).toBeLessThan(10_000_000);
  expect([source.committed, source.take(FAR, 0), source.take(FAR, 9)]).toEqual([
    FAR,
    'duplicate',
    'conflict',
  ]);
  expect([source.take(5, 0), source.take(5, 0)]).toEqual(['stored', 'duplicate']);
});

test('entries that were taken and not committed are forgotten', () => {
  const source = new SourceState();
  source.know(1, 7);
  source.know(3, 7);
  for (const seq of [2, 4, 5]) expect(source.take(seq, 8)).toBe('stored');
  source.rollback();
  source.know(6, 7);
  expect([2, 4, 5].map((seq) => source.take(seq, 9))).toEqual(['stored', 'stored', 'stored']);
  expect([1, 3, 6].map((seq) => source.take(seq, 7))).toEqual(Array(3).fill('duplicate'));
});

test('numbers over the limit are neither known nor accepted', () => {
  const max = LIMITS.session_events_max;
  const source = new SourceState();
  source.know(max, 7);
  source.know(max + 1, 7);
  expect([source.committed, source.take(max + 1, 7)]).toEqual([max, 'gap']);
});
