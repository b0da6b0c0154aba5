import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { testFolder } from '../../test/fixtures/folder.ts';
import { homeFolder } from '../lib/home.ts';
import { isAlive, startTicks } from './owner.ts';
import {
  createSpool,
  listSpools,
  readMeta,
  removeSpool,
  spoolAt,
  writeMeta,
  writeStdin,
} from './spool/spool.ts';
import { findStateDir, openStateDir, resolveStateDir, stateDirAt } from './state-dir.ts';
import { userStatePath } from './user-state.ts';

const RUN = 'r_01m7ek9waharpypwdc3ap3fmfq';
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('the state folder', () => {
  verifies('WA-1', 'is named by the flag, else TACHO_HOME, else the nearest .tacho', () => {
    const top = testFolder();
    const deep = join(top, 'a', 'b');
    mkdirSync(deep, { recursive: true });
    const env = { TACHO_HOME: '/home/state', XDG_STATE_HOME: '/xdg' };
    const named = [
      findStateDir({ flag: 'here', env, cwd: '/w' }),
      findStateDir({ flag: null, env, cwd: '/w' }),
      findStateDir({ flag: '', env, cwd: '/w' }),
    ];
    expect(named).toEqual([
      { path: '/w/here', source: 'flag' },
      { path: '/home/state', source: 'environment' },
      { path: '/home/state', source: 'environment' },
    ]);
    const used = () => findStateDir({ env: { ...env, TACHO_HOME: '' }, cwd: deep });
    expect(used()).toEqual({ path: '/xdg/tacho', source: 'user' });
    writeFileSync(join(deep, '.tacho'), 'a file is no state folder');
    mkdirSync(join(top, '.tacho'));
    expect(used()).toEqual({ path: join(top, '.tacho'), source: 'project' });
    mkdirSync(join(top, 'a', '.tacho'));
    expect(used()).toEqual({ path: join(top, 'a', '.tacho'), source: 'project' });
  });

  const is_root = process.getuid?.() === 0;
  test.runIf(is_root)('above this folder, a .tacho of another user does not count', () => {
    const top = testFolder();
    mkdirSync(join(top, '.tacho'));
    mkdirSync(join(top, 'a'));
    chownSync(join(top, '.tacho'), 12_345, 12_345);
    const env = { XDG_STATE_HOME: '/xdg' };
    expect(resolveStateDir({ env, cwd: join(top, 'a') })).toBe('/xdg/tacho');
    expect(resolveStateDir({ env, cwd: top })).toBe(join(top, '.tacho'));
  });

  verifies('WA-1', 'of a user is where programs on the platform keep their state', () => {
    const home = homeFolder();
    const at = (env: Record<string, string>, platform: NodeJS.Platform) =>
      userStatePath(env, platform);
    expect([at({}, 'linux'), at({ XDG_STATE_HOME: 'relative' }, 'linux')]).toEqual([
      join(home, '.local/state/tacho'),
      join(home, '.local/state/tacho'),
    ]);
    expect([at({}, 'darwin'), at({}, 'win32'), at({ LOCALAPPDATA: '/local' }, 'win32')]).toEqual([
      join(home, 'Library/Application Support/tacho'),
      join(home, 'AppData/Local/tacho'),
      '/local/tacho',
    ]);
    expect(at({ XDG_STATE_HOME: '/xdg' }, 'darwin')).toBe('/xdg/tacho');
  });

  verifies(
    ['ST-8', 'ST-9'],
    'does not take over a folder with other files, which stays unchanged',
    () => {
      const path = testFolder();
      chmodSync(path, 0o755);
      mkdirSync(join(path, 'lost+found'));
      writeFileSync(join(path, 'precious.txt'), '');
      expect(() => openStateDir(path)).toThrow(
        `${path}: contains other files, but no tacho records: choose another folder with --state-dir or TACHO_HOME`,
      );
      expect([readdirSync(path).sort(), modeOf(path)]).toEqual([
        ['lost+found', 'precious.txt'],
        0o755,
      ]);
      rmSync(join(path, 'precious.txt'));
      openStateDir(path);
      writeFileSync(join(path, 'note.txt'), '');
      expect(openStateDir(path)).toEqual(stateDirAt(path));
    },
  );

  verifies(
    'ST-8',
    'is created for its owner only, and one that was open to others is closed',
    () => {
      const path = join(testFolder(), 'deep', 'state');
      const state = openStateDir(path);
      expect(state).toEqual(stateDirAt(path));
      const folders = [state.path, state.journal, state.spool, state.transcripts];
      expect(folders.map(modeOf)).toEqual([0o700, 0o700, 0o700, 0o700]);
      expect(readFileSync(join(path, '.gitignore'), 'utf8')).toBe('*\n');
      for (const folder of folders) chmodSync(folder, 0o755);
      openStateDir(path);
      expect(folders.map(modeOf)).toEqual([0o700, 0o700, 0o700, 0o700]);
    },
  );

  test('has a whole .gitignore or none, even if the first write failed', () => {
    const path = join(testFolder(), 'state');
    const module = join(import.meta.dirname, 'state-dir.ts');
    const text = `import { openStateDir } from ${JSON.stringify(module)}; openStateDir(${JSON.stringify(path)});`;
    // Files can be created but not written.
    const limited = ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath];
    const child = spawnSync('sh', [...limited, '--input-type=module', '-e', text]);
    expect([child.status === 0, readdirSync(path).includes('journal')]).toEqual([false, true]);
    expect(readdirSync(path)).not.toContain('.gitignore');
    openStateDir(path);
    expect(readFileSync(join(path, '.gitignore'), 'utf8')).toBe('*\n');
  });

  verifies(
    ['ST-8', 'ST-9'],
    'is refused with its path if a link or a file is in place of one of its folders',
    () => {
      const made = ['', 'journal', 'spool', 'transcripts'];
      const later = ['logs', 'archive', 'tmp', 'outbox', 'live', 'live/journal'];
      for (const place of [...made, ...later]) {
        const folder = testFolder();
        const state = join(folder, 'state');
        const path = join(state, place);
        mkdirSync(join(folder, 'elsewhere'));
        if (place !== '') openStateDir(state);
        if (place === 'live/journal') mkdirSync(join(state, 'live'));
        rmSync(path, { recursive: true, force: true });
        symlinkSync(join(folder, 'elsewhere'), path);
        expect(() => openStateDir(state)).toThrow(
          `${path}: it is a symbolic link, which is not followed`,
        );
        rmSync(path);
        writeFileSync(path, '');
        if (later.includes(place)) openStateDir(state);
        else
          expect(() => openStateDir(state)).toThrow(
            `${path}: a part of the path is a file, not a folder`,
          );
      }
    },
  );

  verifies('ST-8', 'that belongs to another user is refused', () => {
    // Only root can give a folder away; for other users, root's own folder is the foreign one.
    let path = '/proc/1';
    if (process.getuid?.() === 0) {
      path = testFolder();
      chownSync(path, 12_345, 12_345);
    }
    expect(() => openStateDir(path)).toThrow(`${path}: belongs to another user`);
  });
});

describe('a spool', () => {
  verifies(
    'ST-8',
    'has files for its owner only, under a name that no foreign id can choose',
    () => {
      const state = openStateDir(join(testFolder(), 'state'));
      const spool = createSpool(state, RUN);
      writeStdin(spool, 'Fix é\n');
      writeMeta(spool, { pid: 1 });
      expect(spool.path).toBe(join(state.spool, RUN));
      expect([spool.stdout, spool.stderr, spool.stdin, spool.meta].map(modeOf)).toEqual([
        0o600, 0o600, 0o600, 0o600,
      ]);
      expect(modeOf(spool.path)).toBe(0o700);
      expect(readFileSync(spool.stdin, 'utf8')).toBe('Fix é\n');
      expect(readMeta(spool)?.value).toEqual({ pid: 1 });
      expect(() => createSpool(state, RUN)).toThrow(spool.stdout);
      for (const id of ['../../x', '/etc/passwd', 'r_../x', 'a\0b', '']) {
        expect(spoolAt(state, id).name).toMatch(/^spool-[0-9a-z]{26}$/);
      }
    },
  );

  test('is listed, read and removed; anything else is left alone', () => {
    const state = openStateDir(join(testFolder(), 'state'));
    const later = createSpool(state, 'r_01m7ek9wbbpwgmptw6ebvv5a3n');
    const first = createSpool(state, RUN);
    writeFileSync(join(state.spool, 'a file'), '');
    symlinkSync(state.journal, join(state.spool, 'a link'));
    expect(listSpools(state)).toEqual([first, later]);
    expect(readMeta(first)).toBeUndefined();
    writeFileSync(first.meta, '{"torn');
    expect(readMeta(first)).toMatchObject({ path: first.meta, faults: [{ line: 1 }] });
    removeSpool(first);
    removeSpool(first);
    removeSpool(spoolAt(state, 'never made'));
    expect(listSpools(state)).toEqual([later]);
  });

  verifies('ST-8', 'that is a link is removed, not its target', () => {
    const folder = testFolder();
    const state = openStateDir(join(folder, 'state'));
    mkdirSync(join(folder, 'precious'));
    writeFileSync(join(folder, 'precious', 'stdout'), 'kept');
    symlinkSync(join(folder, 'precious'), join(state.spool, RUN));
    expect(() => createSpool(state, RUN)).toThrow('it is a symbolic link');
    removeSpool(spoolAt(state, RUN));
    expect(readFileSync(join(folder, 'precious', 'stdout'), 'utf8')).toBe('kept');
  });

  test('knows by pid and start time whether its owner is alive', () => {
    const ticks = startTicks(process.pid);
    expect(isAlive(process.pid, ticks)).toBe(true);
    expect(isAlive(2 ** 30, null)).toBe(false);
    expect([isAlive(0, null), isAlive(-1, null), isAlive(1.5, null)]).toEqual([
      false,
      false,
      false,
    ]);
    if (ticks !== null) expect(isAlive(process.pid, ticks + 1)).toBe(false);
  });
});
