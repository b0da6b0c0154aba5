import { describe, expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Artifact } from '../model/outcome.ts';
import type { FileOperation } from '../model/words.ts';
import { createArtifactFold } from './artifacts.ts';

type Change = [path: string, operation: FileOperation, source?: 'tool' | 'git', size?: number];

function artifactsOf(changes: readonly Change[], cwd: string | null = '/p'): Artifact[] {
  const fold = createArtifactFold();
  fold.base(cwd);
  for (const [path, operation, source = 'tool', size = null] of changes) {
    fold.push({ path, operation, source, size, call_id: null, diff: null });
  }
  return fold.list();
}
const brief = (changes: readonly Change[], cwd?: string | null): string[] =>
  artifactsOf(changes, cwd).map((file) => `${file.path} ${file.operation} ${file.source}`);

describe('the net effect on a file', () => {
  const cases: [FileOperation[], string[]][] = [
    [['created', 'modified'], ['a created tool']],
    [['created', 'created'], ['a created tool']],
    [['created', 'deleted'], []],
    [['created', 'deleted', 'created'], ['a created tool']],
    [['modified', 'deleted'], ['a deleted tool']],
    [['modified', 'created'], ['a modified tool']],
    [['deleted', 'created'], ['a modified tool']],
    [['deleted', 'deleted'], ['a deleted tool']],
  ];
  test.each(cases)('of %j is %j', (operations, expected) => {
    expect(brief(operations.map((operation) => ['a', operation]))).toEqual(expected);
  });
});

describe('calls and work tree', () => {
  verifies('RO-10', 'are reconciled: one entry per path, and the work tree decides', () => {
    expect(
      brief([
        ['/p/same.txt', 'created'],
        ['/p/overwritten.txt', 'created'],
        ['/p/only-tool.txt', 'modified'],
        ['/p/gone.txt', 'created'],
        ['/p/gone.txt', 'deleted'],
        ['/p/back.txt', 'created'],
        ['/p/back.txt', 'deleted'],
        ['same.txt', 'created', 'git'],
        ['overwritten.txt', 'modified', 'git'],
        ['./by-shell.txt', 'deleted', 'git'],
        ['back.txt', 'created', 'git'],
      ]),
    ).toEqual([
      'same.txt created both',
      'overwritten.txt modified git',
      'only-tool.txt modified tool',
      'back.txt created git',
      'by-shell.txt deleted git',
    ]);
  });

  test('keep the last known size of files that still exist', () => {
    expect(
      artifactsOf([
        ['a', 'created', 'tool', 3],
        ['a', 'modified'],
        ['b', 'deleted', 'git', 4],
      ]),
    ).toEqual([
      { path: 'a', operation: 'created', size: 3, source: 'tool' },
      { path: 'b', operation: 'deleted', size: null, source: 'git' },
    ]);
  });
});

describe('paths', () => {
  test('are relative to the work folder when inside it, else as given', () => {
    expect(
      brief([
        ['/p/src/../a.ts', 'modified'],
        ['/project/b.ts', 'modified'],
        ['../c.ts', 'modified'],
        ['/c.ts', 'deleted', 'git'],
        ['/p', 'modified'],
      ]),
    ).toEqual([
      'a.ts modified tool',
      '/project/b.ts modified tool',
      '../c.ts modified tool',
      '/c.ts deleted git',
      '/p modified tool',
    ]);
  });

  test('are unchanged if the work folder is unknown, and may be Windows paths', () => {
    expect(brief([['/p/a', 'created']], null)).toEqual(['/p/a created tool']);
    expect(brief([['C:\\w\\src\\a', 'created']], 'C:\\w')).toEqual(['src/a created tool']);
  });
});

test('paths beyond the limit are counted', () => {
  const fold = createArtifactFold();
  for (let i = 0; i < 10_002; i += 1) {
    const path = `f${i}`;
    fold.push({ path, operation: 'created', source: 'git', size: null, call_id: null, diff: null });
  }
  expect([fold.list().length, fold.dropped()]).toEqual([10_000, 2]);
});

test('the total length of paths is bounded, and omitted ones are counted', () => {
  const fold = createArtifactFold();
  const long = 'x'.repeat(1024 * 1024);
  for (let at = 0; at < 100; at++)
    fold.push({
      path: `${at}/${long}`,
      operation: 'created',
      source: 'tool',
      size: null,
      call_id: null,
      diff: null,
    });
  const chars = fold.list().reduce((sum, { path }) => sum + path.length, 0);
  expect(chars).toBeLessThanOrEqual(LIMITS.artifacts_chars_max);
  expect(fold.list().length + fold.dropped()).toBe(100);
});
