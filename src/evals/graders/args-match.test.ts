import { describe, expect, test } from 'vitest';
import { call, transcript } from '../../../test/build-transcript.ts';
import { grade, parse } from '../../../test/grade.ts';
import { globPattern } from '../../lib/glob.ts';
import type { TranscriptCall } from '../../model/transcript.ts';

const CWD = '/tmp/tacho-eval-x';
const run = (...calls: TranscriptCall[]) =>
  transcript(calls, { source: { kind: 'run', path: null, cwd: CWD } });
const expecting = (args: unknown, more: object = {}) => ({
  type: 'tool-trajectory',
  mode: 'in_order',
  expected: [{ tool: 'Edit', args, ...more }],
});
const edit = (file_path: unknown) => call('Edit', { file_path });
const verdict = async (args: unknown, input: unknown, more?: object) =>
  (await grade(expecting(args, more), run(call('Edit', input)))).verdict;

describe('paths in arguments', () => {
  test.each([
    ['sum.js', `${CWD}/sum.js`, 'pass'],
    ['./sum.js', `${CWD}/src/../sum.js`, 'pass'],
    [`${CWD}/sum.js`, 'sum.js', 'pass'],
    ['src/sum.js', './src/sum.js', 'pass'],
    ['sum.js', `${CWD}/src/sum.js`, 'fail'],
    ['sum.js', '/tmp/other/sum.js', 'fail'],
    ['sum.js', `${CWD}-2/sum.js`, 'fail'],
    ['../sum.js', '/tmp/sum.js', 'fail'],
    ['sum.js', `${CWD}/../sum.js`, 'fail'],
    ['/etc/hosts', '/etc/hosts', 'pass'],
    ['sum.js', 7, 'fail'],
  ])('%s and %s: %s', async (expected, actual, want) => {
    expect(await verdict({ file_path: expected }, { file_path: actual })).toBe(want);
  });

  test('only path fields are compared as paths, at any depth', async () => {
    const changes = [{ path: `${CWD}/a.txt`, kind: 'add' }];
    expect(await verdict({ changes: [{ path: 'a.txt', kind: 'add' }] }, { changes })).toBe('pass');
    expect(await verdict({ old_string: 'a' }, { old_string: `${CWD}/a` })).toBe('fail');
    for (const args_match of ['exact', 'subset', ['file_path']])
      expect(await verdict({ file_path: 'a' }, { file_path: `${CWD}/a` }, { args_match })).toBe(
        'pass',
      );
  });
});

describe('matchers', () => {
  test.each([
    [{ old_string: { contains: 'b' } }, { old_string: 'abc' }, 'pass'],
    [{ old_string: { contains: 'x' } }, { old_string: 'abc' }, 'fail'],
    [{ old_string: { contains: 'x' } }, { old_string: null }, 'fail'],
    [{ old_string: { contains: 'x' } }, {}, 'fail'],
    [{ old_string: { regex: '^A', flags: 'i' } }, { old_string: 'abc' }, 'pass'],
    [{ line: { regex: '^[0-9]+$' } }, { line: 12 }, 'pass'],
    [{ old_string: { glob: 'npm * --all' } }, { old_string: 'npm test a/b --all' }, 'pass'],
    [{ file_path: { glob: 'src/**/*.js' } }, { file_path: `${CWD}/src/a/b/c.js` }, 'pass'],
    [{ file_path: { glob: './src/*.js' } }, { file_path: `${CWD}/src/c.js` }, 'pass'],
    [{ file_path: { glob: 'src/*.js' } }, { file_path: `${CWD}/src/a/c.js` }, 'fail'],
    [{ file_path: { glob: '**/*.js' } }, { file_path: '/elsewhere/c.js' }, 'fail'],
    [{ file_path: { glob: '/elsewhere/*.js' } }, { file_path: '/elsewhere/./c.js' }, 'pass'],
    [{ file_path: { regex: '^src/' } }, { file_path: `${CWD}/src/a.js` }, 'pass'],
    [{ edits: [{ new: { contains: 'b' } }, 1] }, { edits: [{ new: 'abc' }, 1] }, 'pass'],
    [{ options: { equals: { regex: 'x' } } }, { options: { regex: 'x' } }, 'pass'],
    [{ options: { equals: { regex: 'x' } } }, { options: { regex: 'xx' } }, 'fail'],
    // A field of the tool itself may have such a name.
    [{ contains: 'abc' }, { contains: 'abc' }, 'pass'],
    [{ contains: 'a' }, { contains: 'abc' }, 'fail'],
  ])('%j and %j: %s', async (args, input, want) => {
    expect(await verdict(args, input)).toBe(want);
  });

  test('a pattern decides which call belongs to which step', async () => {
    const expected = ['b', 'a'].map((name) => ({
      tool: 'Edit',
      args: { file_path: { regex: `${name}[.]js$` } },
    }));
    const calls = [edit('a.js'), edit('b.js'), edit('a.js')];
    const found = await grade(
      { type: 'tool-trajectory', mode: 'in_order', expected },
      run(...calls),
    );
    expect(found.evidence.map(({ call_id }) => call_id)).toEqual(['c2', 'c3']);
  });

  test('a pattern that takes too long gives no verdict', async () => {
    const failure = 'the pattern took more than 2000 ms';
    const matches = async () => ({ matched: [], failure });
    const slow = expecting({ file_path: { regex: '(a+)+$' } });
    expect(await grade(slow, run(edit('a')), { matches })).toMatchObject({
      verdict: 'fail',
      broken: true,
      reason: `${failure}: (a+)+$`,
    });
  });

  test.each([
    ['a*c', 'abbc', true],
    ['a?c', 'a/c', false],
    ['[!a]b', 'cb', true],
    ['[!a]b', 'ab', false],
    ['{src,test}/*.{js,ts}', 'test/a.ts', true],
    ['{src', '{src', true],
    ['a.c', 'abc', false],
    ['\\*', '*', true],
    ['**/x', 'x', true],
    ['**/x', 'a/b/x', true],
    ['(a|b)+', '(a|b)+', true],
  ])('as a path, %s and %s: %s', (glob, text, want) => {
    expect(new RegExp(globPattern(glob, '[^/]')).test(text)).toBe(want);
  });

  test.each([
    ['{ regex: "(" }', 'regex is not a valid regular expression: /(/: Unterminated group'],
    [
      '{ regex: a, contains: b }',
      'takes one of regex, contains, glob, equals, not regex and contains',
    ],
    ['{ contains: [1] }', 'contains must be a string'],
    ['{ contains: a, flags: i }', 'flags has an effect only with regex'],
    ['{ regex: a, flag: i }', 'flag: unknown field; did you mean flags?'],
    ['[{ glob: "" }]', 'glob must not be empty'],
    ['{ regx: a }', 'unknown matcher "regx"; did you mean regex?'],
  ])('%s is a mistake', async (matcher, want) => {
    const line = `      - { type: tool-trajectory, mode: exact, expected: [{ tool: Edit, args: { f: ${matcher} } }] }`;
    const error = await parse(`tests:\n  - id: a\n    assertions:\n${line}\n`).catch(
      (thrown) => thrown,
    );
    expect(error.message).toMatch(
      /^evals\/a\.yaml:4:\d+: tests\[0\]\.assertions\[0\]\.expected\[0\]\.args\.f/,
    );
    expect(error.message).toContain(want);
  });
});

describe('the nearest call is shown', () => {
  const reason = async (step: object, ...calls: TranscriptCall[]) =>
    (await grade({ type: 'tool-trajectory', mode: 'in_order', expected: [step] }, run(...calls)))
      .reason;
  const wanted = { tool: 'Edit', args: { file_path: 'sum.js', old_string: 'a' } };
  const head = 'missing: Edit {"file_path":"sum.js","old_string":"a"}; ';

  test('with the arguments that differ', async () => {
    const other = call('Edit', { file_path: `${CWD}/lib/sum.js`, old_string: 'a' });
    const far = call('Edit', { file_path: 'x' });
    expect(await reason(wanted, far, other)).toBe(
      `${head}nearest: Edit lib/sum.js: file_path is "lib/sum.js", expected "sum.js"`,
    );
    expect(await reason(wanted, far)).toBe(
      `${head}nearest: Edit x: file_path is "x", expected "sum.js"; has no old_string (it has file_path)`,
    );
  });

  test('with its status, extra fields, or its position', async () => {
    const bash = call('Bash', { command: 'ls', cwd: '/' });
    const exact = { tool: 'Bash', args: { command: 'ls' }, args_match: 'exact', status: 'error' };
    expect(await reason(exact, bash)).toBe(
      'missing: Bash {"command":"ls"}, status error; nearest: Bash ls: also has cwd; status is ok, expected error',
    );
    const expected = [{ tool: 'Read' }, { tool: 'Bash' }];
    const calls = run(bash, call('Read', { file_path: 'a' }));
    const swapped = await grade({ type: 'tool-trajectory', mode: 'in_order', expected }, calls);
    expect(swapped.reason).toMatch(/^missing: \w+; call \d of 2 matches, but out of order/);
  });

  test('or else the called tools', async () => {
    const bash = call('Bash', { command: 'ls' });
    expect(await reason({ tool: 'Edit' }, bash, call('Read'), bash)).toBe(
      'missing: Edit; the run called Bash (2 times), Read',
    );
    expect(await reason({ tool: 'Edit' })).toBe('missing: Edit; the run called no tool');
  });

  test('with the part around the first difference of long texts', async () => {
    const long = (end: string) => `${'x'.repeat(500)}${end}${'y'.repeat(500)}`;
    const step = { tool: 'Bash', args: { command: long('A') } };
    const text = await reason(step, call('Bash', { command: long('B') }));
    expect(text.slice(text.indexOf('command is'))).toBe(
      `command is "…${'x'.repeat(20)}B${'y'.repeat(39)}…", expected "…${'x'.repeat(20)}A${'y'.repeat(39)}…"`,
    );
  });
});
