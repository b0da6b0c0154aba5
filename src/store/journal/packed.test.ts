import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { constants, createZstdDecompress, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { segmentText } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { STORE_LIMITS } from '../limits.ts';
import { openStateDir } from '../state-dir.ts';
import { endsOf, follow } from './follow.ts';
import { FRAME_BYTES, tableBytes } from './frame-table.ts';
import { openJournal } from './journal.ts';
import { packBeside } from './pack.ts';
import { readAll, readSession } from './read.ts';
import { diskBytes, listSegments, newReport, scanSegment, segmentBytes } from './scan.ts';
import { mayGrow } from './segment.ts';
import { openSegment, PACKED, readFirst } from './segment-file.ts';
import { readHeader } from './segment-owner.ts';
import { framesOf } from './zstd-frames.ts';

const journalDir = () => openStateDir(join(testFolder(), 'state')).journal;
const WORDS = ['read', 'write', 'é\u2028', 'the file', 'line 17', '{"s":', '\\n', '漢字', 'edit'];

/** About a kilobyte. */
function entry(seq: number, session = 's') {
  const text = Array.from({ length: 150 }, (_, i) => WORDS[(seq * 7 + i * i) % WORDS.length]);
  return { session, source: 'main', seq, body: JSON.stringify({ seq, text: text.join(' ') }) };
}
const entries = (count: number, session = 's') =>
  Array.from({ length: count }, (_, i) => entry(i + 1, session));

/** A journal with one session, packed when it is closed. */
async function packedJournal(count = 3_000) {
  const dir = journalDir();
  const journal = openJournal(dir);
  await journal.append(entries(count));
  const [segment] = listSegments(dir) as [string];
  const plain = readFileSync(join(dir, segment));
  await journal.close();
  return {
    dir,
    journal,
    segment,
    plain,
    path: join(dir, segment),
    zst: join(dir, segment + PACKED),
  };
}

async function numbersIn(dir: string, session = 's') {
  const read = readSession(dir, session);
  const found: number[] = [];
  for await (const { seq, body } of read) {
    if (body !== entry(seq, session).body) throw new Error(`entry ${seq} is another`);
    found.push(seq);
  }
  return { found, report: read.report };
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

/** Like `zstd -d`: frame by frame, skipping the table. */
async function unpacked(path: string): Promise<Buffer> {
  const bytes = readFileSync(path);
  const parts: Buffer[] = [];
  for (const { from, to } of framesOf(path)) {
    const stream = createZstdDecompress();
    stream.end(bytes.subarray(from, to));
    for await (const part of stream) parts.push(part as Buffer);
  }
  return Buffer.concat(parts);
}

describe('a closed segment', () => {
  verifies('ST-2', 'is packed, and reads as before under its own name', async () => {
    const { dir, segment, plain, path, zst, journal } = await packedJournal();
    expect(readdirSync(dir).filter((name) => name.includes('.jsonl'))).toEqual([segment + PACKED]);
    expect(statSync(zst).mode & 0o777).toBe(0o600);
    expect(listSegments(dir)).toEqual([segment]);
    expect(segmentBytes(dir, segment)).toBe(plain.length);
    expect(diskBytes(dir, segment)).toBe(statSync(zst).size);
    expect(statSync(zst).size).toBeLessThan(plain.length / 5);
    expect(segmentText(path).equals(plain)).toBe(true);
    expect((await unpacked(zst)).equals(plain)).toBe(true);
    expect(await numbersIn(dir)).toMatchObject({
      found: upTo(3_000),
      report: { corrupt: 0, torn: 0, unreadable: 0 },
    });
    expect(mayGrow(dir, segment)).toBe(false);
    expect(readHeader(path)?.owner.pid).toBe(process.pid);
    expect(readFirst(path, 10).toString()).toBe('{"v":1,"pi');
    journal.check();
  });

  test('is not packed while it may grow, or when it is small', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    await journal.append(entries(100));
    expect(readdirSync(dir).some((name) => name.endsWith(PACKED))).toBe(false);
    await journal.close();
    const small = openJournal(dir);
    await small.append([entry(1, 'small')]);
    await small.close();
    const names = readdirSync(dir).filter((name) => name.includes('.jsonl'));
    expect(names.map((name) => name.endsWith(PACKED))).toEqual([true, false]);
    expect((await numbersIn(dir, 'small')).found).toEqual([1]);
  });

  test('is packed while the next is written, and appends are stored once', async () => {
    const dir = journalDir();
    const journal = openJournal(dir, { segment_bytes_max: 200_000 });
    const all = entries(2_000);
    for (let at = 0; at < 2_000; at += 20) await journal.append(all.slice(at, at + 20));
    await journal.close();
    expect(listSegments(dir).length).toBeGreaterThan(5);
    expect(await numbersIn(dir)).toMatchObject({ found: upTo(2_000), report: { corrupt: 0 } });
    const again = openJournal(dir);
    expect(new Set(await again.append(all))).toEqual(new Set(['duplicate']));
    await again.close();
  });

  test('is followed, and its end is known', async () => {
    const { dir, segment, plain } = await packedJournal(200);
    expect(endsOf(dir)).toEqual({ [segment]: plain.length });
    const stop = new AbortController();
    const found: number[] = [];
    for await (const { seq } of follow(dir, {}, stop.signal)) {
      found.push(seq);
      if (found.length === 200) stop.abort();
    }
    expect(found).toEqual(upTo(200));
  });

  test('that is packed while it is followed is returned once', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    const stop = new AbortController();
    const found: number[] = [];
    const following = (async () => {
      for await (const { seq } of follow(dir, {}, stop.signal)) {
        found.push(seq);
        if (seq === 301) stop.abort();
      }
    })();
    for (let at = 0; at < 300; at += 50) await journal.append(entries(300).slice(at, at + 50));
    await journal.close();
    const later = openJournal(dir);
    await later.append([entry(301)]);
    await following;
    await later.close();
    expect(found).toEqual(upTo(301));
  });

  test('is read to its end by a reader that opened it before it was packed', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    await journal.append(entries(2_000));
    const report = newReport();
    const scan = scanSegment(dir, listSegments(dir)[0] as string, { report });
    let lines = (await scan.next()).value as unknown[];
    let count = lines.length;
    await journal.close();
    for (let next = await scan.next(); next.done !== true; next = await scan.next()) {
      lines = next.value;
      count += lines.length;
    }
    expect([count, report]).toEqual([2_000, newReport()]);
  });

  test('stays plain if others changed it, and the change is noticed', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    journal.begin('s');
    await journal.append(entries(200));
    const path = join(dir, listSegments(dir)[0] as string);
    const text = readFileSync(path, 'latin1').replace('read', 'dare');
    writeFileSync(path, text, { encoding: 'latin1', flag: 'r+' });
    await journal.close();
    expect([existsSync(path), existsSync(path + PACKED)]).toEqual([true, false]);
    expect(() => journal.check()).toThrow(/was changed/);
  });

  verifies(
    'ST-2',
    'with a plain file beside it is noticed, even while the run continues',
    async () => {
      const dir = journalDir();
      const journal = openJournal(dir, { segment_bytes_max: 200_000 });
      journal.begin('s');
      const all = entries(300);
      for (let at = 0; at < 300; at += 20) await journal.append(all.slice(at, at + 20));
      const [segment] = listSegments(dir) as [string];
      const path = join(dir, segment);
      await vi.waitFor(() => expect(existsSync(path)).toBe(false), 20_000);
      journal.check();
      const text = segmentText(path);
      writeFileSync(path, text.subarray(0, text.indexOf(10, 10_000) + 1));
      expect(() => journal.check()).toThrow(/was removed or replaced/);
      await journal.close();
      expect(() => journal.check()).toThrow(/was removed or replaced/);
    },
  );

  verifies('ST-2', 'stays plain if its time was reset after a change', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    journal.begin('s');
    await journal.append(entries(200));
    const path = join(dir, listSegments(dir)[0] as string);
    const times = join(testFolder(), 'times');
    execFileSync('touch', ['-r', path, times]);
    const text = readFileSync(path, 'latin1').replace('read', 'dare');
    writeFileSync(path, text, { encoding: 'latin1', flag: 'r+' });
    execFileSync('touch', ['-r', times, path]);
    await journal.close();
    expect([existsSync(path), existsSync(path + PACKED)]).toEqual([true, false]);
    expect(() => journal.check()).toThrow(/was changed/);
  });

  test('that others change after packing is noticed at the end', async () => {
    const HOW: Record<string, (zst: string) => void> = {
      removed: (zst) => rmSync(zst),
      replaced: (zst) => {
        copyFileSync(zst, `${zst}.x`);
        renameSync(`${zst}.x`, zst);
      },
      cut: (zst) => truncateSync(zst, 1_000),
      changed: (zst) => {
        const bytes = readFileSync(zst);
        bytes[2_000] = (bytes[2_000] as number) ^ 255;
        writeFileSync(zst, bytes, { flag: 'r+' });
      },
    };
    for (const [how, change] of Object.entries(HOW)) {
      const { journal, zst } = await packedJournal(500);
      journal.check();
      utimesSync(zst, 1, 1);
      journal.check();
      change(zst);
      expect(() => journal.check(), how).toThrow(
        /was removed or replaced|was truncated|was changed/,
      );
    }
  });

  test('stays plain if it cannot be packed, and the journal closes', async () => {
    const dir = journalDir();
    const journal = openJournal(dir);
    await journal.append(entries(200));
    const [segment] = listSegments(dir) as [string];
    // With a folder in place of the packed file, the rename fails, even as root.
    mkdirSync(join(dir, segment + PACKED));
    await journal.close();
    expect(existsSync(join(dir, segment))).toBe(true);
    expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect((await numbersIn(dir)).found).toEqual(upTo(200));
  });
});

describe('any byte', () => {
  test('is read by its position in the plain text', async () => {
    const { path, plain } = await packedJournal();
    const file = openSegment(path);
    const target = Buffer.alloc(300_000);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(plain.length + 10),
        fc.integer({ min: 1, max: 300_000 }),
        async (at, count) => {
          const got = await file.read(target, 0, count, at);
          expect(got).toBeLessThanOrEqual(count);
          expect(got > 0).toBe(at < plain.length);
          expect(target.subarray(0, got).equals(plain.subarray(at, at + got))).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
    file.close();
  });

  verifies(
    'ST-10',
    'that is damaged loses only the lines of one frame, and is counted',
    async () => {
      const { dir, zst, plain, segment } = await packedJournal();
      const bytes = readFileSync(zst);
      const frames = [...framesOf(zst)];
      expect(frames.length).toBe(Math.ceil(plain.length / FRAME_BYTES) + 1);
      for (const { from, to } of frames.slice(1)) {
        const damaged = Buffer.from(bytes);
        damaged.fill(0xaa, from + 12, Math.min(to, from + 400));
        writeFileSync(zst, damaged);
        expect(segmentBytes(dir, segment)).toBe(plain.length);
        const read = readAll(dir);
        let count = 0;
        for await (const _ of read) count += 1;
        expect(count).toBeGreaterThan(1_800);
        expect(count).toBeLessThan(3_000);
        expect(read.report.corrupt).toBeGreaterThan(0);
        expect(read.report.unreadable).toBe(0);
      }
    },
  );

  test('that is missing at the end or in the table leaves the frames before it', async () => {
    const { dir, zst } = await packedJournal();
    const bytes = readFileSync(zst);
    const frames = [...framesOf(zst)];
    const table_at = frames.at(-1)?.to as number;
    for (const cut of [bytes.length - 1, table_at + 3, table_at, table_at - 5]) {
      writeFileSync(zst, bytes.subarray(0, cut));
      const read = readAll(dir);
      let count = 0;
      for await (const _ of read) count += 1;
      expect(count).toBeGreaterThan(cut < table_at ? 1_500 : 2_999);
      expect(read.report).toMatchObject({ unreadable: 0 });
      expect(read.report.corrupt).toBeGreaterThan(0);
    }
    writeFileSync(zst, bytes.subarray(0, 3));
    const read = readAll(dir);
    for await (const _ of read) throw new Error('an entry of nothing');
    expect(read.report.unreadable).toBe(1);
  });

  test('changed in any way gives no entry that was never appended, and no exception', async () => {
    const { dir, zst } = await packedJournal(300);
    const bytes = readFileSync(zst);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(bytes.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, by) => {
          const damaged = Buffer.from(bytes);
          damaged[at] = (damaged[at] as number) ^ by;
          writeFileSync(zst, damaged);
          const read = readAll(dir);
          for await (const { seq, body } of read) expect(body).toBe(entry(seq).body);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('a foreign packed file', () => {
  const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
  /** A file of these frames, with a table of the given contents. */
  function forged(frames: readonly Buffer[], says?: readonly { packed: number; plain: number }[]) {
    const dir = journalDir();
    const segment = `${'0'.repeat(26)}.jsonl`;
    const sizes = says ?? frames.map((one) => ({ packed: one.length, plain: 100 }));
    writeFileSync(join(dir, segment + PACKED), Buffer.concat([...frames, tableBytes(sizes)]));
    return { dir, segment, path: join(dir, segment) };
  }
  async function reportOf(dir: string) {
    const read = readAll(dir);
    for await (const _ of read) throw new Error('an entry');
    return read.report;
  }

  test('never unpacks to more than the limit of a frame', async () => {
    const bomb = zstdCompressSync(Buffer.alloc(200 * 1024 * 1024), level);
    for (const plain of [100, FRAME_BYTES, FRAME_BYTES + 1, 0xffffffff]) {
      const { dir } = forged([bomb], [{ packed: bomb.length, plain }]);
      const before = process.memoryUsage().rss;
      const { corrupt, unreadable } = await reportOf(dir);
      expect(corrupt + unreadable, String(plain)).toBeGreaterThan(0);
      expect(process.memoryUsage().rss - before).toBeLessThan(60 * 1024 * 1024);
    }
  });

  test('with a wrong table is damaged, never trusted', async () => {
    const frame = zstdCompressSync(Buffer.from('x\n'.repeat(50)), level);
    const packed = frame.length;
    for (const says of [
      [{ packed, plain: 99 }],
      [{ packed: packed + 1, plain: 100 }],
      [{ packed: 0xffffffff, plain: 100 }],
      [
        { packed, plain: 100 },
        { packed: 0, plain: 100 },
      ],
      Array.from({ length: 5_000 }, () => ({ packed: 0, plain: FRAME_BYTES })),
    ]) {
      const { dir } = forged([frame], says);
      const { corrupt, unreadable } = await reportOf(dir);
      expect(corrupt + unreadable, JSON.stringify(says.slice(0, 2))).toBeGreaterThan(0);
    }
  });

  test('that is not a packed file, a link or a folder is unreadable', async () => {
    for (const make of [
      (zst: string) => writeFileSync(zst, 'no frame at all, and longer than a table would be'),
      (zst: string) => symlinkSync('/etc/hostname', zst),
      (zst: string) => mkdirSync(zst),
    ]) {
      const dir = journalDir();
      const segment = `${'0'.repeat(26)}.jsonl`;
      make(join(dir, segment + PACKED));
      expect(segmentBytes(dir, segment)).toBeGreaterThan(0);
      expect((await reportOf(dir)).unreadable).toBe(1);
    }
  });
});

describe('packing', () => {
  test('a text without a line feed, even larger than a frame, is packed unchanged', async () => {
    const dir = journalDir();
    for (const text of [
      'x'.repeat(STORE_LIMITS.pack_bytes_min),
      `{"v":1}\n${'y'.repeat(3_000_000)}`,
    ]) {
      const path = join(dir, `${text.length}`);
      writeFileSync(path, text);
      expect(await packBeside(path)).not.toBeNull();
      rmSync(path);
      expect(segmentText(path).toString()).toBe(text);
    }
  });
});
