import { expect, test } from 'vitest';
import { cpuMs } from '../../../test/cpu-ms.ts';
import { readJson, readJsonl } from './json.ts';

test('each value has a position: that of its key, or its own in a list', () => {
  const text = '{"a": {"b":\n  [1, {"c \\"}": "]"}, [] ]},\n "d":2}';
  const { value, positionOf, faults } = readJson('f', text);
  expect([value, faults]).toEqual([{ a: { b: [1, { 'c "}': ']' }, []] }, d: 2 }, []]);
  expect(
    [[], ['a'], ['a', 'b'], ['a', 'b', 0], ['a', 'b', 1, 'c "}'], ['a', 'b', 2], ['d']].map(
      (at) => {
        const { line, col } = positionOf(at);
        return `${line}:${col}`;
      },
    ),
  ).toEqual(['1:1', '1:2', '1:8', '2:4', '2:8', '2:23', '3:2']);
});

test('a missing value has the position of its parent', () => {
  const { positionOf } = readJson('f', ' {"a":[{"b":1}]}');
  expect(positionOf(['x'])).toEqual({ line: 1, col: 2 });
  expect(positionOf(['a', 0, 'x', 'y'])).toEqual({ line: 1, col: 8 });
  expect(positionOf(['a', 5])).toEqual({ line: 1, col: 3 });
});

test('the last of several fields with the same name counts', () => {
  const { value, positionOf } = readJson('f', '{"a":{"b":1},"a":{"c":2}}');
  expect([value, positionOf(['a', 'c'])]).toEqual([{ a: { c: 2 } }, { line: 1, col: 19 }]);
});

test('invalid JSON is reported with its position, without quoting it', () => {
  expect(readJson('f', '{"a":1,\n"b":2,}')).toMatchObject({
    value: undefined,
    faults: [{ line: 2, col: 7, message: 'no JSON: Expected double-quoted property name in JSON' }],
  });
  expect(readJson('f', 'secret').faults).toEqual([
    { line: 1, col: 1, message: 'no JSON: Unexpected token in JSON' },
  ]);
});

test('lines of JSON are a list; an invalid one is reported and skipped', () => {
  const { value, faults, positionOf } = readJsonl('f', '{"a":1}\n\n{"a":\n  {"a":2}\n{x}\n');
  expect(value).toEqual([{ a: 1 }, { a: 2 }]);
  expect(faults.map(({ line, col }) => `${line}:${col}`)).toEqual(['3:1', '5:2']);
  expect([positionOf([]), positionOf([0]), positionOf([1, 'a'])]).toEqual([
    { line: 1, col: 1 },
    { line: 1, col: 1 },
    { line: 4, col: 4 },
  ]);
});

test('finding a position in a wide and deep file takes linear time', () => {
  const text = `{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)},"wide":[${'[],'.repeat(1_000_000)}"${'\\n'.repeat(1_000_000)}"],"end":1}`;
  const start = cpuMs();
  expect(readJson('f', text).positionOf(['end'])).toEqual({ line: 1, col: text.length - 7 });
  expect(cpuMs() - start).toBeLessThan(3_000);
});
