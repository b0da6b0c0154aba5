/** Evals: some of the tests, a list of them, mistakes that are reported before any run, and how failures are shown. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Transcript } from '../../src/model/transcript.ts';
import { call, transcript } from '../build-transcript.ts';
import { usePlace } from './cli.ts';

const place = usePlace();
const { tacho } = place;
const write = (name: string, text: string) => writeFileSync(join(place.work, name), text);
const transcripts = (...all: Transcript[]) =>
  write('a.jsonl', all.map((one) => `${JSON.stringify(one)}\n`).join(''));

const THREE = `tests:
  - { id: read-one, input: one, assertions: [{ type: contains, value: Done }] }
  - { id: read-two, input: two, assertions: [{ type: contains, value: Done }, { type: is-json }] }
  - { id: write, input: three, assertions: [{ type: contains, value: Done }] }
`;

test('--test grades only the named tests, and leaves out the transcripts of others', async () => {
  write('three.yaml', THREE);
  transcripts(...['read-one', 'read-two', 'write'].map((test_id) => transcript([], { test_id })));
  const graded = async (...ids: string[]) => {
    const args = ['eval', 'three.yaml', '--transcript', 'a.jsonl', '--output', 'json', '--test'];
    const { code, stdout, stderr } = await tacho([...args, ...ids]);
    const tests: { id: string }[] = stdout === '' ? [] : JSON.parse(stdout).tests;
    return { code, stderr, ids: tests.map(({ id }) => id) };
  };
  expect(await graded('write')).toEqual({ code: 0, stderr: '', ids: ['write'] });
  expect(await graded('read-*')).toEqual({ code: 1, stderr: '', ids: ['read-one', 'read-two'] });
  expect(await graded('write', 'red-one')).toEqual({
    code: 2,
    stderr: 'error: --test: unknown test "red-one"; did you mean read-one?\n',
    ids: [],
  });
});

test('--list checks the files and lists the tests without consent and without a run', async () => {
  write('three.yaml', THREE);
  write(
    'b.yaml',
    'tests: [{ id: b, input: go, assertions: [{ type: command, command: touch made }] }]\n',
  );
  const { code, stdout, stderr } = await tacho(['eval', 'three.yaml', 'b.yaml', '--list']);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: `three.yaml:2  read-one  1 assertion   one
three.yaml:3  read-two  2 assertions  two
three.yaml:4  write     1 assertion   three
b.yaml:1      b         1 assertion   go
4 tests
`,
    stderr: '',
  });
  const args = ['eval', 'three.yaml', '--list', '--test', 'write', '--output', 'json'];
  expect(JSON.parse((await tacho(args)).stdout)).toEqual([
    { eval: 'three.yaml', line: 4, id: 'write', assertions: ['contains'], input: 'three' },
  ]);
  expect(existsSync(join(place.work, 'made'))).toBe(false);
  write('bad.yaml', 'tests: [{ id: b, imput: go, assertions: [{ type: is-jsn }] }]\n');
  const bad = await tacho(['eval', 'bad.yaml', '--list']);
  expect([bad.code, bad.stderr]).toEqual([
    2,
    `error: bad.yaml:1:18: tests[0].imput: unknown field; did you mean input?
error: bad.yaml:1:44: tests[0].assertions[0].type: unknown assertion type "is-jsn"; did you mean is-json?
`,
  ]);
});

test('a mistake that would fail a test after its run is reported before any run', async () => {
  write(
    'a.yaml',
    `tests:
  - { id: mute, assertions: [{ type: is-json }] }
  - { id: homeless, input: go, workspace: nowhere, assertions: [{ type: is-json }] }
  - { id: judged, input: go, assertions: [Is polite] }
  - { id: keyless, input: go, assertions: [{ type: llm-grader, criteria: x, model: m }] }
`,
  );
  const env = { OPENAI_API_KEY: '', TACHO_GRADER_MODEL: '' };
  const { code, stdout, stderr } = await tacho(['eval', 'a.yaml', '--agent', 'demo'], { env });
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: `error: a.yaml:2: the test "mute" has no input: add one, or grade a recorded run with --run
error: a.yaml:3: the test "homeless" has no workspace: ${join(place.work, 'nowhere')} is not a folder
error: a.yaml:4: the test "judged" is judged by a model: name it under grader in the file, or in TACHO_GRADER_MODEL
error: a.yaml:5: the test "keyless" is judged by a model: set its key in OPENAI_API_KEY
`,
  });
  expect((await tacho(['runs', 'list', '--json'])).stdout).toBe('');
});

test('every fact that fails is on a line of its own, below the nearest call; several files have titles', async () => {
  write(
    'a.yaml',
    `tests:
  - id: a
    assertions:
      - type: tool-trajectory
        mode: in_order
        expected:
          - { tool: Edit, args: { file_path: sum.js }, status: error }
          - { tool: Bash, args: { cmd: ls } }
      - { type: execution-metrics, max_tool_calls: 1, max_cost_usd: 0.001, max_tokens: 1000 }
`,
  );
  write('b.yaml', 'tests: [{ id: b, assertions: [{ type: contains, value: Done }] }]\n');
  transcripts(
    transcript([call('Edit', { file_path: 'lib/sum.js' }), call('Bash', { command: 'ls' })]),
  );
  const args = ['eval', 'a.yaml', 'b.yaml', '--transcript', 'a.jsonl', '--each'];
  const { code, stdout } = await tacho([...args, '--workers', '1']);
  expect({ code, stdout: stdout.replace(/time \w+\n$/, 'time TIME\n') }).toEqual({
    code: 1,
    stdout: `a.yaml
FAIL  a  0.00 < 0.80  a.jsonl:1
      fail  tool-trajectory (0.00)
            - missing: Edit {"file_path":"sum.js"}, status error
              nearest: Edit lib/sum.js: file_path is "lib/sum.js", expected "sum.js"; status is ok, expected error
            - missing: Bash {"cmd":"ls"}
              nearest: Bash ls: has no cmd (it has command)
      fail  execution-metrics (0.00)
            - tool calls: 2, limit 1
            - cost: $0.0200, limit $0.0010
b.yaml
pass  b  1.00  a.jsonl:1
2 tests: 1 passed, 1 failed
1 run, cost $0.0200, tokens 125, agent time 2.0s, total time TIME
`,
  });
});

test('with more tests than a screen holds, those that failed are listed again with their lines', async () => {
  const tests = Array.from({ length: 12 }, (_, i) => {
    const value = i % 5 === 0 ? 'never' : 'Done';
    return `  - { id: t${i}, assertions: [{ type: contains, value: ${value} }] }\n`;
  });
  write('many.yaml', `tests:\n${tests.join('')}`);
  transcripts(transcript([]));
  const { stdout } = await tacho(['eval', 'many.yaml', '--transcript', 'a.jsonl', '--each']);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.slice(-5, -1)).toEqual([
    'FAIL  t0  many.yaml:2',
    'FAIL  t5  many.yaml:7',
    'FAIL  t10  many.yaml:12',
    '12 tests: 9 passed, 3 failed',
  ]);
});
