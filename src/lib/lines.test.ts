import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { createLines } from './lines.ts';

type Seen =
  | { text: string; line: number; offset: number; terminated: boolean }
  | { oversize: number; sha256: string; head: string; line: number; offset: number };

function split(chunks: Iterable<Buffer>, most?: number): Seen[] {
  const seen: Seen[] = [];
  const lines = createLines(
    {
      line(bytes, start, end, { line, offset, terminated }) {
        seen.push({ text: bytes.toString('latin1', start, end), line, offset, terminated });
      },
      oversize({ bytes, sha256, head, line, offset }) {
        seen.push({ oversize: bytes, sha256, head: head.toString('latin1'), line, offset });
      },
    },
    most,
  );
  for (const chunk of chunks) {
    lines.push(chunk);
    // A caller may reuse its buffer.
    chunk.fill(0x21);
  }
  lines.end();
  return seen;
}

function* pieces(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    yield Buffer.from(bytes.subarray(at, at + size));
    at += size;
  }
}

verifies('AG-13', 'any bytes in any chunking give the same lines, and no byte is lost', () => {
  const alphabet = fc.constantFrom(10, 10, 13, 0, 0x7b, 0xef, 0xbb, 0xbf, 0xe2, 0x80, 0xa8, 65);
  const input = fc.array(alphabet, { maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(
      input,
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (bytes, sizes) => {
        const whole = split([Buffer.from(bytes)], 40);
        expect(split(pieces(bytes, sizes), 40)).toEqual(whole);
        const places = whole.map(({ offset }) => offset);
        expect(places).toEqual([...places].sort((a, b) => a - b));
      },
    ),
    { numRuns: 5_000 },
  );
});

test('lines end at LF only; one CR and a leading BOM are stripped; blank lines are counted but not returned', () => {
  const bytes = Buffer.from('\ufeff{"a":1}\r\n\n{"b":"\u2028\u2029"}\r\r\nlast', 'utf8');
  expect(split([bytes])).toEqual([
    { text: '{"a":1}', line: 1, offset: 0, terminated: true },
    {
      text: Buffer.from('{"b":"\u2028\u2029"}\r').toString('latin1'),
      line: 3,
      offset: 13,
      terminated: true,
    },
    { text: 'last', line: 4, offset: 30, terminated: false },
  ]);
});

verifies('AG-13', 'a line over the limit is hashed and reported, and the next one is read', () => {
  const long = 'x'.repeat(5000);
  const sha256 = createHash('sha256').update(long).digest('hex');
  const expected = [
    { text: 'a', line: 1, offset: 0, terminated: true },
    { oversize: 5000, sha256, head: long, line: 2, offset: 2 },
    { text: 'b', line: 3, offset: 5003, terminated: true },
  ];
  const bytes = Buffer.from(`a\n${long}\nb\n`);
  expect(split([Buffer.from(bytes)], 100)).toEqual(expected);
  expect(split(pieces(bytes, [7]), 100)).toEqual(expected);
});

test('a line of exactly the limit is a line', () => {
  const line = { text: 'x'.repeat(100), line: 1, offset: 0, terminated: true };
  expect(split([Buffer.from(`${'x'.repeat(100)}\n`)], 100)).toEqual([line]);
  expect(split(pieces(Buffer.from(`${'x'.repeat(100)}\n`), [1]), 100)).toEqual([line]);
});

test('an unfinished line takes little more memory than its bytes, however small its pieces are', () => {
  const lines = createLines({ line: () => {}, oversize: () => {} });
  for (let i = 0; i < 100_000; i++) lines.push(Buffer.from('x'));
  expect(lines.held).toBeGreaterThanOrEqual(100_000);
  expect(lines.held).toBeLessThan(300_000);
  lines.push(Buffer.from('\n'));
  expect(lines.held).toBe(0);
});

test('an abandoned line is hashed and reported, and the next one is read', () => {
  const seen: unknown[] = [];
  const lines = createLines({
    line: (bytes, start, end) => seen.push(bytes.toString('utf8', start, end)),
    oversize: ({ bytes, sha256 }) => seen.push({ bytes, sha256 }),
  });
  lines.push(Buffer.from('one\nabc'));
  lines.giveUp();
  expect(lines.held).toBe(0);
  lines.push(Buffer.from('def\ntwo\n'));
  const sha256 = createHash('sha256').update('abcdef').digest('hex');
  expect(seen).toEqual(['one', { bytes: 6, sha256 }, 'two']);
});
