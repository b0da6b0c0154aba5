import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { STORE_LIMITS } from '../limits.ts';
import { openStateDir } from '../state-dir.ts';
import { createArchive, readArchive } from './archive.ts';
import { headOf, writeLine } from './line.ts';

test('an archive that cannot be read is an error with its path, not an exception of a stream', async () => {
  const folder = testFolder();
  const read = Array.fromAsync(readArchive(folder, { damaged: 0, bytes: 0 }, false));
  await expect(read).rejects.toMatchObject({ code: 'not_a_file', message: /tacho-test-/ });
});

test('an entry over the limit is refused with its line, whatever size is allowed', async () => {
  const path = join(testFolder(), 'a.jsonl.zst');
  const long = Buffer.alloc(STORE_LIMITS.entry_bytes_max + 1024 * 1024, 0x78);
  writeFileSync(path, zstdCompressSync(Buffer.concat([Buffer.from('short\n'), long])));
  const read = Array.fromAsync(readArchive(path, { damaged: 0, bytes: 0 }, true));
  await expect(read).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(/a\.jsonl\.zst:2: an entry of .* is over the limit$/),
  });
});

function entryLine(seq: number, text: string): Buffer {
  const body = JSON.stringify(text);
  const bytes = Buffer.alloc(body.length + 200);
  return bytes.subarray(0, writeLine(bytes, 0, { head: headOf('r_a', 'capture'), seq, body }).end);
}

const numbersIn = async (path: string) =>
  (await Array.fromAsync(readArchive(path, { damaged: 0, bytes: 0 }, true))).map(({ seq }) => seq);
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

verifies('ST-5', 'an archive of many pieces is read to its end', async () => {
  const archive = createArchive(openStateDir(join(testFolder(), 'state')), 'a');
  // 13 MB; the text changes, so that the pieces end anywhere.
  for (const n of numbers(13_000))
    archive.add(entryLine(n, `${n * 7919} `.repeat(100 + (n % 53)).slice(0, 1000)));
  archive.commit();
  expect(await numbersIn(archive.path)).toEqual(numbers(13_000));
});

verifies('ST-5', 'frames of every form are read one after the other', async () => {
  const path = join(testFolder(), 'a.jsonl.zst');
  const forms = [
    {},
    { [constants.ZSTD_c_checksumFlag]: 1 },
    { [constants.ZSTD_c_contentSizeFlag]: 0 },
    { [constants.ZSTD_c_compressionLevel]: 19 },
  ];
  const sizes = [0, 300, 70_000, 1_000_000];
  const frames = forms.flatMap((params, form) =>
    sizes.map((size, at) =>
      zstdCompressSync(entryLine(form * sizes.length + at + 1, 'x'.repeat(size)), { params }),
    ),
  );
  writeFileSync(path, Buffer.concat(frames));
  expect(await numbersIn(path)).toEqual(numbers(frames.length));
  writeFileSync(path, Buffer.concat([...frames, Buffer.from('no frame')]));
  const message = expect.stringContaining(path);
  await expect(numbersIn(path)).rejects.toMatchObject({ message });
  for (const cut of [0, 3, 30]) {
    writeFileSync(path, Buffer.concat(frames).subarray(0, cut));
    await expect(numbersIn(path)).rejects.toMatchObject({ message });
  }
});

/** A frame with one uncompressed block. Its reader needs a window of 2 ** `window_log` bytes. */
function frameWith(window_log: number, text: Buffer): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) << 3, 0, 0, 0]);
  head.writeUIntLE((text.length << 3) | 1, 6, 3);
  return Buffer.concat([head, text]);
}

verifies('ST-5', 'a frame that needs more memory than any of ours is refused', async () => {
  const path = join(testFolder(), 'a.jsonl.zst');
  writeFileSync(path, frameWith(25, entryLine(1, 'x')));
  expect(await numbersIn(path)).toEqual([1]);
  writeFileSync(path, frameWith(26, entryLine(1, 'x')));
  const message = expect.stringMatching(/a\.jsonl\.zst.*too much memory/);
  await expect(numbersIn(path)).rejects.toMatchObject({ message });
});
