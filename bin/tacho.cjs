#!/usr/bin/env node
// The launcher: plain JavaScript that any Node reads. On an older Node, old-node.cjs continues. It loads as little as
// possible, because it is part of every start (a CommonJS file, because `import 'node:fs'` alone costs 10 ms).
'use strict';
const {
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} = require('node:fs');
const { dirname, isAbsolute, join } = require('node:path');

const NODE_NEEDED = 24;
const root = join(__dirname, '..');
const bundle = join(root, 'dist', 'cli.cjs');

function fail(text) {
  process.stderr.write(`tacho: ${text}\n`);
  process.exitCode = 70;
}

/** Whether only this user and the system administrator can change the content of a folder or replace it. */
function isSafe(folder) {
  const uid = process.getuid?.();
  if (uid === undefined) return true;
  for (let path = folder; ; path = dirname(path)) {
    const found = lstatSync(path);
    const ours = found.uid === uid || (found.uid === 0 && path !== folder);
    // In a sticky folder others can add files, but cannot change ours.
    const open = (found.mode & 0o022) !== 0 && ((found.mode & 0o1000) === 0 || path === folder);
    if (!found.isDirectory() || !ours || open) return false;
    if (dirname(path) === path) return true;
  }
}

/**
 * The folder of compiled code. It must belong to the user: anyone who can write there runs code as this user. Null if
 * there is none, or if the user has chosen Node's own cache or no cache.
 */
function codeFolder() {
  const {
    NODE_COMPILE_CACHE,
    NODE_DISABLE_COMPILE_CACHE,
    XDG_CACHE_HOME: given = '',
  } = process.env;
  if (NODE_COMPILE_CACHE || NODE_DISABLE_COMPILE_CACHE) return null;
  try {
    const base = isAbsolute(given) ? given : join(require('node:os').homedir(), '.cache');
    // An empty HOME would mean the current folder, which may be a clone.
    if (!isAbsolute(base)) return null;
    mkdirSync(join(base, 'tacho'), { recursive: true, mode: 0o700 });
    const folder = join(realpathSync(base), 'tacho');
    return isSafe(folder) ? join(folder, codeName()) : null;
  } catch {
    return null;
  }
}

/** Version of the format: changes with every change of the stored data. Version 1 could store damaged code. */
const FORMAT = 2;

/** For this installation and this Node with its flags: V8 refuses other code. */
function codeName() {
  const { version, arch, env, execArgv } = process;
  const text = [FORMAT, root, version, arch, env.NODE_OPTIONS, ...execArgv].join('\0');
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  return `code-${(hash >>> 0).toString(16)}`;
}

/** Each file of the bundle begins with a comment of this length: the hash of the rest. */
const ID_CHARS = 32;

/**
 * Runs the bundle with the compiled code of an earlier start, and stores that of this one. Node's own cache stores code
 * before it runs, without most functions, which are then compiled again at every start.
 */
function runBundle(folder) {
  const { Script } = require('node:vm');
  const loaded = new Map();
  const fresh = [];

  function load(name) {
    const before = loaded.get(name);
    if (before !== undefined) return before.exports;
    const path = join(root, 'dist', name);
    // The build writes only ASCII.
    const source = readFileSync(path, 'latin1');
    const kept = { file: join(folder, `${name}.bin`), id: source.slice(0, ID_CHARS) };
    const cachedData = codeIn(kept);
    const script = new Script(`(function(exports,require,module,__filename){${source}\n})`, {
      filename: path,
      cachedData,
    });
    if (cachedData === undefined || script.cachedDataRejected)
      fresh.push({ ...kept, script, marks: marksNow() });
    const module = { exports: {} };
    loaded.set(name, module);
    const take = (wanted) => (wanted.startsWith('./') ? load(wanted.slice(2)) : require(wanted));
    script.runInThisContext()(module.exports, take, module, path);
    return module.exports;
  }

  // A failed command has not run most of its code.
  process.on('exit', (code) => {
    if (code === 0) for (const each of fresh) keepCode(folder, each);
  });
  noteUse(folder);
  load('cli.cjs');
}

/** The head of a code file: the id of its source, and a checksum, because V8 would run damaged code. */
function headOf(id, code) {
  const words = new Int32Array(code.buffer, code.byteOffset, code.length >> 2);
  let sum = code.length;
  // One word per 64 bytes: a disk damages whole blocks.
  for (let at = 0; at < words.length; at += 16) sum = (Math.imul(sum, 31) + words[at]) | 0;
  return id + (sum >>> 0).toString(16).padStart(8, '0');
}

const HEAD_CHARS = ID_CHARS + 8;

function codeIn({ file, id }) {
  try {
    const bytes = readFileSync(file);
    const code = bytes.subarray(HEAD_CHARS);
    return bytes.latin1Slice(0, HEAD_CHARS) === headOf(id, code) ? code : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The header that V8 writes before the code, in words of 4 bytes: its version in two, the source, the flags, its
 * snapshot. Stored code with another header is refused.
 */
const MARKS = { flags: 12, flags_end: 16, end: 20 };

function marksNow() {
  const { Script } = require('node:vm');
  return new Script('').createCachedData().subarray(0, MARKS.end);
}

/**
 * Sets the flags in the header of the code. Some commands set memory flags later (lib/memory.ts), on which no code
 * depends. Only this word is written: the rest differs even between two compilations of the same script, and V8 ends
 * the process when a byte of the code is wrong. False if the header is not as expected.
 */
function markAsLoaded(code, loaded) {
  const now = marksNow();
  const { flags, flags_end, end } = MARKS;
  const is_known =
    now.compare(loaded, 0, flags, 0, flags) === 0 &&
    now.compare(loaded, flags_end, end, flags_end, end) === 0 &&
    now.compare(code, flags, end, flags, end) === 0;
  if (is_known) loaded.copy(code, flags, flags, flags_end);
  return is_known;
}

/** Renamed only once all of it is on disk: V8 would run a partial file after a crash. */
function keepCode(folder, { file, id, script, marks }) {
  const made = `${file}.${process.pid}`;
  try {
    const code = script.createCachedData();
    if (!markAsLoaded(code, marks)) return;
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined)
      removeUnused(dirname(folder));
    writeFileSync(made, Buffer.concat([Buffer.from(headOf(id, code)), code]), {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
    renameSync(made, file);
  } catch {
    // Without it, starting is only slower. A partly written file is removed.
    try {
      rmSync(made, { force: true });
    } catch {}
  }
}

const DAY_MS = 86_400_000;
const UNUSED_DAYS = 30;
/** Most folders that one start removes. */
const REMOVED_MAX = 50;

/** The modification time of a folder is its last use, to within a day. */
function noteUse(folder) {
  try {
    const now = Date.now();
    if (now - statSync(folder).mtimeMs > DAY_MS) utimesSync(folder, now / 1000, now / 1000);
  } catch {
    // It does not exist yet.
  }
}

/** There is one folder per installation and Node version; folders not used for a month are removed. */
function removeUnused(parent) {
  const before = Date.now() - UNUSED_DAYS * DAY_MS;
  const names = readdirSync(parent).filter((name) => /^code-[0-9a-f]{1,8}$/.test(name));
  let left = REMOVED_MAX;
  for (const name of names) {
    try {
      const found = lstatSync(join(parent, name));
      if (!found.isDirectory() || found.mtimeMs > before) continue;
      if (left-- === 0) return;
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // Another start removed it, or it cannot be removed.
    }
  }
}

/** The name of a prebuilt text: for `--version`, and for `--help` after the names of commands. */
function fixedTextName([...words]) {
  const asked = words.pop();
  if ((asked === '--version' || asked === '-V') && words.length === 0) return 'version';
  const help = asked === '--help' || asked === '-h';
  return help && words.every((word) => /^[a-z]+$/.test(word))
    ? ['tacho', ...words].join('-')
    : null;
}

/** The texts are 100 columns wide; for a narrower terminal, the command itself wraps them. */
const isNarrow = () => fstatSync(1).isCharacterDevice() && process.stdout.columns < 100;

/** Prints a prebuilt text; false if the command itself must do it and report failures. */
function printFixedText() {
  const name = fixedTextName(process.argv.slice(2));
  if (name === null) return false;
  try {
    if (isNarrow()) return false;
    const text = readFileSync(join(root, 'dist', 'texts', `${name}.txt`));
    const done = writeSync(1, text);
    if (done < text.length) process.stdout.write(text.subarray(done));
    return true;
  } catch {
    return false;
  }
}

if (Number.parseInt(process.versions.node, 10) < NODE_NEEDED) {
  require('./old-node.cjs').onOldNode(root, NODE_NEEDED, fail);
} else if (!existsSync(bundle)) {
  fail('this checkout is not built yet: run "npm start" (or "npm test") once');
} else if (!printFixedText()) {
  const folder = codeFolder();
  if (folder === null) require(bundle);
  else runBundle(folder);
}
