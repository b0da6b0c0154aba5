/** Completion in the real shells: commands, options, values of the store and of tacho.yaml, and paths. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { bin, demo, filesBelow, usePlace } from './cli.ts';
import { can } from './needs.ts';

const place = usePlace();
const { tacho } = place;

const CONFIG = `targets:
  review:
    agent: claude
  "rm -rf $(x)":
    agent: demo
`;

/** A folder with a run, a configuration, and `tacho` on the PATH. */
async function prepare(): Promise<{ run: string; env: Record<string, string> }> {
  const { records } = await tacho(demo('fixed', '--label', 'build=7', '--label', 'odd=a b;c'));
  writeFileSync(join(place.work, 'tacho.yaml'), CONFIG);
  mkdirSync(join(place.work, 'notes'));
  const programs = join(place.folder, 'bin');
  mkdirSync(programs);
  const script = `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`;
  writeFileSync(join(programs, 'tacho'), script);
  chmodSync(join(programs, 'tacho'), 0o755);
  const PATH = [programs, process.env.PATH].join(delimiter);
  const env = { PATH, HOME: place.folder, TACHO_HOME: place.state, LANG: 'C.UTF-8' };
  return { run: String(records[0].run_id).slice(2, 12), env };
}

/** The completions of each line of words, by a program that prints the candidates of one line per line. */
const lines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('|').filter(Boolean));

test('bash completes commands, options, agents, runs, targets, labels, choices and paths', async () => {
  const { run, env } = await prepare();
  const before = filesBelow(place.state);
  const asked = [
    [['ru'], ['run', 'runs']],
    [
      ['runs', 're'],
      ['recover', 'reindex', 'restore'],
    ],
    [['run', '--ou'], ['--output']],
    [
      ['run', '--output', ''],
      ['human', 'json'],
    ],
    [
      ['run', '--agent', 'co'],
      ['codex', 'copilot'],
    ],
    [
      ['run', '--agent', '=', 'co'],
      ['codex', 'copilot'],
    ],
    [['run', '--target', ''], ['review']],
    [['run', '--label', ''], ['build=7']],
    [['runs', 'list', '--project', basename(place.work)], [basename(place.work)]],
    [['run', '--label', 'build', '='], ['7']],
    [['import', '--sh'], []],
    [
      ['show', ''],
      ['last', run],
    ],
    [['runs', 'rm', 'last', run.slice(0, 4)], [run]],
    [['--state-dir', '/nowhere', 'show', ''], []],
    [['schema', 'run'], ['run-event']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['drift', 'de'], ['demo']],
    [['drift', 'demo', 'tacho.'], ['tacho.yaml']],
    [['run', '--cwd', 'no'], ['notes']],
    [['run', 'a prompt', '--', '--mo'], []],
  ] as const;
  const script = (await tacho(['completion', 'bash'])).stdout;
  const ask = ([...words]: readonly string[]) =>
    `ask ${words.map((word) => `'${word}'`).join(' ')}`;
  const program = `${script}
ask() {
  COMP_WORDS=(tacho "$@"); COMP_CWORD=$#; _tacho
  printf '%s|' "\${COMPREPLY[@]}"; echo
}
${asked.map(([words]) => ask(words)).join('\n')}`;
  const { stdout, stderr } = spawnSync('bash', ['-c', program], {
    cwd: place.work,
    env,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const found = lines(stdout);
  for (const [at, [words, wanted]] of asked.entries())
    expect({ words, found: found[at] }).toEqual({ words, found: wanted });
  expect(filesBelow(place.state)).toEqual(before);
  const unknown = await tacho(['completion', 'tcsh']);
  expect([unknown.code, unknown.stdout]).toEqual([2, '']);
  expect(unknown.stderr).toContain('Allowed choices are bash, zsh, fish.');
}, 120_000);

test('an unreadable store or configuration completes to nothing, without an error', async () => {
  const { env } = await prepare();
  writeFileSync(join(place.work, 'tacho.yaml'), 'targets: [');
  writeFileSync(join(place.state, 'tacho.db'), 'no database');
  for (const words of [
    ['show', ''],
    ['run', '--target', ''],
    ['run', '--agent'],
  ]) {
    const { code, stderr } = await tacho(['__complete', 'fish', '--', ...words], { env });
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: '' });
  }
});

test.runIf(can('fish', 'completion in fish'))(
  'fish shows values with their descriptions',
  async () => {
    const { run, env } = await prepare();
    const script = join(place.folder, 'tacho.fish');
    writeFileSync(script, (await tacho(['completion', 'fish'])).stdout);
    const program = ['show ', 'run --agent=co', 'run --target ', 'drift demo tacho.']
      .map((words) => `complete -C 'tacho ${words}'; echo %%`)
      .join('\n');
    const { stdout } = spawnSync('fish', ['-c', `source '${script}'\n${program}`], {
      cwd: place.work,
      env,
      encoding: 'utf8',
    });
    expect(stdout.split('%%\n')).toEqual([
      `last\tthe newest run\n${run}\tdemo please\n`,
      '--agent=codex\n--agent=copilot\n',
      'review\tclaude\n',
      'tacho.yaml\n',
      '',
    ]);
  },
  120_000,
);

/** zsh completes only in its line editor: its functions for candidates are replaced by ones that print them. */
test.runIf(can('zsh', 'completion in zsh'))(
  'zsh gets values with their descriptions',
  async () => {
    const { run, env } = await prepare();
    const script = (await tacho(['completion', 'zsh'])).stdout;
    const program = `compdef() { :; }
_describe() { print -l -- "\${(@P)3}"; }
_files() { print -- "files $*"; }
${script}
ask() { words=(tacho "$@"); CURRENT=$(( $# + 1 )); _tacho; print -- --; }
ask show ''; ask run --agent=co; ask run --target ''; ask run --cwd ''`;
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', program], {
      cwd: place.work,
      env,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(stdout.split('--\n')).toEqual([
      `last:the newest run\n${run}:demo please\n`,
      '--agent=codex\n--agent=copilot\n',
      'review:claude\n',
      'files -/\n',
      '',
    ]);
  },
  120_000,
);
