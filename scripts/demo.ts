// Run by `npm start` after the set-up: a real run of the built-in demo agent, recorded by the real command line.
// Arguments are passed on: `npm start -- --tui`.
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

// Ctrl-C reaches the run too; it closes its record, and this process waits for that.
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

say('tacho records what coding agents do. This is a real run of the agent that comes with it:');
say('it needs no model and no network, and really works in a fresh folder.');
say();
const code = await run(['run', '--agent', 'demo', ...process.argv.slice(2), 'try it']);
await run(['runs', 'list']);
await run(['runs', 'verify', 'last']);

say(`Files of the agent   ${work}`);
say(`The record           ${state}`);
say('Both are kept; remove them when you are done.');
say();
say('To try next:');
const prefix = `TACHO_HOME=${state} node ${tacho}`;
say(`  ${prefix} replay last`);
say(`  ${prefix} replay last --output json`);
say(`  ${prefix} runs show last`);
say('  npm start -- --tui                            the same in a full-screen view');
say(
  `  node ${tacho} run --agent claude --output json "…"   with Claude Code, in a folder of yours`,
);
process.exitCode = code;
