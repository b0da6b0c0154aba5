/** Processes of agents as evidence, with real processes under the name of a toy agent. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { findProcesses, programsIn } from './agent-processes.ts';

/** A name that no other process has. */
const NAME = `toyagent${process.pid}`;

function place() {
  const root = realpathSync(testFolder());
  const [here, there] = [join(root, 'here'), join(root, 'there')];
  mkdirSync(here);
  mkdirSync(there);
  const program = join(root, NAME);
  copyFileSync('/bin/sleep', program);
  const script = join(root, `${NAME}.js`);
  writeFileSync(script, 'setInterval(() => {}, 1000);\n');
  return { root, here, there, program, script };
}

async function start(command: string, args: string[], cwd: string, env = process.env) {
  const child: ChildProcess = spawn(command, args, { cwd, env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  return {
    pid: child.pid as number,
    end: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A launcher, which ends the program that it starts. */
async function launch(script: string, cwd: string) {
  const child = fork(script, { cwd, execArgv: [], stdio: 'ignore' });
  const ready = new Promise((resolve) => child.once('message', resolve));
  const ended = new Promise((resolve) => child.once('close', resolve));
  const end = () => {
    child.kill('SIGTERM');
    return ended;
  };
  onTestFinished(async () => void (await end()));
  return { pid: child.pid as number, ready, end };
}

/** Without a process table that shows folders, nothing is known. */
const seen = (is: string) => (process.platform === 'linux' ? is : 'unknown');
const see = (cwd: string | null, newer = 0) => findProcesses()([NAME], cwd, newer).is;

verifies(
  'WA-9',
  'a process in the folder of the session is alive, and gone once it ended',
  async () => {
    const { here, there, program, script } = place();
    expect(see(here)).toBe(seen('gone'));
    const native = await start(program, ['600'], here);
    expect(findProcesses()([NAME], here, 0)).toEqual(
      process.platform === 'linux'
        ? { is: 'alive', what: `${NAME} (process ${native.pid}) runs in its folder` }
        : { is: 'unknown' },
    );
    expect(see(there)).toBe(seen('gone'));
    expect(see(null)).toBe('unknown');
    await native.end();
    expect(see(here)).toBe(seen('gone'));
    await start(process.execPath, [script], here);
    expect(see(here)).toBe(seen('alive'));
  },
);

verifies('WA-9', 'of two sessions in a folder, one process is that of the newer one', async () => {
  const { here, program } = place();
  // A launcher that runs the program is not a second agent.
  const launcher = join(here, `${NAME}.js`);
  const child = JSON.stringify([program, ['600'], { stdio: 'ignore' }]);
  writeFileSync(
    launcher,
    `const { spawn } = require('node:child_process');
const child = spawn(...${child});
process.on('SIGTERM', () => (child.kill('SIGKILL'), process.exit()));
child.on('spawn', () => process.send('ready'));\n`,
  );
  const { pid, ready, end } = await launch(launcher, here);
  await ready;
  expect(findProcesses()([NAME], here, 0)).toMatchObject(
    process.platform === 'linux' ? { what: expect.stringContaining(`process ${pid})`) } : {},
  );
  expect(see(here, 1)).toBe('unknown');
  await end();
});

verifies('WA-9', 'a session that names its folder by a link is not gone', async () => {
  const { root, here, there, program } = place();
  const link = join(root, 'link');
  symlinkSync(here, link);
  await start(program, ['600'], link, { ...process.env, PWD: link });
  expect(see(link)).toBe('unknown');
  expect(see(there)).toBe(seen('gone'));
});

test('only the program itself, or the script of a runtime, names a process', () => {
  expect(programsIn(['/usr/bin/claude', '--resume', 'codex'])).toEqual(['claude']);
  expect(programsIn(['node', '--no-warnings', '/opt/bin/codex.js', 'exec'])).toContain('codex');
  expect(programsIn(['bun', 'run', '/opt/opencode'])).toContain('opencode');
  expect(programsIn(['vim', 'claude'])).toEqual(['vim']);
  expect(programsIn(['grep', '-r', 'claude', '.'])).toEqual(['grep']);
});
