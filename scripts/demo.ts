// Run by `npm start` after the set-up: a real run of the built-in demo agent, recorded by the real command line.
// Arguments are passed to `tacho run`: `npm start -- --tui`.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
const folder = mkdtempSync(join(tmpdir(), 'tacho-demo-'));
const work = join(folder, 'work');
const state = join(folder, 'state');
mkdirSync(work);

const say = (text = '') => process.stdout.write(`${text}\n`);
const shown = (args: string[]) =>
  args.map((arg) => (/[^\w./=:-]/.test(arg) ? `"${arg}"` : arg)).join(' ');

// Ctrl-C also reaches the run, which closes its record; this process waits for it.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});

function run(args: string[]): Promise<number> {
  say(`$ tacho ${shown(args)}`);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [tacho, ...args], {
      cwd: work,
      stdio: 'inherit',
      env: { ...process.env, TACHO_HOME: state },
    });
    child.on('error', (error) => {
      process.stderr.write(`cannot start ${process.execPath}: ${error.message}\n`);
      resolve(70);
    });
    child.on('exit', (code, signal) => {
      say();
      resolve(code ?? (signal === null ? 70 : 1));
    });
  });
}

say('tacho records what coding agents do. This is a real run of the built-in demo agent: it needs');
say('no model and no network, and works on real files in a new folder.');
say();
const code = await run(['run', '--agent', 'demo', 'try it', ...process.argv.slice(2)]);
await run(['runs', 'list']);
await run(['runs', 'verify', 'last']);

say(`The agent's files   ${work}`);
say(`The record          ${state}`);
say('Delete both folders when you are done.');
say();
const prefix = `TACHO_HOME=${state} node ${tacho}`;
for (const [about, command] of [
  ['Read the run', `${prefix} show last`],
  ['Print its events as JSON', `${prefix} replay last --output json`],
  ['Run it again in the full-screen view', 'npm start -- --tui'],
  ['Record Claude Code in your own folder', `node ${tacho} run --agent claude "…"`],
])
  say(`${about}:\n  ${command}`);
process.exitCode = code;
