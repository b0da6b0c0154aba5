import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { cpuMs } from '../../../test/cpu-ms.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { journalLine } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { LIMITS } from '../../lib/limits.ts';
import { FRAME_BYTES, FRAMES_MAX, tableBytes } from './frame-table.ts';
import { eachLine, newReport } from './scan.ts';
import { PACKED } from './segment-file.ts';

const NAME = `${'0'.repeat(26)}.jsonl`;
const LINE = journalLine({ s: 's', o: 'main', n: 1, e: { text: 'whole' } });

/** The lines found in a segment with this text. */
async function scan(text: string | Buffer, end = '') {
  const dir = testFolder();
  writeFileSync(join(dir, NAME + end), text);
  const report = newReport();
  let found = 0;
  const before = cpuMs();
  await eachLine(dir, NAME, { report }, () => {
    found += 1;
  });
  return { found, report, cpu_ms: cpuMs() - before };
}

verifies('ST-10', 'short lines that end with a full buffer are damaged lines', async () => {
  const chunk = LIMITS.read_chunk_bytes;
  for (const line of ['x\n', '{"v\n', '\r\n', 'abc\n', '{"v":\n', '{"s":\n'])
    for (const more of [0, 1, line.length - 1]) {
      const lines = Math.ceil(chunk / line.length) + 1_000;
      const text = Buffer.concat([Buffer.from('y'.repeat(more) + line.repeat(lines)), LINE]);
      const { found, report } = await scan(text);
      expect([line, found, report.unreadable]).toEqual([line, 1, 0]);
      if (line !== '{"v":\n') expect(report.corrupt).toBeGreaterThanOrEqual(lines);
    }
});

const SHORT = [
  'xxxxxx}\n',
  '{"s":}\n',
  'x\n',
  `{"s":${'x'.repeat(40)}}\n`,
  `,"e":{"s":${'1'.repeat(36)}\n`,
];

test('many short damaged lines cost no more than their bytes', async () => {
  for (const line of SHORT) {
    const text = line.repeat(Math.ceil((4 * 1024 * 1024) / line.length));
    const { cpu_ms, found } = await scan(text);
    // Searching to the end of the buffer for each of them would take 2,000 or more.
    expect([line, found, cpu_ms < 800]).toEqual([line, 0, true]);
  }
});

test('an entry after damage in its line is found, and none after the end of a line', async () => {
  expect(await scan(Buffer.concat([Buffer.from('damage'), LINE]))).toMatchObject({
    found: 1,
    report: { corrupt: 1, salvaged: 1 },
  });
  const damaged = Buffer.from(`{"s":"s","o":"main","n":1,"c":"00000000"}\n`);
  expect(await scan(Buffer.concat([damaged, LINE]))).toMatchObject({
    found: 1,
    report: { corrupt: 1, salvaged: 0 },
  });
});

test('a packed file with more frames than a segment can have is refused', async () => {
  const frame = zstdCompressSync(Buffer.alloc(FRAME_BYTES));
  const sizes = Array.from({ length: FRAMES_MAX + 1 }, () => ({
    packed: frame.length,
    plain: FRAME_BYTES,
  }));
  const file = Buffer.concat([...sizes.map(() => frame), tableBytes(sizes)]);
  const { found, report } = await scan(file, PACKED);
  expect([found, report.corrupt > 0]).toEqual([0, true]);
  expect(FRAMES_MAX).toBeLessThan(200);
});
