// First step of `npm start` and `npm test`: runs on Node 20 too, needs no dependency. Installs when the lockfile changed,
// builds when the sources changed, then goes on with the checkout's own Node 24.
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

function run(command, args, options = {}) {
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, ...options.env };
  const { status, signal, error } = spawnSync(command, args, {
    cwd: options.cwd ?? root,
    stdio: 'inherit',
    env,
  });
  if (error) {
    console.error(`setup: cannot run ${command}: ${error.message}`);
    return 1;
  }
  return status ?? (signal ? 1 : 0);
}

function must(say, command, args) {
  console.error(`setup: ${say}`);
  const status = run(command, args);
  if (status !== 0) {
    console.error(`setup: ${command} ${args.join(' ')} failed (${status})`);
    process.exit(status);
  }
}

function hashOf(paths) {
  const hash = createHash('sha256');
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

const markOf = (name) =>
  existsSync(join(marks, name)) ? readFileSync(join(marks, name), 'utf8') : '';

function setMark(name, text) {
  mkdirSync(marks, { recursive: true });
  writeFileSync(join(marks, name), text);
}

const own = join(root, 'node_modules', 'node', 'bin', 'node');

/**
 * Gives the checkout's own Node one place, whichever package brought it. The npm package of that name would install the
 * program by a script, outside the hashes of the lockfile: see scripts/node/package.json.
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
    `setup: tacho needs Node 24 or newer; this is ${process.versions.node}, and npm did not bring another`,
  );
  process.exit(1);
}

const lock = hashOf(['package-lock.json', 'package.json', 'scripts/node']);
if (markOf('lock') !== lock) {
  // Not `npm ci`: it refuses a lockfile without the other platforms' optional packages, which not every registry has.
  must('installing packages …', 'npm', ['install', '--no-save', '--no-audit', '--no-fund']);
  setMark('lock', lock);
}
placeNode();
const node = checkNode();
const sources = hashOf([
  'src',
  'scripts/build.mjs',
  'scripts/notices.mjs',
  'scripts/typebox.d.ts',
  'package-lock.json',
  'tsconfig.types.json',
]);
if (markOf('build') !== sources || !existsSync(join(root, 'dist', 'cli.cjs'))) {
  must('building …', node, ['scripts/build.mjs', '--types']);
  setMark('build', sources);
}

const then = process.argv.indexOf('--then');
const [what, ...rest] = then < 0 ? [] : process.argv.slice(then + 1);
const STEPS = {
  demo: () => run(node, ['scripts/demo.mjs', ...rest]),
  test: () => run(node, ['scripts/test.mjs', ...rest]),
  bench: () => run(node, ['bench/main.ts', ...rest]),
  rehearse: () => run(node, ['rehearsal/main.ts', ...rest]),
  torture: () => run(node, ['test/torture/main.ts', ...rest]),
};
// Ctrl-C reaches the step too; its end is waited for.
process.on('SIGINT', () => {});
if (what !== undefined) process.exit(STEPS[what]());
