import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, expect, test } from 'vitest';
import { succeeds } from '../../test/e2e/needs.ts';
import { heldError, holderOf, takeLock, waitForLock } from './lock.ts';
import { mayLive, type Owner, sweepLives, thisOwner } from './owner.ts';

const folder = mkdtempSync(join(tmpdir(), 'tacho-lock-'));
const path = join(folder, 'lock');
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HOLDER = fileURLToPath(new URL('../../test/fixtures/lock-holder.ts', import.meta.url));

/** A process that holds a lock. Resolves with the first `lines` lines it prints. */
async function holder(args: string[], lines = 1, wrap: string[] = []) {
  const [program, ...rest] = [...wrap, process.execPath, HOLDER, ...args] as [string, ...string[]];
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const said = await new Promise<string[]>((resolve) => {
    let text = '';
    child.stdout.on('data', (data: Buffer) => {
      text += data.toString();
      if (text.split('\n').length > lines) resolve(text.trim().split('\n'));
    });
    child.on('exit', () => resolve(text.split('\n')));
  });
  const kill = () =>
    new Promise<void>((resolve) => {
      child.on('exit', () => resolve());
      child.kill('SIGKILL');
    });
  return { said, kill, pid: child.pid };
}

test('one process holds it at a time; after its release the next one gets it, and no file is left', () => {
  const release = takeLock(path);
  expect(takeLock(path)).toBeNull();
  expect(holderOf(path)).toMatchObject({ pid: process.pid });
  release?.();
  expect(existsSync(path)).toBe(false);
  takeLock(path)?.();
  expect(readdirSync(folder)).toEqual([]);
});

test('the lock of another process is respected, named in the refusal, and ends with kill -9', async () => {
  const other = await holder(['lock', path]);
  expect(other.said).toEqual(['held']);
  expect(takeLock(path)).toBeNull();
  const { message } = heldError(path, 'the store', 'test');
  expect(message).toContain(`process ${other.pid} on`);
  expect(message).toContain('--force');
  expect(message).toContain(path);
  await other.kill();
  takeLock(path)?.();
  expect(readdirSync(folder)).toEqual([]);
});

test('a second copy of the code in this process, as another bundle has one, does not end a lock', async () => {
  const release = takeLock(path);
  const copy: string = './kernel-lock.ts?copy';
  const { lockFile } = (await import(copy)) as typeof import('./kernel-lock.ts');
  expect(lockFile).not.toBe((await import('./kernel-lock.ts')).lockFile);
  expect(lockFile(path, 'immediate')).toBeNull();
  expect((await holder(['lock', path])).said).toEqual(['refused']);
  release?.();
});

test('a child that outlives the holder does not keep the lock', async () => {
  const other = await holder(['lock', path, 'with-child'], 2);
  await other.kill();
  const left = Number(other.said[1]);
  try {
    const release = takeLock(path);
    expect(release).not.toBeNull();
    release?.();
  } finally {
    process.kill(left, 'SIGKILL');
  }
});

test('force takes it from a live holder, and the release of that holder then changes nothing', () => {
  const first = takeLock(path);
  const second = takeLock(path, { force: true });
  expect(second).not.toBeNull();
  expect(takeLock(path)).toBeNull();
  first?.();
  expect(takeLock(path)).toBeNull();
  second?.();
  takeLock(path)?.();
  expect(readdirSync(folder)).toEqual([]);
});

test('a lock file removed while it is held locks no one out', () => {
  const first = takeLock(path);
  unlinkSync(path);
  const second = takeLock(path);
  expect(second).not.toBeNull();
  first?.();
  expect(takeLock(path)).toBeNull();
  second?.();
});

test('waiting ends when the lock is released, or with a refusal', async () => {
  const release = takeLock(path);
  const said: string[] = [];
  const options = { use: 'the store', stage: 'test', say: (text: string) => said.push(text) };
  await expect(waitForLock(path, { ...options, wait_ms: 60 })).rejects.toThrow('in use by');
  setTimeout(() => release?.(), 100);
  (await waitForLock(path, options))();
  expect(said).toHaveLength(2);
});

test('a lock file of an older version is respected as long as its process lives', () => {
  writeFileSync(path, JSON.stringify({ ...thisOwner(), ticks: 1 }));
  takeLock(path)?.();
  expect(existsSync(path)).toBe(false);
  writeFileSync(path, JSON.stringify(thisOwner()));
  expect(takeLock(path)).toBeNull();
});

test('a lock file of an older version is emptied, not replaced: a process that has it open waits for the same lock', () => {
  writeFileSync(path, JSON.stringify({ ...thisOwner(), ticks: 1 }));
  const opened = openSync(path, 'r');
  const release = takeLock(path);
  try {
    expect(release).not.toBeNull();
    expect(fstatSync(opened)).toMatchObject({ ino: statSync(path).ino, size: 0 });
  } finally {
    release?.();
    closeSync(opened);
  }
});

test('a file that is not a lock is named and left unchanged: text, JSON without an owner, a database', () => {
  const database = join(folder, 'database');
  new DatabaseSync(database).exec('CREATE TABLE a (b)');
  for (const bytes of ['[[package]]\n', '{"pid":"1"}', readFileSync(database)]) {
    writeFileSync(path, bytes);
    expect(() => takeLock(path)).toThrow(`${path}: this file is not a tacho lock file`);
    expect(readFileSync(path)).toEqual(Buffer.from(bytes));
  }
});

test('if no lock can be created, the reason is reported', () => {
  expect(() => takeLock(join(folder, 'none', 'lock'))).toThrow('no such file or folder');
  mkdirSync(path);
  expect(() => takeLock(path)).toThrow('it is a folder, not a file');
  rmSync(path, { recursive: true });
  symlinkSync(join(folder, 'elsewhere'), path);
  expect(() => takeLock(path)).toThrow('symbolic link');
});

test('a file system without locks is named as the reason', () => {
  if (!succeeds(['strace', '-qq', '-o', '/dev/null', 'true'], 'file systems without locks')) return;
  const script = `import { takeLock, heldError } from ${JSON.stringify(new URL('./lock.ts', import.meta.url).href)};
    if (takeLock(process.argv[1]) === null) throw heldError(process.argv[1], 'the store', 'test');`;
  for (const error of ['ENOLCK', 'EOPNOTSUPP', 'ENOSYS']) {
    // With -D the program keeps the shell's pid, which names the file of the second attempt.
    const command = `exec strace -D -qq -f -o /dev/null -P "$1" -P "$1.try-$$" -e trace=fcntl -e inject=fcntl:error=${error} "$2" --input-type=module -e "$3" "$1"`;
    const args = ['-c', command, 'sh', path, process.execPath, script];
    const { stderr } = spawnSync('sh', args, { encoding: 'utf8' });
    expect(stderr).toContain('does not support file locks');
  }
});

test('of many processes that want it at the same time, exactly one gets it', async () => {
  const script = `import { takeLock } from ${JSON.stringify(new URL('./lock.ts', import.meta.url).href)};
    const path = process.argv[1];
    while (Date.now() < Number(process.argv[2]));
    for (let round = 0; round < 20; round++) {
      const at = Number(process.argv[2]) + round * 25;
      while (Date.now() < at);
      process.stdout.write(takeLock(path + round) === null ? '-' : String(round % 10));
    }
    process.stdin.resume();`;
  const at = String(Date.now() + 1500);
  const racers = [0, 1, 2].map(() =>
    spawn(process.execPath, ['--input-type=module', '-e', script, path, at]),
  );
  children.push(...racers);
  const printed = await Promise.all(
    racers.map(
      (child) =>
        new Promise<string>((resolve) => {
          let text = '';
          child.stdout.on('data', (data: Buffer) => {
            text += data.toString();
            if (text.length === 20) resolve(text);
          });
          child.on('exit', () => resolve(text));
        }),
    ),
  );
  for (let round = 0; round < 20; round++)
    expect(printed.filter((text) => text[round] !== '-')).toHaveLength(1);
});

test('no two processes hold it at the same time, although each holder removes the file', async () => {
  // A folder made by the holder alone: if two hold the lock, the second one finds it.
  const script = `import { takeLock } from ${JSON.stringify(new URL('./lock.ts', import.meta.url).href)};
    import { mkdirSync, rmdirSync } from 'node:fs';
    const path = process.argv[1];
    for (const until = performance.now() + 2_000; performance.now() < until; ) {
      const release = takeLock(path);
      if (release === null) continue;
      mkdirSync(path + '.mine');
      rmdirSync(path + '.mine');
      release();
    }
    console.log('done');`;
  const racers = [0, 1, 2].map(() =>
    spawn(process.execPath, ['--input-type=module', '-e', script, path]),
  );
  children.push(...racers);
  const said = await Promise.all(
    racers.map(async (child) => {
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data: Buffer) => {
          text += data.toString();
        });
      await new Promise((resolve) => child.on('close', resolve));
      return text;
    }),
  );
  expect(said).toEqual(racers.map(() => 'done\n'));
});

test('an owner lives as long as its process, and its file is removed at its end or by a sweep', async () => {
  const other = await holder(['own', folder]);
  const owner = JSON.parse(other.said[0] as string) as Owner;
  expect(mayLive(owner, folder)).toBe(true);
  // Whatever its pid is here.
  expect(mayLive({ ...owner, pid: 1, ticks: 1, space: 'other/pid:[1]' }, folder)).toBe(true);
  sweepLives(folder);
  expect(mayLive(owner, folder)).toBe(true);
  await other.kill();
  expect(mayLive(owner, folder)).toBe(false);
  // The pid was given to another process.
  expect(mayLive({ ...owner, pid: process.pid, ticks: null }, folder)).toBe(false);
  expect(readdirSync(folder)).toHaveLength(1);
  sweepLives(folder);
  expect(readdirSync(folder)).toEqual([]);
  expect(mayLive(owner, folder)).toBe(false);
});

test('this process considers itself alive even if its file was removed', () => {
  const owner = thisOwner(folder);
  expect(mayLive(owner, folder)).toBe(true);
  sweepLives(folder);
  expect(mayLive(owner, folder)).toBe(true);
  for (const name of readdirSync(folder)) unlinkSync(join(folder, name));
  expect(mayLive(owner, folder)).toBe(true);
  expect(thisOwner(folder).life).not.toBe(owner.life);
});

test('an owner in another container lives until its container ends', async () => {
  const wrap = ['-r', '--pid', '--fork', '--mount-proc', '--kill-child=SIGKILL'];
  if (!succeeds(['unshare', ...wrap, 'true'], 'owners in containers')) return;
  const other = await holder(['own', folder], 1, ['unshare', ...wrap]);
  const owner = JSON.parse(other.said[0] as string) as Owner;
  expect(owner.space).not.toBe(thisOwner().space);
  expect(mayLive(owner, folder)).toBe(true);
  await other.kill();
  for (let tries = 0; tries < 100 && mayLive(owner, folder); tries++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  expect(mayLive(owner, folder)).toBe(false);
});

test('an owner without its own file counts as alive only if its process is visible', () => {
  const plain = thisOwner();
  expect(mayLive(plain, folder)).toBe(true);
  expect(mayLive({ ...plain, ticks: 1 }, folder)).toBe(false);
  expect(mayLive({ ...plain, space: 'another-boot/pid:[1]' }, folder)).toBe(false);
  expect(mayLive({ ...plain, life: '../../etc/passwd' }, folder)).toBe(true);
  expect(mayLive({ ...plain, ticks: 1, life: '../../etc/passwd' }, folder)).toBe(false);
  // Only names that tacho creates are looked up, and only lock files count.
  writeFileSync(join(folder, 'odd.life'), '');
  expect(mayLive({ ...plain, life: 'odd' }, folder)).toBe(true);
  writeFileSync(join(folder, '0123456789abcdef.life'), 'something else '.repeat(100));
  const named = { ...plain, life: '0123456789abcdef' };
  expect([mayLive(named, folder), mayLive({ ...named, ticks: 1 }, folder)]).toEqual([true, false]);
});
