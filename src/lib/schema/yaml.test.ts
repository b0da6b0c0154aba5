import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../test/cpu-ms.ts';
import { readYaml } from './yaml.ts';

const faultOf = (text: string) => readYaml('F', text, { merge: true }).faults[0] ?? null;
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
      const read = readYaml('F', text);
      expect([read.faults, typeof read.value]).toEqual([[], 'object']);
      expect(performance.now() - start).toBeLessThan(30_000);
    });

  test('50,000 mistakes in one line take seconds, not minutes', () => {
    const start = performance.now();
    expect(faultOf(`${'!!x '.repeat(50_000)}x`)?.message).toContain('at most one tag');
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test('nesting that overflows the stack is reported as too deep', () => {
    for (const open of ['[', '- ', '? ', 'a: {'])
      expect(faultOf(open.repeat(50_000))?.message).toContain('is nested deeper than');
  });

  test('a duplicate key is reported with its place, at any depth', () => {
    const twice = { line: 3, col: 3, message: 'the key "b" is given twice' };
    expect(faultOf('a:\n  b: 1\n  b: 2\n')).toEqual(twice);
    expect(faultOf('- {x: [{y: 1, "y": 2}]}')).toMatchObject({
      message: 'the key "y" is given twice',
    });
    expect(faultOf('a: &a {x: 1}\nb: &b {y: 1}\nc:\n  <<: *a\n  <<: *b\n')).toBeNull();
  });

  test('a template without quotes, which YAML reads as a map with a map as its key, is reported', () => {
    expect(faultOf('a:\n  input: {{ name }}\n')).toEqual({
      line: 2,
      col: 11,
      message: expect.stringContaining('put it in quotes'),
    });
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

  const keys = (count: number) => `&a {${many(count, (i) => `k${i}: 1`, ', ')}}`;
  const merges = `<<: [${many(990, () => '*a', ', ')}]`;
  const targets = (env: string) => many(990, (i) => `  t${i}: {agent: demo, env: ${env}}`);
  for (const [what, text, line] of [
    ['maps', `x: ${keys(18_000)}\ntargets:\n${targets('*a')}`, 5],
    ['merges', `x: ${keys(18_000)}\ntargets:\n${targets('{<<: *a}')}`, 5],
    ['one merge of many', `x: ${keys(18_000)}\ntargets: {t: {env: {${merges}}}}`, 2],
    ['merges into tests', `a: ${keys(2_000)}\ntests:\n${many(990, () => '  - {<<: *a}')}`, 27],
    ['one merge as tests', `a: ${keys(20_000)}\ntests: {${merges}}`, 2],
    ['aliases of aliases', `- &a [${'x, '.repeat(900)}]\n- &b [${'*a, '.repeat(90)}]\n- *b`, 3],
    ['long texts', `- &a ${'x'.repeat(1_000_000)}\n${many(990, () => '- *a')}`, 8],
  ] as const)
    test(`the expansion of aliases is bounded: ${what}`, () => {
      const start = cpuMs();
      const message = 'has aliases that expand to more than 100000 values';
      expect(faultOf(text)).toMatchObject({ line, message });
      expect(cpuMs() - start).toBeLessThan(2_000);
    });

  test('many aliases in an anchor of a wide file take linear time', () => {
    const text = `a: &a 1\nb: &b [${'*a, '.repeat(900)}]\nc: *b\nd: [${'1, '.repeat(200_000)}]`;
    const start = cpuMs();
    const { faults, value } = readYaml('F', text);
    expect([faults, Object.keys(value as object)]).toEqual([[], ['a', 'b', 'c', 'd']]);
    // 2 s; if each alias walked through the file, 15 s more.
    expect(cpuMs() - start).toBeLessThan(8_000);
  });

  test('an alias is refused inside its own anchor and without an anchor, and refers to the last anchor before it', () => {
    const message = 'has no anchor &a that ends before this';
    for (const text of ['- 1\n- &a [*a]', '- 1\n- [*a, &a 1]', '- &a 1\n- &a [*a]'])
      expect(faultOf(text)).toMatchObject({ line: 2, message });
    expect(readYaml('F', '[&a 1, *a, &a 2, *a]').value).toEqual([1, 1, 2, 2]);
  });

  test('another version of YAML is refused, with its place', () => {
    const message = 'only YAML 1.2 is read: leave out the %YAML directive';
    expect(faultOf('# x\n%YAML 1.1\n---\na: yes\n')).toEqual({ line: 2, col: 1, message });
    expect(readYaml('F', '%YAML 1.2\n---\na: yes\n').value).toEqual({ a: 'yes' });
  });

  test('places are those of keys and items', () => {
    const { positionOf } = readYaml('F', 'a:\n  - b: 1\n    c: 2\n  - d\n');
    expect([
      positionOf([]),
      positionOf(['a', 0, 'c']),
      positionOf(['a', '1']),
      positionOf(['a', 0, 'nothing']),
    ]).toEqual([
      { line: 1, col: 1 },
      { line: 3, col: 5 },
      { line: 4, col: 5 },
      { line: 2, col: 5 },
    ]);
  });
});
