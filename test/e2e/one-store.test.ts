/** Where runs are stored, which folders find them, and how a store is chosen. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { demo, filesBelow, linesOf, type Options, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
/** Without TACHO_HOME, in a separate home folder. */
const tacho = (args: string[], { cwd = place.work, env = {} }: Options = {}) =>
  place.tacho(args, { cwd, env: { TACHO_HOME: '', ...env } });
const store = () => join(place.folder, '.local/state/tacho');
const listed = async (args: string[], options?: Options) => {
  const { code, stdout, stderr } = await tacho(['runs', 'list', '--json', ...args], options);
  expect([code, stderr]).toEqual([0, '']);
  return linesOf(stdout);
};

verifies('WA-1', 'reading a missing store creates nothing', async () => {
  const env = { HOME: join(place.folder, 'home') };
  mkdirSync(env.HOME);
  for (const [args, code] of [
    [['runs', 'list'], 0],
    [['runs', 'stats'], 0],
    [['show', 'last'], 1],
    [['doctor', '--json'], 0],
  ] as const) {
    const result = await tacho([...args], { env });
    expect([args, result.code, result.stderr.split('\n').length]).toEqual([args, code, code + 1]);
    if (args[0] === 'doctor')
      expect(JSON.parse(result.stdout)).toContainEqual({
        name: 'state folder',
        ok: true,
        detail: `${env.HOME}/.local/state/tacho (your own store; tacho init creates one for this folder): the first run creates it`,
      });
  }
  expect([readdirSync(env.HOME), readdirSync(place.work)]).toEqual([[], []]);
});

verifies(
  'WA-1',
  "a run is in the user's store with its project, and found from every folder",
  async () => {
    const sub = join(place.work, 'sub');
    mkdirSync(sub);
    mkdirSync(join(place.work, '.git'));
    const config = '[remote "origin"]\n\turl = https://me:dummy-token-1@example.org/one.git\n';
    writeFileSync(join(place.work, '.git', 'config'), config);
    const ran = await tacho(demo('fixed', '--label', 'build=7'), { cwd: sub });
    expect(ran.code).toBe(0);
    expect(existsSync(join(sub, '.tacho'))).toBe(false);
    const session = 'src/agents/claude/testdata/text/session/.claude/projects/-home-user-project';
    const file = join(root, session, readdirSync(join(root, session))[0] as string);
    expect((await tacho(['import', 'claude', file])).code).toBe(0);
    const rows = await listed([], { cwd: '/' });
    expect(
      rows.map(({ agent, project, project_remote }) => [agent, project, project_remote]),
    ).toEqual([
      ['demo', place.work, 'https://example.org/one.git'],
      ['claude', '/home/user/project', null],
    ]);
    const holding = filesBelow(store()).filter(({ bytes }) => bytes.includes('dummy-token-1'));
    expect(holding.map(({ path }) => path)).toEqual([]);
    const agents = async (...args: string[]) =>
      (await listed(args, { cwd: sub })).map(({ agent }) => agent);
    expect(await agents('--here')).toEqual(['demo']);
    expect(await agents('--project', '/home/user')).toEqual(['claude']);
    expect(await agents('--since', 'today', '--label', 'build=7')).toEqual(['demo']);
    expect(await listed([], { env: { XDG_STATE_HOME: join(place.folder, 'other') } })).toEqual([]);
    const none = await tacho(['runs', 'list', '--model', 'nope', '--since', '2d']);
    expect([none.code, none.stdout]).toEqual([
      0,
      expect.stringContaining('--since 2d --model nope'),
    ]);
    const wrong = await tacho(['runs', 'list', '--status', 'faild']);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('did you mean failed?'),
    ]);
  },
);

verifies('WA-1', "a project's policies remove no runs of other projects", async () => {
  const [one, two] = ['one', 'two'].map((name) => join(place.work, name)) as [string, string];
  for (const cwd of [one, two]) {
    mkdirSync(cwd);
    expect((await tacho(demo('fixed'), { cwd })).code).toBe(0);
  }
  writeFileSync(join(two, 'tacho.yaml'), 'retention:\n  - max_runs: 0\n');
  const gc = ['runs', 'gc', '--trust', '--json'];
  expect((await tacho(gc, { cwd: two })).code).toBe(0);
  expect((await listed([])).map(({ project }) => project)).toEqual([one]);
  const chosen = await tacho(gc, { cwd: two, env: { TACHO_HOME: store() } });
  expect(chosen.code).toBe(0);
  expect((await listed([])).map(({ project }) => project)).toEqual([one]);
});

verifies('WA-1', 'a project is chosen by its name or folder, also in gc', async () => {
  const [one, two, other] = ['one', 'two', 'other/two'].map((name) => join(place.work, name));
  for (const folder of [one, two, other]) mkdirSync(folder as string, { recursive: true });
  for (const cwd of [one, two, other])
    expect((await tacho(demo('fixed'), { cwd: cwd as string })).code).toBe(0);
  const projects = async (...args: string[]) =>
    (await listed(args, { cwd: '/' })).map(({ project }) => project);
  expect(await projects('--project', 'one')).toEqual([one]);
  expect(await projects('--project', `${two}/`)).toEqual([two]);
  const unclear = await tacho(['runs', 'stats', '--project', 'two'], { cwd: '/' });
  expect([unclear.code, unclear.stderr]).toEqual([
    2,
    `error: several projects are named "two"; give the path of one:\n  ${other}\n  ${two}\n`,
  ]);
  const unknown = await tacho(['runs', 'list', '--project', 'ohne'], { cwd: '/' });
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    'error: unknown project "ohne"; did you mean one?\n',
  ]);
  const alone = await tacho(['runs', 'gc', '--here'], { cwd: one as string });
  expect([alone.code, alone.stderr]).toEqual([
    2,
    'error: without a limit nothing is removed: add --max-age, --max-runs or --max-size\n',
  ]);
  const gone = await tacho(['runs', 'gc', '--here', '--max-runs', '0'], { cwd: two as string });
  expect([gone.code, gone.stdout]).toEqual([0, expect.stringMatching(/^1 run, .* removed/)]);
  expect(await projects()).toEqual([other, one]);
});

verifies(
  'WA-1',
  'a .tacho folder here or above is used instead; tacho init creates it',
  async () => {
    const deep = join(place.work, 'a', 'b');
    mkdirSync(deep, { recursive: true });
    const path = join(place.work, '.tacho');
    const made = await tacho(['init', '--json']);
    expect([made.code, JSON.parse(made.stdout)]).toEqual([0, { path, created: true }]);
    expect((await tacho(demo('fixed'), { cwd: deep })).code).toBe(0);
    const again = await tacho(['init', '--json'], { env: { TACHO_HOME: place.state } });
    expect(JSON.parse(again.stdout)).toEqual({ path, created: false });
    expect(again.stderr).toBe(
      `note: TACHO_HOME has priority: ${place.state} is used while it is set\n`,
    );
    expect(await listed([], { cwd: deep })).toHaveLength(1);
    expect(await listed([], { cwd: place.folder })).toHaveLength(0);
    const { stdout } = await tacho(['doctor', '--json'], { cwd: deep });
    expect(JSON.parse(stdout)).toContainEqual({
      name: 'state folder',
      ok: true,
      detail: `${path} (the nearest .tacho folder, here or above)`,
    });
  },
);
