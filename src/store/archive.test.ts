import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/fixtures/folder.ts';
import { LIMITS } from '../lib/limits.ts';
import { readArchive } from './archive.ts';

test('an archive that cannot be read is an error with its path, not an exception of a stream', async () => {
  const folder = testFolder();
  const read = Array.fromAsync(readArchive(folder, { damaged: 0, bytes: 0 }, false));
  await expect(read).rejects.toMatchObject({ code: 'not_a_file', message: /tacho-test-/ });
});

test('an entry over the limit is refused with its place, whatever size is allowed', async () => {
  const path = join(testFolder(), 'a.jsonl.zst');
  const long = Buffer.alloc(LIMITS.entry_bytes_max + 1024 * 1024, 0x78);
  writeFileSync(path, zstdCompressSync(Buffer.concat([Buffer.from('short\n'), long])));
  const read = Array.fromAsync(readArchive(path, { damaged: 0, bytes: 0 }, true));
  await expect(read).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(/a\.jsonl\.zst:2: an entry of .* is over the limit$/),
  });
});
