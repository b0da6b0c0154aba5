import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testFolder } from '../../test/fixtures/folder.ts';
import { readTextFile } from './text-file.ts';

const read = (path: string, bytes_max: number) =>
  readTextFile(path, { bytes_max, stage: 'config' });

test('a file up to the limit is read, a larger one is refused', () => {
  const path = join(testFolder(), 'file');
  writeFileSync(path, 'x'.repeat(100));
  expect(read(path, 100).text).toHaveLength(100);
  expect(() => read(path, 99)).toThrow(`${path}: is larger than 99 bytes`);
  // A sparse file, larger than a buffer can be.
  truncateSync(path, 2 ** 40);
  expect(() => read(path, 100)).toThrow('is larger than 100 bytes');
});

test('a file with more bytes than its reported size is refused too', () => {
  // Its size is 0.
  const path = '/proc/self/status';
  if (!existsSync(path)) return;
  const { length } = readFileSync(path);
  expect(length).toBeGreaterThan(100);
  expect(() => read(path, 100)).toThrow('is larger than 100 bytes');
  expect(read(path, 1_000_000).text).toContain('Name:');
});

test('a folder and invalid UTF-8 are refused', () => {
  const folder = testFolder();
  expect(() => read(folder, 100)).toThrow('is not a regular file');
  const path = join(folder, 'latin1');
  writeFileSync(path, Buffer.from([0x61, 0xe9, 0x62]));
  expect(() => read(path, 100)).toThrow('is not UTF-8');
});

describe('a hand-written file', () => {
  const textOf = (path: string) => read(path, 100).text;

  test('is read, even through a link', () => {
    const folder = testFolder();
    writeFileSync(join(folder, 'f'), 'héllo');
    symlinkSync('f', join(folder, 'l'));
    expect([textOf(join(folder, 'f')), textOf(join(folder, 'l'))]).toEqual(['héllo', 'héllo']);
  });

  test('is refused if it is not a regular file, too large, or not UTF-8', () => {
    const folder = testFolder();
    const at = (name: string) => join(folder, name);
    mkdirSync(at('folder'));
    expect(spawnSync('mkfifo', [at('pipe')]).status).toBe(0);
    symlinkSync('/dev/zero', at('zero'));
    writeFileSync(at('large'), 'x'.repeat(101));
    writeFileSync(at('bytes'), Buffer.from([0xff]));
    symlinkSync('loop', at('loop'));
    const faults = ['folder', 'pipe', 'zero', 'large', 'bytes', 'missing', 'loop'].map((name) => {
      try {
        return textOf(at(name));
      } catch (error) {
        return (error as Error).message.replace(`${at(name)}: `, '');
      }
    });
    expect(faults).toEqual([
      'is not a regular file',
      'is not a regular file',
      'is not a regular file',
      'is larger than 100 bytes',
      'is not UTF-8: convert it first',
      'no such file or folder',
      'it is a symbolic link, which is not followed',
    ]);
  });
});
