import { expect, test } from 'vitest';
import { testFolder } from '../../test/fixtures/folder.ts';
import { readArchive } from './archive.ts';

test('an archive that cannot be read is an error with its path, not an exception of a stream', async () => {
  const folder = testFolder();
  const read = Array.fromAsync(readArchive(folder, { damaged: 0, bytes: 0 }, false));
  await expect(read).rejects.toMatchObject({ code: 'not_a_file', message: /tacho-test-/ });
});
