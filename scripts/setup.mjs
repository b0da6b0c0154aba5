// First step of `npm start` and `npm test`: also runs on Node 20, without dependencies. Installs when the lockfile
// changed, builds when the sources changed, then continues with the checkout's own Node 24.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bin = join(root, 'node_modules', '.bin');
const marks = join(root, 'node_modules', '.tacho');

/**
 * Runs a program to its end. Returns its exit code, and its output unless that goes to the terminal.
 * @param {string} command
 * @param {string[]} args
 * @param {'inherit' | 'pipe'} output
 */
function run(command, args, output) {
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    stdio: ['inherit', output, output],
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env,
  });
  if (error) return { status: 1, text: `${error.message}\n` };
  return { status: status ?? (signal ? 1 : 0), text: `${stdout ?? ''}${stderr ?? ''}` };
}

/**
 * One line of progress; the program's own output is shown only when it fails.
 * @param {string} say
 * @param {string} command
 * @param {string[]} args
 */
function must(say, command, args) {
  process.stderr.write(`setup: ${say} …`);
  const start = Date.now();
  const { status, text } = run(command, args, 'pipe');
  if (status === 0) {
    process.stderr.write(` ${((Date.now() - start) / 1000).toFixed(1)} s\n`);
    return;
  }
  process.stderr.write(
    ` failed\n\n${text}\nsetup: ${command} ${args.join(' ')} failed (${status})\n`,
  );
  process.exit(status);
}

/** @param {string[]} paths */
function hashOf(paths) {
  const hash = createHash('sha256');
  /** @param {string} path */
  const visit = (path) => {
    if (!existsSync(path)) return;
    if (statSync(path).isDirectory()) {
      for (const name of readdirSync(path).sort()) if (name !== 'testdata') visit(join(path, name));
    } else if (!path.endsWith('.test.ts')) {
      hash.update(path.slice(root.length)).update('\0').update(readFileSync(path));
    }
  };
  for (const path of paths) visit(join(root, path));
  return hash.digest('hex');
}

/** @param {string} name */
const markOf = (name) =>
  existsSync(join(marks, name)) ? readFileSync(join(marks, name), 'utf8') : '';

/**
 * @param {string} name
 * @param {string} text
 */
function setMark(name, text) {
  mkdirSync(marks, { recursive: true });
  writeFileSync(join(marks, name), text);
}

const own = join(root, 'node_modules', 'node', 'bin', 'node');

/**
 * Gives the checkout's own Node one path, whichever package contains it. The npm package `node` would install the
 * program with a script, outside the hashes of the lockfile: see scripts/node/package.json.
 */
function placeNode() {
  const brought = join(`node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(own) || !existsSync(join(root, 'node_modules', brought))) return;
  rmSync(own, { force: true });
  mkdirSync(dirname(own), { recursive: true });
  symlinkSync(join('..', '..', brought), own);
}

/** The checkout's own Node; an error when there is none and this one is too old. */
function checkNode() {
  if (existsSync(own)) return own;
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  console.error(
    `setup: tacho needs Node 24 or newer; this is ${process.versions.node}, and npm installed no other: install Node 24 from https://nodejs.org and try again`,
  );
  process.exit(1);
}

const lock = hashOf([
  'package-lock.json',
  'package.json',
  'scripts/node',
  'scripts/types/package.json',
]);
if (markOf('lock') !== lock) {
  // Not `npm ci`: it refuses a lockfile without the other platforms' optional packages, which not every registry has.
  must('installing packages', 'npm', ['install', '--no-save', '--no-audit', '--no-fund']);
  setMark('lock', lock);
}
placeNode();
const node = checkNode();
const sources = hashOf([
  'src',
  'scripts/build.mjs',
  'scripts/notices.mjs',
  'scripts/types/bundle.ts',
  'package-lock.json',
  'tsconfig.types.json',
]);
if (markOf('build') !== sources || !existsSync(join(root, 'dist', 'cli.cjs'))) {
  must('building', node, ['scripts/build.mjs', '--types']);
  setMark('build', sources);
}

const STEPS = new Map([
  ['demo', 'scripts/demo.ts'],
  ['test', 'scripts/test.ts'],
  ['bench', 'bench/main.ts'],
  ['rehearse', 'rehearsal/main.ts'],
  ['torture', 'test/torture/main.ts'],
]);
const then = process.argv.indexOf('--then');
const [name = '', ...rest] = then < 0 ? [] : process.argv.slice(then + 1);
const step = STEPS.get(name);
// Ctrl-C also reaches the step, which stops on its own.
process.on('SIGINT', () => {});
if (step !== undefined) {
  const { status, text } = run(node, [step, ...rest], 'inherit');
  process.stderr.write(text);
  process.exit(status);
}
