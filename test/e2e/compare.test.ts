/** `tacho compare` and `eval --repeat`: runs of the chaos agent, compared by the built command line. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { chaosAgent } from '../chaos-agent.ts';
import { demo, kill, type Row, root, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

type Library = typeof import('../../src/index.ts');

const place = usePlace({ trust: true });
const write = (name: string, text: string) => writeFileSync(join(place.work, name), text);

/** A script that runs these commands, one per step. */
const scriptOf = (commands: readonly string[]) =>
  [
    'steps:',
    ...commands.map((cmd) => `  - calls: [{ tool: run, input: { cmd: ${JSON.stringify(cmd)} } }]`),
    '  - say: Done.',
    '',
  ].join('\n');

/** Records a run with these commands. Returns its id. */
async function record(commands: readonly string[]): Promise<string> {
  write('script.yaml', scriptOf(commands));
  const { records, stderr } = await place.tacho(demo('script.yaml'));
  expect(stderr).toBe('');
  return records[0].run_id;
}

const START = ['echo one', 'echo two', 'echo three', 'echo four', 'echo five'];

verifies(
  'RR-1',
  'two runs side by side, with marks, folded calls and the first divergence',
  async () => {
    await record([...START, 'echo a long list of words', 'true', 'echo end', 'echo moved']);
    await record([
      ...START,
      'echo moved',
      'echo a long list of words again',
      'test -d none',
      'echo end',
    ]);
    const { code, stdout, stderr } = await place.tacho(['compare', 'last~1', 'last'], {
      env: { COLUMNS: '80' },
    });
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.find((line) => line.startsWith('result'))).toMatch(/^result +ok +ok$/);
    expect(lines.find((line) => line.startsWith('calls  '))).toMatch(/9 +9, 1 failed$/);
    for (const name of ['cost', 'tokens', 'time', 'files'])
      expect(lines.filter((line) => line.startsWith(`${name}  `))).toHaveLength(1);
    expect(lines.slice(lines.findIndex((line) => line.startsWith('= ')))).toEqual([
      '= 5 equal calls',
      'first divergence:',
      expect.stringMatching(/^ {2}tacho show \w+ --at seq:\d+$/),
      expect.stringMatching(/^ {2}tacho show \w+ --at seq:\d+$/),
      '>  9  6  Bash: echo moved',
      '~  6  7  Bash: echo a long list of words',
      '         now: Bash: echo a long list of words again',
      '         result: another output',
      '-  7     Bash: true',
      '+     8  Bash: test -d none',
      '=  8  9  Bash: echo end',
      '',
    ]);
  },
);

verifies(
  'RR-1',
  'the exit code is 1 with --fail-on divergence, only if a call differs',
  async () => {
    const same = ['echo $RANDOM > /dev/null', 'echo one'];
    const [a, b] = [await record(same), await record(same)];
    const c = await record(['echo one']);
    const compare = (...args: string[]) => place.tacho(['compare', ...args]);
    const codes = [
      (await compare(a, b, '--fail-on', 'divergence')).code,
      (await compare(a, c)).code,
      (await compare(a, c, '--fail-on', 'divergence')).code,
      (await compare(a, c, '--fail-on', 'divergence', '--json')).code,
      (await compare(a, 'none')).code,
      (await compare(a)).code,
      (await compare(a, a)).code,
    ];
    expect(codes).toEqual([0, 0, 1, 1, 1, 2, 2]);
    expect((await compare(a, b)).stdout).toContain('\nno divergence\n');
    const all = await compare(a, b, '--all');
    expect(all.stdout).toContain('=  1  1  Bash: echo $RANDOM > /dev/null'.replaceAll('  1', ' 1'));
  },
);

verifies('RR-1', 'the JSON matches its schema, and the library gives the same', async () => {
  const ids = [await record(START), await record([...START.slice(0, 3), 'ls'])];
  const { stdout } = await place.tacho(['compare', ...ids, '--json']);
  const printed = JSON.parse(stdout);
  const library = (await import(join(root, 'dist/index.js'))) as Library;
  expect(await library.compareRuns({ runs: ids, stateDir: place.state })).toEqual(printed);
  await expect(library.compareRuns({ runs: ['x'] as string[] })).rejects.toThrow();
  const { Compile } = await import('typebox/compile');
  const schema = JSON.parse(readFileSync(join(root, 'schema/comparison.json'), 'utf8'));
  expect([...Compile(schema).Errors(printed)]).toEqual([]);
  expect(printed).toMatchObject({
    schema_version: 'tacho.comparison.v1',
    diverges: true,
    alignments: [{ run: 1, first_divergence: 3, counts: { equal: 3, removed: 2, added: 1 } }],
  });
  const store = library.openStore({ stateDir: place.state });
  const calls = await Promise.all(
    ids.map(async (id) => library.callsOf(await Array.fromAsync(store.events(id)))),
  );
  const [a = [], b = []] = calls;
  expect(library.alignCalls(a, b)).toMatchObject({ first_divergence: 3 });
});

verifies('RR-1', 'an unfinished run can be compared, which is reported', async () => {
  const whole = await record(['echo one']);
  write('hangs.yaml', `${scriptOf(['echo one']).replace('  - say: Done.\n', '')}  - hang: true\n`);
  const started = place.start(demo('hangs.yaml'), { contract: 'none' });
  let text = '';
  started.child.stdout?.on('data', (piece: Buffer) => {
    text += piece.toString();
  });
  await until(() => text.includes('tool_exec_finished'), 'the end of the call');
  const run_id: string = JSON.parse(text.split('\n')[0] as string).run_id;
  const { stdout, code } = await place.tacho(['compare', whole, run_id]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^result +ok +not finished$/m);
  expect(stdout).toMatch(/^note: \w+ is not finished: its calls so far are compared$/m);
  expect(stdout).toContain('\nno divergence\n');
  kill(started.pid);
  await started.done;
});

verifies(
  'RR-2',
  'several runs: shared calls, partings, distribution and medoid fit 80 columns',
  async () => {
    const ids: string[] = [];
    for (const last of ['echo x', 'git status', 'git status', 'git status', 'ls'])
      ids.push(await record(['echo one', last, 'echo end']));
    const { stdout } = await place.tacho(['compare', ...ids], { env: { COLUMNS: '80' } });
    const lines = stdout.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines[0]).toMatch(/^run +result +cost +tokens +time +calls +files +distance$/);
    expect(stdout).toMatch(/^\* \w+ is the medoid/m);
    expect(stdout).toMatch(/^ +min +25 % +median +75 % +max +unknown$/m);
    expect(lines.slice(lines.indexOf('all 5 runs share 2 calls'))).toEqual([
      'all 5 runs share 2 calls',
      '= Bash: echo one',
      'first divergence: the runs part after shared call 1',
      '  ~ 1: Bash: echo x',
      '  ~ 2, 3, 4: Bash: git status',
      '  ~ 5: Bash: ls',
      '= Bash: echo end',
      '',
    ]);
    const { records } = await place.tacho(['compare', ...ids, '--json']);
    expect(records[0]).toMatchObject({ medoid: 1, spread: { calls: { median: 3, known: 5 } } });
  },
);

verifies('RR-2', 'an eval with repeats reports where they part, and the medoid', async () => {
  write('a.yaml', scriptOf(['echo one', 'touch seen']));
  write('b.yaml', scriptOf(['echo one', 'ls -a', 'touch seen']));
  // The first repeat makes the file, and the others find it.
  write(
    'pick.sh',
    `test -e seen && script=b.yaml\nexec ${chaosAgent} --speed 0 --script "\${script:-a.yaml}" "$@"\n`,
  );
  write('tacho.yaml', 'targets:\n  t: { agent: demo, command: [sh, pick.sh] }\n');
  write(
    'e.yaml',
    'tests:\n  - id: x\n    input: go\n    assertions: [{ type: contains, value: Done }]\n',
  );
  const { stdout, code } = await place.tacho(['eval', 'e.yaml', '--target', 't', '--repeat', '3']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ {6}the runs share 2 calls and part after shared call 1; medoid \w+$/m);
  expect(stdout).toMatch(/^ {8}\w+: no call\n {8}\w+, \w+: Bash: ls -a$/m);
  expect(stdout).toMatch(/^ {6}cost .*, time /m);
  const args = ['eval', 'e.yaml', '--target', 't', '--repeat', '2', '--output', 'json'];
  const [one]: Row[] = JSON.parse((await place.tacho(args)).stdout).tests;
  expect(one.repeats).toMatchObject({
    compared: 2,
    medoid: null,
    shared_calls: 3,
    parts_after: null,
    ways: [],
    spread: { duration_ms: { known: 2 }, calls: { min: 3, max: 3 } },
  });
});
