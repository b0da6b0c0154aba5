#!/usr/bin/env node
// The launcher: plain JavaScript, so that an older Node can at least say what is wrong. In a checkout it goes on with the
// checkout's own Node.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_NEEDED = 24;
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bundle = join(root, 'dist', 'cli.js');

function fail(text) {
  process.stderr.write(`tacho: ${text}\n`);
  process.exitCode = 70;
}

/** Runs the same command with another Node as if it were this process: same streams, signals, exit code and death. */
function goOnWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    // The pipe tells the child when this process is killed: then it must be gone too.
    env: { ...process.env, TACHO_LAUNCHER_FD: '3' },
  });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGWINCH'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`cannot start ${node}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
    for (const name of signals) process.removeAllListeners(name);
    if (signal !== null) process.kill(process.pid, signal);
    child.stdio[3].destroy();
  });
}

const own = join(root, 'node_modules', 'node', 'bin', 'node');
if (Number(process.versions.node.split('.')[0]) < NODE_NEEDED) {
  if (existsSync(own) && process.env.TACHO_LAUNCHER_FD === undefined) goOnWith(own);
  else fail(`needs Node ${NODE_NEEDED} or newer; this is ${process.versions.node}`);
} else if (!existsSync(bundle)) {
  fail('this checkout is not built yet: run "npm start" (or "npm test") once');
} else {
  module.enableCompileCache?.();
  await import(bundle);
}
