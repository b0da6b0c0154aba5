/** `tacho.yaml`, flags, and how they reach the agent: prompt, arguments, environment, folder. */
import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chaosAgent } from '../chaos-agent.ts';
import { finished, fixture, type Options, type Result, type Row, usePlace } from './cli.ts';

const place = usePlace({ trust: true });
const { tacho } = place;
const command = () => JSON.stringify([process.execPath, fixture('echo-agent.mjs')]);
const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');

function config(text: string, folder = place.work): string {
  const path = join(folder, 'tacho.yaml');
  writeFileSync(path, text);
  return path;
}

const toy = (more = '') =>
  config(`targets:\n  toy:\n    agent: claude\n    command: ${command()}\n${more}`);

/** The toy agent's report of its input. */
const inputOf = (result: Result): Row => JSON.parse(finished(result).final_output);

async function run(words: string[], options: Options = {}): Promise<Row> {
  const result = await tacho(['run', '--output', 'json', ...words], options);
  expect([result.code, result.stderr]).toEqual([0, '']);
  return inputOf(result);
}

test('a target names agent, program, model, arguments, environment, folder and limits', async () => {
  mkdirSync(join(place.work, 'sub'));
  toy(
    '    model: big\n    args: [--max-turns, "3"]\n    env: { WORD: from-target }\n    cwd: sub\n    timeout: 60\n    approve: edits\n',
  );
  const got = await run(['--target', 'toy', 'hello']);
  expect(got).toEqual({
    args: [
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--model',
      'big',
      '--permission-mode',
      'acceptEdits',
      '--max-turns',
      '3',
    ],
    cwd: realpathSync(join(place.work, 'sub')),
    word: 'from-target',
    bytes: 5,
    sha256: sha256('hello'),
  });
});

test("flags override the target, and arguments after -- follow the target's, unchanged", async () => {
  toy('    model: big\n    args: [--a]\n    env: { WORD: from-target }\n    approve: edits\n');
  const flags = [
    '--model',
    'small',
    '--approve',
    'all',
    '--env',
    'WORD=a=b c',
    '--cwd',
    place.folder,
  ];
  const odd = ['--', '--output', 'human', '-x', '', 'two words', '$HOME', '--', "quo'te", 'ü'];
  const env = { IS_SANDBOX: '1' };
  const got = await run(['--target', 'toy', ...flags, 'hello', ...odd], { env });
  expect(got.args.slice(4)).toEqual([
    '--model',
    'small',
    '--permission-mode',
    'bypassPermissions',
    '--a',
    ...odd.slice(1),
  ]);
  expect([got.word, got.cwd]).toEqual(['a=b c', realpathSync(place.folder)]);
});

for (const name of ['model', 'resume'])
  test(`a ${name} that the agent would read as a flag is refused`, async () => {
    toy();
    const { code, stderr } = await tacho([
      'run',
      '--trust',
      '--target',
      'toy',
      `--${name}=-x`,
      'hello',
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${name} must not begin with "-"`)]);
  });

test('default_target is used when neither agent nor target is given', async () => {
  config(`default_target: toy\ntargets:\n  toy: { agent: claude, command: ${command()} }\n`);
  expect((await run(['hello'])).bytes).toBe(5);
  const other = await tacho(['run', '--agent', 'demo', 'hello', '--', '--speed', '0']);
  expect([other.code, other.stdout.includes(' demo 1.0.0 ')]).toEqual([0, true]);
});

test('the nearest tacho.yaml upwards is used', async () => {
  toy();
  const deep = join(place.work, 'a/b');
  mkdirSync(deep, { recursive: true });
  expect((await run(['--target', 'toy', 'x'], { cwd: deep })).cwd).toBe(realpathSync(deep));
});

test('an empty tacho.yaml is valid', async () => {
  config('');
  expect((await tacho(['run', '--agent', 'demo', 'x', '--', '--speed', '0'])).code).toBe(0);
});

/** The mistake, its place, and the message. */
const MISTAKES: [string, string, string][] = [
  ['bad yaml', 'targets:\n  a: [', '2:'],
  ['a tab', 'targets:\n\ta: 1\n', '2:'],
  [
    'aliases without end',
    `a: &a [1, 1]\n${[...'bcdefghij'].map((name, at) => `${name}: &${name} [${`*${'abcdefghi'[at]}, `.repeat(9)}1]\n`).join('')}`,
    ':6:20: has aliases that expand to more than 100000 values',
  ],
  [
    'too many patterns',
    `redact: [${'a, '.repeat(64)}a]\n`,
    ':1:1: redact has more than 64 patterns',
  ],
  [
    'patterns that are too expensive together',
    `redact:\n${[64, 65, 66, 67].map((count) => `  - "[a-f0-9]{${count}}"\n`).join('')}`,
    ':5:5: redact[3] redaction pattern "[a-f0-9]{67}" takes too many steps together',
  ],
  ['an invalid pattern', 'redact:\n  - fine\n  - "("\n', ':3:5: redact[1] '],
  ['no program', 'targets: {a: {agent: demo, command: []}}\n', ':1:28: targets.a.command must be'],
  ['a list', '- a\n', ':1:1: must be a map'],
  ['an unknown field', 'target:\n  a: 1\n', ':1:1: target: unknown field; did you mean targets?'],
  [
    'an unknown target field',
    'targets:\n  a:\n    agent: demo\n    modle: x\n',
    ':4:5: targets.a.modle: unknown field; did you mean model?',
  ],
  [
    'a flag as model',
    'targets:\n  a:\n    agent: gemini\n    model: --yolo\n',
    ':4:5: targets.a.model must not begin with "-"',
  ],
  ['no agent', 'targets:\n  a:\n    model: x\n', ':2:3: targets.a lacks the field agent'],
  [
    'an unknown agent',
    'targets:\n  a:\n    agent: nobody\n',
    ':3:5: targets.a.agent: unknown agent "nobody"; expected one of: ',
  ],
  ['a number as agent', 'targets:\n  a:\n    agent: 7\n', ':3:5: targets.a.agent must be a string'],
  [
    'a text as list',
    'targets:\n  a:\n    agent: demo\n    args: x\n',
    ':4:5: targets.a.args must be a list of strings',
  ],
  [
    'a list as environment',
    'targets:\n  a:\n    agent: demo\n    env: [A]\n',
    ':4:5: targets.a.env must be a map of names to strings',
  ],
  [
    'a map in the environment',
    'targets:\n  a:\n    agent: demo\n    env:\n      A: { b: c }\n',
    ':5:7: targets.a.env.A must be a string',
  ],
  [
    'a timeout of 0',
    'targets:\n  a:\n    agent: demo\n    timeout: 0\n',
    ':4:5: targets.a.timeout must be a number of seconds greater than 0',
  ],
  [
    'a wrong approve',
    'targets:\n  a:\n    agent: demo\n    approve: some\n',
    ':4:5: targets.a.approve must be one of default, edits, all',
  ],
  ['a target that is not a map', 'targets:\n  a: demo\n', ':2:3: targets.a must be a map'],
  [
    'an unknown default_target',
    'default_target: b\ntargets:\n  a: { agent: demo }\n',
    ':1:1: default_target is not the name of a target; targets: a',
  ],
  ['an invalid redact pattern', 'redact: ["("]\n', ''],
];

for (const [what, text, says] of MISTAKES) {
  test(`a mistake in tacho.yaml is reported with line, column and field: ${what}`, async () => {
    const path = config(text);
    const { code, stdout, stderr } = await tacho([
      'run',
      '--agent',
      'demo',
      '--output',
      'json',
      'x',
      '--',
      '--speed',
      '0',
    ]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: [^\n]*\n$/);
    if (says !== '') expect(stderr).toContain(`${path}${says.startsWith(':') ? says : ''}`);
    expect(stderr).toContain(says);
  });
}

test('an unknown target is reported with the existing ones', async () => {
  const none = await tacho(['run', '--target', 'x', 'p']);
  expect([none.code, none.stderr]).toEqual([
    2,
    'error: unknown target "x": there is no tacho.yaml here or above\n',
  ]);
  const path = toy();
  const other = await tacho(['run', '--target', 'x', 'p']);
  expect([other.code, other.stderr]).toEqual([2, `error: unknown target "x": ${path} has toy\n`]);
});

test('the prompt comes from stdin with - or without an argument', async () => {
  toy();
  const prompt = 'line one\n  line two\n\u2028\u0000 end\n';
  for (const words of [['-'], []]) {
    const got = await run(['--target', 'toy', ...words], { input: prompt });
    expect([got.bytes, got.sha256]).toEqual([Buffer.byteLength(prompt), sha256(prompt)]);
  }
});

test('a prompt of 5 MB reaches the agent byte for byte', async () => {
  toy();
  const prompt = 'äöü €𝄞 0123456789 '.repeat(200_000).slice(0, 5_000_000);
  const got = await run(['--target', 'toy', '-'], { input: prompt });
  expect([got.bytes, got.sha256]).toEqual([Buffer.byteLength(prompt), sha256(prompt)]);
});

test('an empty prompt is refused', async () => {
  toy();
  const none = 'no prompt: give it as an argument, or pipe it in';
  const mistakes: [words: string[], input: string, why: string][] = [
    [[], '', none],
    [[], ' \n', none],
    [['-'], '', 'the prompt on stdin is empty'],
    // An empty variable of a job.
    [[''], 'not read', 'the prompt is empty'],
  ];
  for (const [words, input, why] of mistakes) {
    const { code, stderr } = await tacho(['run', '--target', 'toy', ...words], { input });
    expect([code, stderr]).toEqual([2, `error: ${why}\n`]);
  }
});

test('a prompt that begins with dashes is passed unchanged through stdin', async () => {
  toy();
  const got = await run(['--target', 'toy', '-'], { input: '--help me' });
  expect(got.sha256).toBe(sha256('--help me'));
});

test('unquoted words make one prompt', async () => {
  toy();
  expect((await run(['--target', 'toy', 'fix', 'the', 'test'])).sha256).toBe(
    sha256('fix the test'),
  );
});

test('--resume reaches the agent, and --label the record', async () => {
  toy();
  const got = await run([
    '--target',
    'toy',
    '--resume',
    's-1',
    '--label',
    'ci=yes',
    '--label',
    'pr=7=8',
    'x',
  ]);
  expect(got.args).toEqual(expect.arrayContaining(['--resume', 's-1']));
  const shown = JSON.parse((await tacho(['runs', 'show', 'last', '--json'])).stdout);
  expect(shown.metadata.labels).toEqual({ ci: 'yes', pr: '7=8' });
});

test('a timeout in the target stops the run', async () => {
  config(
    `targets:\n  slow:\n    agent: demo\n    command: ${chaosAgent}\n    timeout: 0.5\n    args: [--script, hang]\n`,
  );
  const result = await tacho(['run', '--target', 'slow', '--output', 'json', 'x']);
  expect([result.code, finished(result).exit_reason]).toEqual([124, 'timeout']);
});

test('a missing or non-executable program of a target is named', async () => {
  config(
    'targets:\n  a: { agent: claude, command: ./nowhere }\n  b: { agent: claude, command: ./plain.txt }\n',
  );
  writeFileSync(join(place.work, 'plain.txt'), 'x');
  const missing = await tacho(['run', '--target', 'a', '--output', 'json', 'x']);
  expect([missing.code, missing.records.length]).toEqual([127, 1]);
  expect(finished(missing).error).toContain(join(place.work, 'nowhere'));
  const plain = await tacho(['run', '--target', 'b', '--output', 'json', 'x']);
  expect([plain.code, plain.records.length]).toEqual([70, 1]);
  expect(finished(plain).error).toContain('plain.txt is not executable');
});

test('a program of --command that does not exist is not taken for a missing agent', async () => {
  const command = (program: string) =>
    tacho(['run', '--agent', 'claude', '--command', program, 'go']);
  const [named, placed] = [await command('no-such-program'), await command('./no-such')];
  expect([named.code, named.stderr, placed.code, placed.stderr]).toEqual([
    127,
    'error: the command "no-such-program" is not on the PATH\n',
    127,
    `error: the command "${join(place.work, 'no-such')}" does not exist\n`,
  ]);
  const file = join(place.work, 'file');
  writeFileSync(file, '');
  const wrong = await tacho(['run', '--agent', 'demo', '--cwd', file, 'go']);
  expect([wrong.code, wrong.stderr]).toEqual([
    70,
    `error: cannot work in ${file}: it is not a folder\n`,
  ]);
});
