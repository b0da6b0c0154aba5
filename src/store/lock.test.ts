import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { takeLock } from './lock.ts';
import { mayLive, thisOwner } from './owner.ts';

const folder = mkdtempSync(join(tmpdir(), 'tacho-lock-'));
const path = join(folder, 'lock');
afterEach(() => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
});

const dead = { ...thisOwner(), ticks: 1 };

test('one holds it at a time; given back, the next one has it', () => {
  const release = takeLock(path);
  expect(takeLock(path)).toBeNull();
  release?.();
  expect(existsSync(path)).toBe(false);
  takeLock(path)?.();
  expect(readdirSync(folder)).toEqual([]);
});

test('of a dead holder, or one whose name cannot be read, it is taken over', () => {
  for (const text of [JSON.stringify(dead), '']) {
    writeFileSync(path, text);
    const release = takeLock(path);
    expect(release).not.toBeNull();
    expect(takeLock(path)).toBeNull();
    release?.();
    expect(readdirSync(folder)).toEqual([]);
  }
});

test('a folder that is not there has no lock to give', () => {
  expect(takeLock(join(folder, 'none', 'lock'))).toBeNull();
});

test('of many processes that find a dead holder, exactly one gets it', async () => {
  const script = `import { takeLock } from ${JSON.stringify(new URL('./lock.ts', import.meta.url).href)};
    const path = process.argv[1];
    while (Date.now() < Number(process.argv[2]));
    for (let round = 0; round < 20; round++) {
      const at = Number(process.argv[2]) + round * 25;
      while (Date.now() < at);
      process.stdout.write(takeLock(path + round) === null ? '-' : String(round % 10));
    }
    process.stdin.resume();`;
  for (let round = 0; round < 20; round++)
    writeFileSync(path + round, round % 2 === 0 ? JSON.stringify(dead) : '');
  const at = String(Date.now() + 1500);
  const children = [0, 1, 2].map(() =>
    spawn(process.execPath, ['--input-type=module', '-e', script, path, at]),
  );
  const told = await Promise.all(
    children.map(
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
  for (const child of children) child.stdin.end();
  for (let round = 0; round < 20; round++)
    expect(told.filter((text) => text[round] !== '-')).toHaveLength(1);
});

test('an owner of before the restart of this host is dead; one of another host may live', () => {
  const before = { ...thisOwner(), space: 'another-boot/pid:[1]' };
  expect(mayLive(before)).toBe(false);
  expect(mayLive({ ...before, host: 'elsewhere' })).toBe(true);
  expect(mayLive({ pid: 1, ticks: 1, space: 'another-boot/pid:[1]' })).toBe(true);
  const { space } = thisOwner();
  expect(mayLive({ ...before, space: `${space?.split('/')[0]}/pid:[1]` })).toBe(true);
});
