import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { can } from '../../../test/e2e/needs.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { installedService, installService, serviceHere, uninstallService } from './service.ts';
import { execWith, type ServiceContext } from './service-manager.ts';

/** A systemctl that logs its arguments, and makes and removes the links of enabled units. */
const SYSTEMCTL = `#!/bin/sh
echo "$@" >> "$TOY_LOG"
case "$2" in
  show-environment) [ -n "$TOY_DOWN" ] && { echo "Failed to connect to bus" >&2; exit 1; }; echo "HOME=$HOME" ;;
  enable) mkdir -p "$TOY_UNITS/default.target.wants"; ln -sf "$TOY_UNITS/$3" "$TOY_UNITS/default.target.wants/$3" ;;
  disable) [ -n "$TOY_DOWN" ] && exit 1; rm -f "$TOY_UNITS/default.target.wants/$4" ;;
  restart|start) [ -n "$TOY_FAILS" ] && { echo "Job failed" >&2; exit 1; } ;;
esac
exit 0
`;

function program(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

function machine(
  more: Partial<ServiceContext> = {},
  variables: Record<string, string> = {},
  toys: Record<string, string> = { systemctl: SYSTEMCTL },
) {
  const home = testFolder();
  const units = join(home, '.config/systemd/user');
  const log = join(home, 'log');
  for (const [name, text] of Object.entries(toys)) program(join(home, 'toys', name), text);
  const PATH = [join(home, 'toys'), '/usr/bin', '/bin'].join(delimiter);
  const env = { PATH, HOME: home, TOY_LOG: log, TOY_UNITS: units, ...variables };
  const said: string[] = [];
  const context: ServiceContext = {
    platform: 'linux',
    home,
    env,
    exec: execWith(env),
    node: process.execPath,
    launcher: program(join(home, 'bin/tacho.cjs'), '#!/bin/sh\n'),
    args: [],
    say: (text) => void said.push(text),
    confirm: () => true,
    ...more,
  };
  const unit = join(units, 'tacho-watch.service');
  const link = join(units, 'default.target.wants/tacho-watch.service');
  const calls = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  return { home, units, unit, link, context, said, calls };
}

verifies(
  'WA-13',
  'install shows the unit, writes it, and enables and starts it; uninstall removes exactly that',
  async () => {
    const { context, unit, units, link, said, calls } = machine();
    expect(await installService(context)).toEqual({ path: unit, state: 'installed' });
    const text = readFileSync(unit, 'utf8');
    expect(said[0]).toBe(`${unit}:\n\n${text}\n`);
    expect(text).toContain(`\nExecStart="${process.execPath}" "${context.launcher}" "watch"\n`);
    expect(text).toMatch(/\nRestart=on-failure\n/);
    expect(calls()).toEqual([
      '--user show-environment',
      '--user daemon-reload',
      '--user enable tacho-watch.service',
      '--user restart tacho-watch.service',
    ]);
    writeFileSync(join(units, 'other.service'), 'not ours');
    expect(await uninstallService(context)).toEqual({ path: unit, state: 'removed' });
    expect(existsSync(unit)).toBe(false);
    expect(lstatSync(link, { throwIfNoEntry: false })).toBe(undefined);
    expect(readFileSync(join(units, 'other.service'), 'utf8')).toBe('not ours');
    expect(calls().slice(4)).toEqual([
      '--user show-environment',
      '--user disable --now tacho-watch.service',
      '--user daemon-reload',
    ]);
    expect(await uninstallService(context)).toEqual({ path: unit, state: 'unchanged' });
  },
);

verifies(
  'WA-13',
  'installing twice changes nothing and asks nothing; other arguments replace the unit',
  async () => {
    const { context, unit, calls } = machine();
    await installService(context);
    const text = readFileSync(unit, 'utf8');
    const silent: ServiceContext = { ...context, confirm: () => null };
    expect((await installService(silent)).state).toBe('unchanged');
    expect(readFileSync(unit, 'utf8')).toBe(text);
    expect(calls().at(-1)).toBe('--user start tacho-watch.service');
    await expect(installService({ ...silent, args: ['demo'] })).rejects.toMatchObject({
      code: 'usage',
      message: 'nobody can be asked here: add --yes to agree',
    });
    expect(readFileSync(unit, 'utf8')).toBe(text);
    expect((await installService({ ...silent, args: ['demo'] }, { yes: true })).state).toBe(
      'installed',
    );
    expect(readFileSync(unit, 'utf8')).toContain('"watch" "demo"');
  },
);

verifies('WA-13', 'without consent nothing is written or run', async () => {
  const { context, unit, calls } = machine({ confirm: () => false });
  await expect(installService(context)).rejects.toMatchObject({ code: 'refused' });
  expect(existsSync(unit)).toBe(false);
  expect(calls()).toEqual(['--user show-environment']);
});

for (const [what, change] of [
  ['of another program', () => '[Service]\nExecStart=/bin/true\n'],
  ['that was changed', (text: string) => text.replace('Nice=10', 'Nice=0')],
  ['with a copied first line', (text: string) => `${text.split('\n')[0]}\n[Service]\n`],
] as const)
  verifies('WA-13', `a unit ${what} is neither replaced nor removed`, async () => {
    const { context, unit } = machine();
    await installService(context);
    const other = change(readFileSync(unit, 'utf8'));
    writeFileSync(unit, other);
    for (const act of [installService, uninstallService])
      await expect(act(context, { yes: true })).rejects.toMatchObject({
        code: 'refused',
        message: expect.stringContaining(`${unit} was not written by tacho, or was changed since`),
      });
    expect(readFileSync(unit, 'utf8')).toBe(other);
  });

verifies('WA-13', 'a link in place of the unit is not followed', async () => {
  const { context, unit, home } = machine();
  await installService(context);
  const text = readFileSync(unit, 'utf8');
  await uninstallService(context);
  writeFileSync(join(home, 'elsewhere'), text);
  symlinkSync(join(home, 'elsewhere'), unit);
  await expect(uninstallService(context)).rejects.toMatchObject({ code: 'refused' });
  expect(readFileSync(join(home, 'elsewhere'), 'utf8')).toBe(text);
});

verifies(
  'WA-13',
  'a failing start is reported with the output of the service manager',
  async () => {
    const { context } = machine({}, { TOY_FAILS: '1' });
    await expect(installService(context)).rejects.toMatchObject({
      message: 'systemctl --user restart tacho-watch.service failed: Job failed',
    });
  },
);

verifies('WA-13', 'without a service manager, the message has another way', async () => {
  const down = machine({}, { TOY_DOWN: '1' });
  await expect(installService(down.context)).rejects.toMatchObject({
    message: expect.stringMatching(
      /no systemd user session answers on this machine \(Failed to connect to bus\): start it yourself:\n {2}nohup .* watch >\/dev\/null 2>&1 &\n.*\n {2}@reboot .* watch$/,
    ),
  });
  expect(existsSync(down.unit)).toBe(false);
  const none = machine({}, { PATH: '/missing' }, {});
  await expect(installService(none.context)).rejects.toMatchObject({ code: 'refused' });
  const windows = machine({ platform: 'win32' });
  await expect(installService(windows.context)).rejects.toMatchObject({
    message: expect.stringMatching(/Task Scheduler:\n {2}schtasks \/Create .*\/SC ONLOGON/),
  });
});

verifies('WA-13', 'the unit is removed even if the service manager no longer answers', async () => {
  const { context, unit, link } = machine();
  await installService(context);
  const env = { ...context.env, TOY_DOWN: '1' };
  expect((await uninstallService({ ...context, env, exec: execWith(env) })).state).toBe('removed');
  for (const path of [unit, link])
    expect(lstatSync(path, { throwIfNoEntry: false })).toBe(undefined);
});

verifies(
  'WA-13',
  'the service of this installation starts its own launcher with this Node',
  async () => {
    const { context, unit } = machine();
    const { args, env, say, confirm } = context;
    const { home, exec, ...here } = serviceHere({ args, env, say, confirm });
    expect(here).toMatchObject({ platform: process.platform, node: process.execPath });
    expect(existsSync(here.launcher)).toBe(true);
    expect([home, exec]).toEqual([expect.any(String), expect.any(Function)]);
    await installService({ ...context, launcher: here.launcher });
    expect(readFileSync(unit, 'utf8')).toContain(`"${here.launcher}" "watch"`);
  },
);

verifies(
  'WA-13',
  'a copy of tacho that npx made, and paths that cannot be written, are refused',
  async () => {
    const { context, home } = machine();
    const launcher = join(home, '.npm/_npx/1234/node_modules/tacho/bin/tacho.cjs');
    await expect(installService({ ...context, launcher })).rejects.toMatchObject({
      message: expect.stringContaining('npm install -g tacho'),
    });
    await expect(
      installService({ ...context, launcher: '/a\nExecStart=/bin/sh' }),
    ).rejects.toMatchObject({ code: 'refused' });
    await expect(installService({ ...context, node: '/a"b/node' })).rejects.toMatchObject({
      message: expect.stringContaining('contains a quote or a backslash'),
    });
  },
);

verifies(
  'WA-13',
  'the service knows the folders that the shell has set, and no other variables',
  async () => {
    const { context, unit, home } = machine();
    const env = {
      ...context.env,
      CODEX_HOME: join(home, 'a "b" 100%'),
      XDG_STATE_HOME: 'relative',
      TACHO_HOME: '/srv/tacho',
      SECRET_TOKEN: 'x',
    };
    await installService({ ...context, env });
    const lines = readFileSync(unit, 'utf8').split('\n');
    expect(lines.filter((line) => line.startsWith('Environment='))).toEqual([
      `Environment="CODEX_HOME=${home}/a \\"b\\" 100%%"`,
      'Environment="TACHO_HOME=/srv/tacho"',
    ]);
  },
);

verifies('WA-13', 'launchd gets a property list with the same command, quoted', async () => {
  const launchctl = '#!/bin/sh\necho "$@" >> "$TOY_LOG"\n[ "$1" != bootout ]\n';
  const { context, home, calls } = machine({ platform: 'darwin' }, {}, { launchctl });
  const launcher = join(home, 'a & <b>/tacho.cjs');
  const path = join(home, 'Library/LaunchAgents/dev.tacho.watch.plist');
  expect(await installService({ ...context, launcher })).toEqual({ path, state: 'installed' });
  const text = readFileSync(path, 'utf8');
  expect(text).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n<!-- Written by tacho/);
  expect(text).toContain(`<string>${home}/a &amp; &lt;b&gt;/tacho.cjs</string>`);
  expect(text).not.toMatch(/<b>/);
  const domain = `gui/${process.getuid?.()}`;
  expect(calls()).toEqual([
    'version',
    `bootout ${domain}/dev.tacho.watch`,
    `bootstrap ${domain} ${path}`,
  ]);
  expect((await uninstallService({ ...context, launcher })).state).toBe('removed');
  expect(existsSync(path)).toBe(false);
});

verifies('WA-13', 'systemd accepts the unit, with any characters in its paths', async () => {
  if (!can('systemd-analyze', 'the unit file is not checked by systemd')) return;
  const { context, unit, home } = machine();
  const node = program(join(home, 'a b 100% $HOME é', 'node'), '#!/bin/sh\n');
  const launcher = join(home, `a "b" 'c' 100% $HOME $\{X} \\n é`, 'tacho.cjs');
  await installService({ ...context, node, launcher });
  // It prints warnings on stderr and exits with 0.
  const verify = () =>
    execFileSync(
      '/bin/sh',
      ['-c', 'exec "$@" 2>&1', 'sh', 'systemd-analyze', 'verify', '--user', unit],
      {
        env: { ...process.env, HOME: home, XDG_RUNTIME_DIR: home },
        encoding: 'utf8',
      },
    );
  expect(verify()).toBe('');
  writeFileSync(unit, readFileSync(unit, 'utf8').replace('Nice=10', 'Nice=high'));
  expect(verify()).toMatch(/nice/i);
});

for (const platform of ['linux', 'darwin'] as const)
  verifies(
    'WA-13',
    `${platform}: after an upgrade that removed Node, the installed service says so`,
    async () => {
      const node = program(
        join(testFolder(), 'v24 "of" $HOME & 100%/node'.replaceAll('"', '')),
        '',
      );
      const { context, home } = machine(
        { platform, node },
        {},
        { systemctl: SYSTEMCTL, launchctl: '#!/bin/sh\n' },
      );
      expect(installedService(platform, home)).toBeNull();
      const { path } = await installService(context, { yes: true });
      expect(installedService(platform, home)).toEqual({ path, missing: [] });
      rmSync(node);
      expect(installedService(platform, home)).toEqual({ path, missing: [node] });
    },
  );

verifies('WA-13', 'a link to this Node on the PATH is used: an upgrade changes it', () => {
  const folder = testFolder();
  symlinkSync(process.execPath, join(folder, 'node'));
  const given = { args: [], say: () => {}, confirm: () => true };
  expect(serviceHere({ ...given, env: { PATH: folder } }).node).toBe(join(folder, 'node'));
  expect(serviceHere({ ...given, env: { PATH: '/nowhere' } }).node).toBe(process.execPath);
});
