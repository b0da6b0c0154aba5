import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testFolder } from '../../test/fixtures/folder.ts';
import { readTextFile } from './text-file.ts';
import { readYamlText } from './yaml.ts';

const faultOf = (text: string) => readYamlText(text, { merge: true }).fault;
const many = (count: number, item: (i: number) => string, between = '\n') =>
  Array.from({ length: count }, (_, i) => item(i)).join(between);

describe('YAML', () => {
  const WIDE = {
    'a flow map': `a: {${many(50_000, (i) => `k${i}: 1`, ',')}}`,
    'a block map': many(50_000, (i) => `k${i}: 1`),
    'a list': many(50_000, () => '- 1'),
  };
  for (const [what, text] of Object.entries(WIDE))
    test(`${what} of 50,000 entries takes seconds, not minutes`, () => {
      const start = performance.now();
      const read = readYamlText(text);
      expect([read.fault, typeof read.value()]).toEqual([null, 'object']);
      expect(performance.now() - start).toBeLessThan(30_000);
    });

  test('50,000 mistakes in one line take seconds, not minutes', () => {
    const start = performance.now();
    expect(faultOf(`${'!!x '.repeat(50_000)}x`)?.message).toContain('at most one tag');
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test('nesting that uses up the stack is said to be too deep', () => {
    for (const open of ['[', '- ', '? ', 'a: {'])
      expect(faultOf(open.repeat(50_000))?.message).toContain('is nested deeper than');
  });

  test('a key that is there twice is told with its place, at any depth', () => {
    const twice = { line: 3, col: 3, message: 'Map keys must be unique' };
    expect(faultOf('a:\n  b: 1\n  b: 2\n')).toEqual(twice);
    expect(faultOf('- {x: [{y: 1, "y": 2}]}')).toMatchObject({ message: twice.message });
    expect(faultOf('a: &a {x: 1}\nb: &b {y: 1}\nc:\n  <<: *a\n  <<: *b\n')).toBeNull();
  });

  for (const [what, text] of Object.entries({
    'flow lists': '['.repeat(300) + ']'.repeat(300),
    'flow lists, far too many': '['.repeat(100_000) + ']'.repeat(100_000),
    'flow maps': `${'{a: '.repeat(300)}1${'}'.repeat(300)}`,
    'block maps': many(300, (i) => `${' '.repeat(i)}a:`),
    'block lists': '- '.repeat(50_000),
    'explicit keys': '? '.repeat(20_000),
  }))
    test(`nesting is bounded: ${what}`, () => {
      expect(faultOf(text)?.message).toBeTypeOf('string');
    });

  test('aliases are bounded', () => {
    expect(faultOf(many(1_001, (i) => `- &a${i} 1\n- *a${i}`))).toMatchObject({
      message: 'has more than 1000 aliases',
    });
    expect(faultOf(many(1_000, (i) => `- &a${i} 1\n- *a${i}`))).toBeNull();
  });

  test('places are those of keys and items', () => {
    const { placeOf } = readYamlText('a:\n  - b: 1\n    c: 2\n  - d\n');
    expect([
      placeOf([]),
      placeOf(['a', 0, 'c']),
      placeOf(['a', '1']),
      placeOf(['a', 0, 'nothing']),
    ]).toEqual([
      { line: 1, col: 1 },
      { line: 3, col: 5 },
      { line: 4, col: 5 },
      { line: 2, col: 5 },
    ]);
  });
});

describe('a hand-written file', () => {
  const read = (path: string) => readTextFile(path, { bytes_max: 100, stage: 'test' }).text;

  test('is read, also through a link', () => {
    const folder = testFolder();
    writeFileSync(join(folder, 'f'), 'héllo');
    symlinkSync('f', join(folder, 'l'));
    expect([read(join(folder, 'f')), read(join(folder, 'l'))]).toEqual(['héllo', 'héllo']);
  });

  test('is refused where it is no regular file, too large, or no UTF-8', () => {
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
        return read(at(name));
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
      'there is no such file or folder',
      'a symbolic link stands there; it is not followed',
    ]);
  });
});
