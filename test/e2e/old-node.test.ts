/** On an old Node the launcher uses a newer one next to it, or prints the command that helps. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testFolder } from '../fixtures/folder.ts';
import { root } from './cli.ts';
import { note } from './needs.ts';

/** A Node on the PATH that is too old; undefined when none is found. */
function oldNode(): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .find((node) => {
      const { stdout, status } = spawnSync(node, ['--version'], { encoding: 'utf8' });
      return status === 0 && Number.parseInt(stdout.slice(1), 10) < 24;
    });
}

const old = oldNode();
if (old === undefined) note('the launcher on an old Node: no Node older than 24 on the PATH');
const name = `node-${process.platform}-${process.arch}`;

/** tacho as npm installs it below `modules`; returns its launcher. */
function installed(modules: string): string {
  const place = join(modules, 'tacho');
  mkdirSync(place, { recursive: true });
  cpSync(join(root, 'bin'), join(place, 'bin'), { recursive: true });
  for (const part of ['dist', 'package.json']) symlinkSync(join(root, part), join(place, part));
  return join(place, 'bin', 'tacho.cjs');
}

function started(launcher: string, args: string[]) {
  const { status, stdout, stderr } = spawnSync(old as string, [launcher, ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe.skipIf(old === undefined)('on a Node that is too old', () => {
  test('a global installation prints the command for its own prefix, and then uses the Node that it installs', () => {
    const prefix = testFolder();
    const modules = join(prefix, 'lib', 'node_modules');
    const launcher = installed(modules);
    const { status, stdout, stderr } = started(launcher, ['--version']);
    expect([status, stdout]).toEqual([70, '']);
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^tacho: needs Node 24 or newer; this is [\d.]+$/),
      'Install Node 24 for tacho alone; your own Node does not change:',
      `  npm install -g --prefix ${prefix} --no-bin-links ${name}@24`,
      'Or install Node 24 from https://nodejs.org and run tacho again.',
      '',
    ]);
    // As npm leaves it.
    const beside = join(modules, name);
    mkdirSync(join(beside, 'bin'), { recursive: true });
    symlinkSync(process.execPath, join(beside, 'bin', 'node'));
    writeFileSync(join(beside, 'package.json'), '{"version":"20.1.0"}');
    expect(started(launcher, ['--version']).status).toBe(70);
    writeFileSync(join(beside, 'package.json'), '{"version":"24.1.0"}');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(started(launcher, ['--version'])).toEqual({
      status: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
    expect(started(launcher, ['rnu'])).toMatchObject({ status: 2, stdout: '' });
  });

  test('a project and npx get matching commands', () => {
    const project = testFolder();
    writeFileSync(join(project, 'package.json'), '{}');
    const local = started(installed(join(project, 'node_modules')), ['runs', 'list']);
    expect(local.stderr).toContain(`\n  npm install --save-optional ${name}@24\n`);
    const cache = join(testFolder(), '_npx', '0123');
    const launcher = installed(join(cache, 'node_modules'));
    writeFileSync(join(cache, 'package.json'), '{"_npx":{"packages":["tacho@0.1.0"]}}');
    const once = started(launcher, ['run', '--agent', 'demo', "it's"]);
    expect(once.status).toBe(70);
    expect(once.stderr).toContain(
      `\n  npx -y -p ${name}@24 -p tacho@0.1.0 tacho run --agent demo 'it'\\''s'\n`,
    );
  });

  test('a checkout that was never set up says so', () => {
    const checkout = testFolder();
    cpSync(join(root, 'bin'), join(checkout, 'bin'), { recursive: true });
    const { status, stderr } = started(join(checkout, 'bin', 'tacho.cjs'), ['--help']);
    expect(status).toBe(70);
    expect(stderr).toContain('\n  npm start\n');
  });
});
