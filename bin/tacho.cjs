#!/usr/bin/env node
// The launcher: plain JavaScript that any Node reads. In a checkout an older Node goes on with the checkout's own. Loads
// as little as it can: it is part of every start (a CommonJS file, because `import 'node:fs'` alone costs 10 ms).
'use strict';
const {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeSync,
} = require('node:fs');
const { dirname, isAbsolute, join } = require('node:path');

const NODE_NEEDED = 24;
const root = join(__dirname, '..');
const bundle = join(root, 'dist', 'cli.cjs');
/** Where the set-up puts the checkout's own Node, and where npm alone does. */
const own = () =>
  [join('node', 'bin', 'node'), join('.bin', 'node')]
    .map((path) => join(root, 'node_modules', path))
    .find((path) => existsSync(path));

function fail(text) {
  process.stderr.write(`tacho: ${text}\n`);
  process.exitCode = 70;
}

/** Runs the same command with another Node as if it were this process: same streams, signals, exit code and death. */
function goOnWith(node) {
  const { spawn } = require('node:child_process');
  const { constants } = require('node:os');
  // A collector's memory: see SMALL_YOUNG_SPACE in the sources.
  const flags = process.argv[2] === 'serve' ? ['--max-semi-space-size=1'] : [];
  const child = spawn(node, [...flags, ...process.argv.slice(1)], {
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

/** Whether only this user and the system administrator can change what a folder holds, and put another in its place. */
function isSafe(folder) {
  const uid = process.getuid?.();
  if (uid === undefined) return true;
  for (let path = folder; ; path = dirname(path)) {
    const found = lstatSync(path);
    const ours = found.uid === uid || (found.uid === 0 && path !== folder);
    // In a sticky folder others can add, and change nothing of ours.
    const open = (found.mode & 0o022) !== 0 && ((found.mode & 0o1000) === 0 || path === folder);
    if (!found.isDirectory() || !ours || open) return false;
    if (dirname(path) === path) return true;
  }
}

/**
 * Node's code cache, in a folder of the user's own: whoever can write there runs code as this user. Without such a folder
 * there is none. A folder that the user chose by NODE_COMPILE_CACHE is in use already.
 */
function cacheCode() {
  if (process.env.NODE_COMPILE_CACHE) return;
  // Node makes folders in it by the umask.
  const umask = process.umask(0o077);
  try {
    const { XDG_CACHE_HOME: given = '' } = process.env;
    const base = isAbsolute(given) ? given : join(require('node:os').homedir(), '.cache');
    // An empty HOME would mean the folder we are in, which may be a clone.
    if (!isAbsolute(base)) return;
    mkdirSync(join(base, 'tacho'), { recursive: true, mode: 0o700 });
    const folder = join(realpathSync(base), 'tacho');
    if (isSafe(folder)) require('node:module').enableCompileCache(folder);
  } catch {
    // Only slower.
  } finally {
    process.umask(umask);
  }
}

/** The name of a text that the build made: of `--version`, and of `--help` behind the names of commands. */
function fixedTextName([...words]) {
  const asked = words.pop();
  if ((asked === '--version' || asked === '-V') && words.length === 0) return 'version';
  const help = asked === '--help' || asked === '-h';
  return help && words.every((word) => /^[a-z]+$/.test(word))
    ? ['tacho', ...words].join('-')
    : null;
}

/** Prints such a text; false where the command itself must do it, and report what fails. */
function printFixedText() {
  const name = fixedTextName(process.argv.slice(2));
  if (name === null) return false;
  try {
    const text = readFileSync(join(root, 'dist', 'texts', `${name}.txt`));
    const done = writeSync(1, text);
    if (done < text.length) process.stdout.write(text.subarray(done));
    return true;
  } catch {
    return false;
  }
}

if (Number(process.versions.node.split('.')[0]) < NODE_NEEDED) {
  const node = process.env.TACHO_LAUNCHER_FD === undefined ? own() : undefined;
  if (node !== undefined) goOnWith(node);
  else fail(`needs Node ${NODE_NEEDED} or newer; this is ${process.versions.node}`);
} else if (!existsSync(bundle)) {
  fail('this checkout is not built yet: run "npm start" (or "npm test") once');
} else if (!printFixedText()) {
  cacheCode();
  require(bundle);
}
