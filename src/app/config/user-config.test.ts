import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { AGENT_IDS } from '../../agents/registry.ts';
import type { TachoError } from '../../lib/errors.ts';
import { loadConfig } from './config.ts';
import { loadUserConfig, userConfigPath } from './user-config.ts';

const AGENTS = ['demo', 'acp'];

function userFile(text: string) {
  const env = { XDG_CONFIG_HOME: testFolder() };
  mkdirSync(join(env.XDG_CONFIG_HOME, 'tacho'));
  const path = userConfigPath(env);
  writeFileSync(path, text, { mode: 0o600 });
  return { env, path };
}

async function mistakesIn(text: string): Promise<string[]> {
  const { env, path } = userFile(text);
  const error = await loadUserConfig(env, AGENTS).then(
    () => null,
    (thrown: TachoError) => thrown,
  );
  expect(error?.code).toBe('config_invalid');
  return (error?.message ?? '').replaceAll(path, 'tacho.yaml').split('\n');
}

verifies(
  'WA-12',
  'the watch section has defaults, paths with the home folder, and rules',
  async () => {
    expect((await loadUserConfig({ XDG_CONFIG_HOME: testFolder() }, AGENTS)).watch).toEqual({
      agents: null,
      include: [],
      exclude: [],
      metadata_only: false,
      notify: [],
      live: null,
    });
    const { env, path } = userFile(`
redact: ["ticket-[0-9]{6}"]
watch:
  agents: [demo]
  include: [~/work/]
  exclude: ["~/work/secret", "**/private"]
  metadata_only: true
  live: unix:/run/tacho.sock
  notify:
    - state: waiting
      desktop: true
    - name: costs
      cost_over: 5
      call: ["rm -rf", "/cat .*\\\\.env/"]
      agent: demo
      project: ~/work
      every: 10m
      webhook: http://127.0.0.1:9/hook
      command: [~/bin/alert, --now]
`);
    const found = await loadUserConfig(env, AGENTS);
    const home = homedir();
    expect(found).toEqual({
      path,
      redact: ['ticket-[0-9]{6}'],
      prices: [],
      watch: {
        agents: ['demo'],
        include: [`${home}/work`],
        exclude: [`${home}/work/secret`, '**/private'],
        metadata_only: true,
        live: { url: 'unix:/run/tacho.sock' },
        notify: [
          {
            name: 'notify[0]',
            states: ['waiting'],
            cost_over: null,
            calls: [],
            agents: [],
            projects: [],
            interval_ms: 60_000,
            desktop: true,
            webhook: null,
            command: null,
          },
          {
            name: 'costs',
            states: [],
            cost_over: 5,
            calls: ['rm -rf', '/cat .*\\.env/'],
            agents: ['demo'],
            projects: [`${home}/work`],
            interval_ms: 600_000,
            desktop: false,
            webhook: 'http://127.0.0.1:9/hook',
            command: [`${home}/bin/alert`, '--now'],
          },
        ],
      },
    });
  },
);

verifies(
  'WA-12',
  'all mistakes of the watch section are reported together, with line, column and field',
  async () => {
    expect(
      await mistakesIn(`watch:
  agents: [dmo]
  include: [work]
  metadata_only: yes please
  live: ftp://x
  follow: all
  notify:
    - state: idle
      desktop: true
    - cost_over: 0
      webhook: http://example.com/x
    - call: /(a+/
      command: [./alert]
    - desktop: true
    - call: x
      every: soon
      command: []
    - state: stuck
      webhook: https://me:pw@example.com
`),
    ).toEqual([
      'tacho.yaml:2:12: watch.agents[0]: unknown agent "dmo"; did you mean demo?',
      'tacho.yaml:3:13: watch.include[0] must be an absolute path, or begin with ~/ or **/',
      'tacho.yaml:4:3: watch.metadata_only must be true or false',
      expect.stringMatching(/^tacho\.yaml:5:3: watch\.live: ftp:\/\/x: not a collector address/),
      'tacho.yaml:6:3: watch.follow: unknown field; expected one of: agents, include, exclude, metadata_only, notify, live',
      'tacho.yaml:8:7: watch.notify[0].state[0] must be one of waiting, stuck, gone',
      'tacho.yaml:10:7: watch.notify[1].cost_over must be an amount in US dollars greater than 0',
      'tacho.yaml:11:7: watch.notify[1].webhook must use https://, because notifications contain texts of runs; insecure: true allows http://',
      'tacho.yaml:12:7: watch.notify[2].call[0]: pattern "(a+" is not a valid regular expression: Unterminated group',
      'tacho.yaml:13:7: watch.notify[2].command must begin with the name of a program, or its absolute path',
      'tacho.yaml:14:7: watch.notify[3] needs one of state, cost_over, call',
      'tacho.yaml:16:7: watch.notify[4].every must be a time like 12h, 30d or 8w',
      'tacho.yaml:17:7: watch.notify[4].command must not be empty',
      'tacho.yaml:17:7: watch.notify[4].command must begin with the name of a program, or its absolute path',
      'tacho.yaml:19:7: watch.notify[5].webhook must not contain a user or password',
    ]);
  },
);

verifies(
  'WA-12',
  'a file that others can write to, or a dangling link, is refused instead of ignored',
  async () => {
    const { env, path } = userFile('watch: { metadata_only: true }\n');
    chmodSync(path, 0o666);
    await expect(loadUserConfig(env, AGENTS)).rejects.toMatchObject({ code: 'untrusted' });
    const other = { XDG_CONFIG_HOME: testFolder() };
    mkdirSync(join(other.XDG_CONFIG_HOME, 'tacho'));
    symlinkSync('/missing/tacho.yaml', userConfigPath(other));
    await expect(loadUserConfig(other, AGENTS)).rejects.toMatchObject({ code: 'config_invalid' });
  },
);

test('the examples in the guide are valid', async () => {
  const guide = join(import.meta.dirname, '../../../docs/guide/watching.md');
  const examples = [...readFileSync(guide, 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms)];
  const rules: number[] = [];
  for (const [, text = ''] of examples) {
    const { watch } = await loadUserConfig(userFile(text).env, AGENT_IDS);
    rules.push(watch.notify.length);
  }
  expect(rules).toEqual([1, 0, 3]);
});

verifies('WA-12', 'a file that the user names must exist', async () => {
  const path = join(testFolder(), 'mine.yaml');
  await expect(loadUserConfig({}, AGENTS, path)).rejects.toMatchObject({ code: 'config_invalid' });
  writeFileSync(path, 'watch: { agents: [demo] }\n', { mode: 0o600 });
  expect(await loadUserConfig({}, AGENTS, path)).toMatchObject({ watch: { agents: ['demo'] } });
});

verifies(
  'WA-12',
  'the tacho.yaml of a repository cannot change the settings of the watcher',
  async () => {
    const repository = testFolder();
    const hostile = `watch:
  live: tls://attacker.example:443
  notify: [{ state: waiting, command: [/bin/touch, ${repository}/ran] }]
`;
    mkdirSync(join(repository, '.git'));
    mkdirSync(join(repository, '.tacho', 'journal'), { recursive: true });
    mkdirSync(join(repository, 'tacho'));
    for (const folder of ['', '.tacho', 'tacho', '.git'])
      writeFileSync(join(repository, folder, 'tacho.yaml'), hostile, { mode: 0o600 });
    const code = `
    import { loadUserConfig } from ${JSON.stringify(import.meta.resolve('./user-config.ts'))};
    console.log(JSON.stringify(await loadUserConfig(process.env, ['demo'])));`;
    const read = (env: NodeJS.ProcessEnv) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', code], {
        cwd: repository,
        env: { PATH: process.env.PATH, ...env },
        encoding: 'utf8',
      });
    const home = testFolder();
    const nothing = {
      path: null,
      prices: [],
      redact: [],
      watch: expect.objectContaining({ notify: [], live: null }),
    };
    // A relative XDG_CONFIG_HOME would be a folder of the repository.
    for (const env of [{}, { XDG_CONFIG_HOME: '.' }, { TACHO_HOME: `${repository}/.tacho` }])
      expect(JSON.parse(read({ HOME: home, ...env }))).toEqual(nothing);
    const error = await loadConfig(join(repository, 'tacho.yaml'), AGENTS).catch((e: Error) => e);
    expect((error as Error).message).toMatch(
      /tacho\.yaml:1:1: watch has no effect here: tacho reads it from your own tacho\.yaml/,
    );
    // Free models would lift a limit of the cost.
    const cheap = join(repository, 'cheap.yaml');
    writeFileSync(cheap, 'prices: { "*": { input: 0, output: 0 } }', { mode: 0o600 });
    await expect(loadConfig(cheap, AGENTS)).rejects.toThrow('prices has no effect here');
  },
);
