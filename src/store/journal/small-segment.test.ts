import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { journalLine } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { eachLine, newReport, type SegmentLine } from './scan.ts';
import { readSmall } from './small-segment.ts';

const NAME = 'a.jsonl';
const line = (n: number) => journalLine({ s: 's', o: 'main', n, e: { text: 'é' } });

/** The relevant fields of a line, and its body. */
const seen = ({ session, source, seq, crc, offset, next, bytes, start, end }: SegmentLine) =>
  [session, source, seq, crc, offset, next, bytes.toString('utf8', start, end)] as const;

async function both(dir: string, from: number) {
  const [lines, scanned]: [unknown[], unknown[]] = [[], []];
  const [report, other] = [newReport(), newReport()];
  const end = readSmall(dir, NAME, { from, report }, (one) => lines.push(seen(one)));
  const scan = { from, report: other };
  const reached = await eachLine(dir, NAME, scan, (one) => scanned.push(seen(one)));
  return { small: { end, lines, report }, scan: { end: reached, lines: scanned, report: other } };
}

const PIECES = fc.oneof(
  fc.nat(5).map((n) => line(n + 1)),
  fc
    .constantFrom('{"v":1}\n', '\n', 'torn', '{"s":', 'none of ours\n')
    .map((text) => Buffer.from(text)),
  fc.nat(60).map((cut) => line(9).subarray(0, cut)),
);

test('gives the same as a scan, whatever it contains', async () => {
  const dir = testFolder();
  const pieces = fc.array(PIECES, { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(pieces, fc.nat(200), async (parts, place) => {
      const bytes = Buffer.concat(parts);
      writeFileSync(join(dir, NAME), bytes);
      for (const from of [0, Math.min(place, bytes.length)]) {
        const { small, scan } = await both(dir, from);
        expect(small).toEqual(scan);
      }
    }),
  );
});

test('a segment that is large, a link, a folder or missing is left to the scan', () => {
  const dir = testFolder();
  const read = () => readSmall(dir, NAME, { from: 0, report: newReport() }, () => undefined);
  expect(read()).toBeNull();
  writeFileSync(join(dir, 'large'), Buffer.alloc(256 * 1024 + 1, '\n'));
  symlinkSync('large', join(dir, NAME));
  expect(read()).toBeNull();
  mkdirSync(join(dir, 'b.jsonl'));
  const options = { from: 0, report: newReport() };
  for (const name of ['large', 'b.jsonl'])
    expect(readSmall(dir, name, options, () => undefined)).toBeNull();
  expect(options.report).toEqual(newReport());
});
