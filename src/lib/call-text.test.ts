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

test('the description of a huge input is bounded', () => {
  const huge = 'x'.repeat(1_000_000);
  const lengths = [{ command: huge }, { other: huge }, huge].map((v) => callText(v, null).length);
  expect(lengths).toEqual([2000, 206, 2000]);
});
