/** Evals that check the folder of a run: `command`, `file`, workspaces, and the eval file that `init` writes. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chaosAgent } from '../chaos-agent.ts';
import { usePlace } from './cli.ts';

const place = usePlace();
const { tacho } = place;
const write = (name: string, text: string) => writeFileSync(join(place.work, name), text);

const TARGETS = `targets:
  quick: { agent: demo, command: ${chaosAgent}, args: [--speed, "0", --script, default] }
`;

test('init writes an eval file that passes immediately, and overwrites nothing', async () => {
  const made = await tacho(['eval', 'init']);
  expect([made.code, made.stdout]).toEqual([
    0,
    'wrote evals/first.yaml\nTry it: tacho eval evals/first.yaml --agent demo\n',
  ]);
  const { code, stdout, stderr } = await tacho([
    'eval',
    'evals/first.yaml',
    '--agent',
    'demo',
    '-v',
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    /^pass {2}greets +1\.00 {2}r_\w+\n( {6}pass {2}[\w-]+ \(1\.00\): .+\n){4}1 test: 1 passed, 0 failed\n1 run, cost \$0\.\d+, tokens [\d.]+k, agent time [\d.]+s, total time [\d.]+s\n$/,
  );
  // The agent worked in a copy.
  expect(readdirSync(place.work)).toEqual(['evals']);
  expect(readdirSync(join(place.work, 'evals/workspace'))).toEqual(['README.md']);
  const text = readFileSync(join(place.work, 'evals/first.yaml'), 'utf8');
  const again = await tacho(['eval', 'init']);
  expect([again.code, again.stderr]).toEqual([
    2,
    'error: evals/first.yaml exists already: name another folder\n',
  ]);
  expect(readFileSync(join(place.work, 'evals/first.yaml'), 'utf8')).toBe(text);
});

test("a command assertion runs in the run's folder after consent, and a file assertion compares its files", async () => {
  write('tacho.yaml', TARGETS);
  mkdirSync(join(place.work, 'seed'));
  write('seed/a.txt', 'a');
  write(
    'a.yaml',
    `workspace: seed
tests:
  - id: works
    input: go
    threshold: 0.6
    assertions:
      - { type: command, command: sh tacho-demo/greet.sh Ada; ls, stdout: { regex: Ada }, timeout: 60 }
      - { type: command, command: [sh, -c, "echo 2 failed; exit 1"] }
      - { type: file, path: tacho-demo/greet.sh, changed: true, contains: name }
      - { type: file, path: a.txt, changed: false }
      - { type: tool-trajectory, mode: in_order, expected: [{ tool: Write, args: { file_path: ./tacho-demo/greet.sh } }] }
`,
  );
  const args = ['eval', 'a.yaml', '--target', 'quick'];
  const asked = await tacho(args);
  expect([asked.code, asked.stdout]).toEqual([2, '']);
  expect(asked.stderr).toContain(
    'starts sh -c "sh tacho-demo/greet.sh Ada; ls" in the folder of each run',
  );
  const { code, stdout } = await tacho([...args, '--trust', '--workers', '2', '--repeat', '2']);
  expect(code).toBe(0);
  const lines = stdout
    .replaceAll(/r_\w+/g, 'ID')
    .replace(/cost \$.*/, 'COST AND TIME')
    .split('\n');
  const failed =
    '      fail  command (0.00): `echo 2 failed; exit 1`: exit code 1, expected 0; stdout: "2 failed"';
  // The failed assertion is shown although the test passes.
  expect(lines.slice(0, 8).sort()).toEqual(
    [
      failed,
      failed,
      'pass  works #1  0.80  ID',
      'pass  works #2  0.80  ID',
      'pass  works: 2 of 2 runs passed, mean score 0.80',
      '      the runs share 10 calls and do not part',
      '      COST AND TIME',
      '1 test: 1 passed, 0 failed',
    ].sort(),
  );
  const record = await tacho(['eval', 'a.yaml', '--run', 'last', '--trust']);
  expect([record.code, record.stdout]).toEqual([
    1,
    expect.stringMatching(/fail {2}command \(0\.00\): the folder of the run is missing: /),
  ]);
});

test('concurrent agents require a workspace, and tool names must be known', async () => {
  write('tacho.yaml', TARGETS);
  write('a.yaml', 'tests: [{ id: a, input: go, assertions: [{ type: is-json, negate: true }] }]\n');
  const args = ['eval', 'a.yaml', '--target', 'quick', '--trust'];
  const refused = await tacho([...args, '--workers', '2']);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining(
      'error: a.yaml: --workers 2 would run agents in one folder: give the file, or the test "a", a workspace',
    ),
  ]);
  const alone = await tacho(args);
  expect([alone.code, alone.stderr]).toEqual([
    0,
    expect.stringContaining('note: the agent works in the current folder'),
  ]);
  write(
    'b.yaml',
    'tests:\n  - id: b\n    assertions:\n      - { type: tool-trajectory, mode: exact, expected: [{ tool: run_shell_command }] }\n',
  );
  const named = await tacho(['eval', 'b.yaml', '--run', 'last']);
  expect([named.code, named.stderr]).toEqual([
    2,
    `error: b.yaml:4:60: tests[0].assertions[0].expected[0].tool: "run_shell_command" is an agent's own name for Bash: use Bash, the name in records\n`,
  ]);
});

test('help lists the options of eval in groups, and sub-commands list only their own', async () => {
  const { stdout } = await tacho(['eval', '--help']);
  expect(stdout.match(/^[A-Z].*:$/gm)?.slice(0, 7)).toEqual([
    'Arguments:',
    'Options:',
    'Which runs to grade:',
    'Grading:',
    'Output:',
    'Limits and retries of new runs:',
    'New runs, live:',
  ]);
  for (const name of ['compare', 'init']) {
    const help = await tacho(['eval', name, '--help']);
    expect(help.stdout).not.toContain('--threshold');
  }
});
