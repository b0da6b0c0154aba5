import { expect, test } from 'vitest';
import { callText } from './call-text.ts';

test.each([
  [{ description: 'Runs tests', command: 'npm test' }, 'npm test'],
  [{ file_path: '/p/src/a.ts', content: 'x' }, 'src/a.ts'],
  [{ file_path: '/project/a.ts' }, '/project/a.ts'],
  [{ pattern: 'x', path: '/p' }, 'x'],
  [{ a: 2, b: 'two', c: [1, 2], d: {}, e: null }, 'a=2 b=two c=[2] d={…} e=null'],
  ['free text', 'free text'],
  [42, '42'],
  [null, ''],
  [undefined, ''],
  [{}, ''],
])('%j is described as %j', (input, text) => {
  expect(callText(input, '/p')).toBe(text);
});

test('a command that reads a file is described by the file, any other command by itself', () => {
  const input = { command: 'cat /p/a.ts', file_path: '/p/a.ts' };
  expect(callText(input, '/p', 'Read')).toBe('a.ts');
  expect(callText(input, '/p', 'Bash')).toBe('cat /p/a.ts');
});

test('the description of a huge input is bounded', () => {
  const huge = 'x'.repeat(1_000_000);
  const lengths = [{ command: huge }, { other: huge }, huge].map((v) => callText(v, null).length);
  expect(lengths).toEqual([2000, 206, 2000]);
});
