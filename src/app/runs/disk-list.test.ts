/** Texts that wait for the end of a run: read back one by one and in lists, from memory and from the file. */
import { expect, onTestFinished, test } from 'vitest';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { useLimits } from '../../../test/use-limits.ts';
import { APP_LIMITS } from '../limits.ts';
import { DiskList, inPieces } from './disk-list.ts';

/** Two and a half times the memory limit, so that lists reach the end of the file. */
const BYTES = APP_LIMITS.spill_memory_bytes * 2.5;
const textOf = (index: number, bytes: number) => `${index}:${'é'.repeat(bytes / 2 + (index % 7))}`;

/** Some pairs in reverse order, like calls that were made together. Some numbers have no text. */
function numbersOf(count: number): number[] {
  const numbers = Array.from({ length: count }, (_, index) => index);
  for (let at = 0; at + 1 < count; at += 900)
    [numbers[at], numbers[at + 1]] = [at + 1, at] as [number, number];
  return numbers.filter((index) => index % 31 !== 30 || index > 1000);
}

function filled(bytes: number): { spill: DiskList; numbers: number[] } {
  const spill = new DiskList(testFolder(), 'utf8');
  onTestFinished(() => spill.close());
  const numbers = numbersOf(Math.ceil(BYTES / bytes));
  for (const index of numbers) spill.put(textOf(index, bytes), index);
  return { spill, numbers: numbers.sort((a, b) => a - b) };
}

test.each([50_000, 900])('lists of %i bytes contain every text once, in order', (bytes) => {
  const { spill, numbers } = filled(bytes);
  const lists: string[] = [];
  const listed: number[] = [];
  for (let index = 0; index < spill.count; ) {
    const list = spill.list(index, (next) => next % 1000 !== 0);
    if (list !== null) {
      lists.push(list.bytes.toString('utf8'));
      expect(list.bytes.length).toBeLessThanOrEqual(256 * 1024);
      for (let each = index; each < list.next; each++) listed.push(each);
    }
    index = list?.next ?? index + 1;
  }
  expect(listed).toEqual(numbers);
  expect(lists.join(',') === numbers.map((index) => textOf(index, bytes)).join(',')).toBe(true);
  // Several texts together, and none over a number that was refused.
  expect(lists.length).toBeLessThan(numbers.length / 2);
  for (const text of lists) expect(text).not.toMatch(/,\d*000:/);
});

test('one text is read back by its number', () => {
  const { spill, numbers } = filled(50_000);
  const last = numbers.at(-1) as number;
  for (const index of [last, 0, 1, 9, 10, 50])
    expect(spill.get(index)?.toString('utf8') === textOf(index, 50_000)).toBe(true);
  expect([spill.get(30), spill.get(last + 1), spill.get(last * 1000)]).toEqual([null, null, null]);
});

test('a file is bounded: excess text is refused, so that its writer is dropped', () => {
  useLimits(APP_LIMITS, { spill_memory_bytes: 100_000, spill_bytes_max: 300_000 });
  const spill = new DiskList(testFolder(), 'utf8');
  onTestFinished(() => spill.close());
  const put = (index: number) => spill.put('x'.repeat(60_000), index);
  for (let index = 0; index < 5; index++) put(index);
  expect(() => put(5)).toThrow('it takes more than 300000 bytes');
});

test('chunks have the same bytes, small parts combined and large ones separate', () => {
  const parts = [
    'a',
    'é'.repeat(10),
    Buffer.alloc(300_000, 'x'),
    ',',
    Buffer.alloc(140_000, 'y'),
    'end',
  ];
  const pieces = Array.from(inPieces(parts), (piece) => Buffer.from(piece));
  const whole = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  expect(Buffer.concat(pieces).equals(whole)).toBe(true);
  expect(pieces.map(({ length }) => length)).toEqual([21, 300_000, 1, 140_000, 3]);
});
