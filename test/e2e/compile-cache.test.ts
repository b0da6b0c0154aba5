/** Compiled code is stored in a folder that only the user can write: anyone else who could would run code as the user. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { fixture, root, usePlace } from './cli.ts';
import { note } from './needs.ts';

const place = usePlace();
const cache = () => join(place.folder, '.cache', 'tacho');
const WIDE_OPEN = ['sh', '-c', 'umask 000; exec "$@"', 'sh'];
const start = async (env: Record<string, string> = {}) => {
  const { code } = await place.tacho(['runs', 'list'], {
    env: { XDG_CACHE_HOME: '', ...env },
    under: WIDE_OPEN,
  });
  expect(code).toBe(0);
};
const entries = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

test('the cache is ~/.cache/tacho, private whatever the umask, and never the temporary folder', async () => {
  const tmp = join(place.folder, 'tmp');
  mkdirSync(tmp, { mode: 0o1777 });
  await start({ TMPDIR: tmp });
  expect([entries(tmp), entries(cache()).length]).toEqual([[], 1]);
  const modes = readdirSync(place.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'tmp')
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (statSync(path).mode & 0o022) !== 0);
  expect(modes).toEqual([]);
});

test('XDG_CACHE_HOME and NODE_COMPILE_CACHE are respected', async () => {
  const [xdg, own] = [join(place.folder, 'xdg'), join(place.folder, 'own')];
  await start({ XDG_CACHE_HOME: xdg });
  expect(entries(join(xdg, 'tacho'))).toHaveLength(1);
  await start({ NODE_COMPILE_CACHE: own });
  expect([entries(own).length, entries(cache())]).toEqual([1, []]);
});

test('an empty or relative HOME creates no cache in the current folder', async () => {
  const XDG_STATE_HOME = join(place.folder, 'user');
  for (const HOME of ['', '.']) await start({ HOME, XDG_STATE_HOME });
  expect(entries(place.work)).toEqual([]);
});

test("no cache is created where others can write, behind a link, or in another user's folder", async () => {
  mkdirSync(cache(), { recursive: true });
  // In a sticky folder others cannot replace an entry, but can create it first.
  for (const mode of [0o777, 0o1777, 0o720]) {
    chmodSync(cache(), mode);
    await start();
    expect(entries(cache())).toEqual([]);
  }
  chmodSync(cache(), 0o700);
  chmodSync(join(place.folder, '.cache'), 0o777);
  await start();
  expect(entries(cache())).toEqual([]);
  const [elsewhere, linked] = [join(place.folder, 'elsewhere'), join(place.folder, 'linked')];
  mkdirSync(elsewhere);
  mkdirSync(linked);
  symlinkSync(elsewhere, join(linked, 'tacho'));
  await start({ XDG_CACHE_HOME: linked });
  expect(entries(elsewhere)).toEqual([]);
  if (process.getuid?.() !== 0)
    return note('compile-cache.test.ts: needs root: folders of another user');
  // Its own folder and the parent folder, where the owner can replace it.
  for (const owned of [['tacho'], []]) {
    const foreign = join(place.folder, `foreign-${owned.length}`);
    mkdirSync(join(foreign, 'tacho'), { recursive: true });
    chownSync(join(foreign, ...owned), 65_534, 65_534);
    await start({ XDG_CACHE_HOME: foreign });
    expect(entries(join(foreign, 'tacho'))).toEqual([]);
  }
});

/** The files of compiled code, each with its creation time. */
function codeFiles(): Map<string, number> {
  const [name] = entries(cache());
  const folder = join(cache(), name ?? '');
  const files = name === undefined ? [] : readdirSync(folder);
  return new Map(files.map((file) => [join(folder, file), statSync(join(folder, file)).mtimeMs]));
}

test('the first successful start stores its compiled code, and the next one uses it', async () => {
  const env = { XDG_CACHE_HOME: '' };
  await place.tacho(['runs', 'list', '--limit', 'x'], { env });
  expect([...codeFiles()]).toEqual([]);
  await start();
  const kept = codeFiles();
  expect([...kept.keys()].map((path) => basename(path)).sort()).toEqual([
    'cli.cjs.bin',
    'runs-list.cjs.bin',
    'store-state-dir.cjs.bin',
  ]);
  await start();
  expect(codeFiles()).toEqual(kept);
});

test('a command that sets V8 flags finds its compiled code', async () => {
  const env = { XDG_CACHE_HOME: '' };
  const convert = () => place.tacho(['convert', '--agent', 'demo'], { env, input: '{}\n' });
  expect((await convert()).code).toBe(0);
  const kept = codeFiles();
  expect((await convert()).code).toBe(0);
  expect(codeFiles()).toEqual(kept);
});

test('code stored after a garbage collection runs on the next start', async () => {
  const NODE_OPTIONS = `--max-old-space-size=80 --require ${fixture('fills-heap-at-exit.cjs')}`;
  const env = { XDG_CACHE_HOME: '', NODE_OPTIONS };
  const commands = [
    ['runs', 'list'],
    ['convert', '--agent', 'demo'],
  ];
  for (const args of [...commands, ...commands])
    expect(await place.tacho(args, { env, input: '{}\n' })).toMatchObject({ code: 0, stderr: '' });
});

test('only code that was unused for 30 days is removed, when other code is stored', async () => {
  const old = (path: string, days: number) => {
    const then = Date.now() / 1000 - days * 86_400;
    utimesSync(path, then, then);
  };
  const make = (name: string, days: number) => {
    mkdirSync(join(cache(), name), { recursive: true });
    writeFileSync(join(cache(), name, 'cli.cjs.bin'), 'code');
    old(join(cache(), name), days);
  };
  make('code-1', 31);
  make('code-abcdef01', 400);
  make('code-2', 29);
  make('codes', 400);
  make('code-xyz', 400);
  mkdirSync(join(place.folder, 'elsewhere'));
  old(join(place.folder, 'elsewhere'), 400);
  symlinkSync(join(place.folder, 'elsewhere'), join(cache(), 'code-3'));
  await start();
  const left = entries(cache());
  const stay = ['code-2', 'code-3', 'code-xyz', 'codes'];
  expect(left.filter((name) => name.length < 9).sort()).toEqual(stay);
  expect([left.length, entries(join(place.folder, 'elsewhere'))]).toEqual([5, []]);

  // Used code is not old; a start that stores nothing removes nothing.
  const [own = ''] = left.filter((name) => !stay.includes(name));
  const used = () => (Date.now() - statSync(join(cache(), own)).mtimeMs) / 86_400_000;
  make('code-1', 31);
  old(join(cache(), own), 29);
  await start();
  expect([used() < 1, entries(cache()).includes('code-1')]).toEqual([true, true]);
});

test('damaged code, or code of another build, is not run', async () => {
  await start();
  const kept = codeFiles();
  const wrong = [
    (bytes: Buffer) => bytes.subarray(0, 1000),
    (bytes: Buffer) => Buffer.concat([Buffer.from('/*other'), bytes.subarray(7)]),
    (bytes: Buffer) => bytes.fill(0, 2000, 2512),
    (bytes: Buffer) => bytes.fill(0, 32),
    () => Buffer.alloc(0),
  ];
  for (const change of wrong) {
    for (const path of kept.keys()) writeFileSync(path, change(readFileSync(path)));
    const { code, stdout } = await place.tacho(['runs', 'list'], { env: { XDG_CACHE_HOME: '' } });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^No runs in /)]);
    for (const path of kept.keys()) expect(readFileSync(path).length).toBeGreaterThan(2000);
  }
});

test('each file of the bundle begins with the hash of the rest', () => {
  const dist = join(root, 'dist');
  for (const name of readdirSync(dist).filter((name) => name.endsWith('.cjs'))) {
    const bytes = readFileSync(join(dist, name));
    const hash = createHash('sha256').update(bytes.subarray(32)).digest('hex').slice(0, 28);
    expect(bytes.toString('latin1', 0, 32)).toBe(`/*${hash}*/`);
    // The launcher reads it as latin1.
    expect(bytes.every((byte) => byte < 0x80)).toBe(true);
  }
});
