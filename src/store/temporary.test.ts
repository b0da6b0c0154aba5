import { closeSync, existsSync, readdirSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/fixtures/folder.ts';
import { thisOwner } from './owner.ts';
import { openTemporary, sweepTemporary } from './temporary.ts';

test('a temporary file has no name and can be written and read', () => {
  const folder = join(testFolder(), 'tmp');
  const file = openTemporary(folder);
  expect(readdirSync(folder)).toEqual([]);
  writeSync(file.fd, 'text');
  const bytes = Buffer.alloc(4);
  readSync(file.fd, bytes, 0, 4, 0);
  expect(bytes.toString()).toBe('text');
  closeSync(file.fd);
  file.remove();
});

test('files of dead processes are swept; those of live processes and foreign files are not', () => {
  const folder = testFolder();
  const { pid, ticks } = thisOwner();
  const own = `spill-${pid}-${ticks ?? 0}-0123456789ab`;
  const dead = `spill-${2 ** 22 + 1}-5-0123456789ab`;
  for (const name of [own, dead, 'mine.txt']) writeFileSync(join(folder, name), '');
  sweepTemporary(folder);
  expect(existsSync(join(folder, dead))).toBe(false);
  expect(readdirSync(folder).sort()).toEqual(['mine.txt', own]);
  sweepTemporary(join(folder, 'nothing'));
});
