/** Files beside a database may come with a clone. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { can } from '../../../test/e2e/needs.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { plantJournal } from '../../../test/fixtures/super-journal.ts';
import { ForeignLockError, lockFile, lockState, removeUnlocked } from '../kernel-lock.ts';
import { openDatabase } from './database.ts';
import { MIGRATIONS } from './index-schema.ts';
import { openSqlite } from './sqlite.ts';

/** A database with two pages. */
function newDatabase(path: string, sql = 'CREATE TABLE a (b)'): string {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
  return path;
}

const valuesIn = (path: string) => {
  const db = new DatabaseSync(path);
  const rows = db.prepare('SELECT b FROM a').all();
  db.close();
  return rows.map(({ b }) => b);
};

describe('a journal that names another file', () => {
  test('would make SQLite act on it', () => {
    const path = newDatabase(join(testFolder(), 'db'));
    const victim = plantJournal(path);
    expect([valuesIn(path), existsSync(victim)]).toEqual([[], false]);
  });

  test('is removed, and the index beside it is damaged', () => {
    const path = join(testFolder(), 'tacho.db');
    openDatabase(path).close();
    const victim = plantJournal(path);
    const db = openDatabase(path);
    expect(existsSync(victim)).toBe(true);
    expect(db.moved_to).not.toBeNull();
    db.close();
    expect(readdirSync(join(path, '..')).filter((name) => name.endsWith('-journal'))).toEqual([]);
  });

  const USES: Record<string, (path: string) => unknown> = {
    lockFile: (path) => lockFile(path, 'exclusive')?.(),
    lockState,
    removeUnlocked,
  };
  for (const [name, use] of Object.entries(USES))
    test(`is removed beside a lock file: ${name}`, () => {
      const path = newDatabase(join(testFolder(), 'x.lock'));
      const victim = plantJournal(path);
      // No lock is a database: none of it is opened.
      expect(() => use(path)).toThrow(ForeignLockError);
      expect([existsSync(victim), existsSync(`${path}-journal`)]).toEqual([true, true]);
      writeFileSync(path, '');
      use(path);
      expect([existsSync(victim), existsSync(`${path}-journal`)]).toEqual([true, false]);
    });
});

test('a journal of a killed process is rolled back', () => {
  const folder = testFolder();
  const path = newDatabase(join(folder, 'db'), 'CREATE TABLE a (b); INSERT INTO a VALUES (1)');
  const script = `
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const db = new DatabaseSync(process.argv[1]);
    db.exec('PRAGMA cache_size = 1; BEGIN; UPDATE a SET b = 2');
    db.exec('CREATE TABLE c (d); INSERT INTO c VALUES (zeroblob(1000000))');
    process.kill(process.pid, 'SIGKILL');`;
  spawnSync(process.execPath, ['-e', script, path]);
  expect(existsSync(`${path}-journal`)).toBe(true);
  const db = openSqlite(path);
  db.exec('SELECT count(*) FROM a');
  db.close();
  expect([existsSync(`${path}-journal`), valuesIn(path)]).toEqual([false, [1]]);
});

describe('beside a database', () => {
  const ENDS = ['-journal', '-wal', '-shm'];
  for (const end of ENDS) {
    test(`a link in place of ${end} is removed, and its target is left unchanged`, () => {
      const folder = testFolder();
      const path = join(folder, 'tacho.db');
      openDatabase(path).close();
      const target = join(folder, 'target');
      writeFileSync(target, 'kept');
      symlinkSync(target, path + end);
      const db = openDatabase(path);
      expect([db.moved_to === null, readFileSync(target, 'utf8')]).toEqual([false, 'kept']);
      db.close();
      const lock = join(folder, 'x.lock');
      writeFileSync(lock, '');
      symlinkSync(target, lock + end);
      lockFile(lock, 'exclusive')?.();
      expect([existsSync(lock + end), readFileSync(target, 'utf8')]).toEqual([false, 'kept']);
    });

    test.runIf(can('mkfifo', 'named pipes'))(`a pipe in place of ${end} does not block`, () => {
      const path = join(testFolder(), 'tacho.db');
      openDatabase(path).close();
      spawnSync('mkfifo', [path + end]);
      const url = new URL('./database.ts', import.meta.url).href;
      const script = `import { openDatabase } from ${JSON.stringify(url)}; openDatabase(process.argv[1]).close();`;
      const args = ['--input-type=module', '-e', script, path];
      const { status } = spawnSync(process.execPath, args, { timeout: 10_000 });
      expect(status).toBe(0);
    });
  }

  test('a folder in place of the journal is refused with its path', () => {
    const path = join(testFolder(), 'tacho.db');
    openDatabase(path).close();
    mkdirSync(`${path}-journal`);
    expect(() => openDatabase(path)).toThrow(`${path}-journal: `);
  });
});

test('a trigger in an index of an older schema is not run by its migration', () => {
  const path = join(testFolder(), 'tacho.db');
  // The next step deletes from `segments`.
  const steps = MIGRATIONS.slice(0, 2);
  newDatabase(
    path,
    `${steps.join(';')}; PRAGMA user_version = ${steps.length}; CREATE TABLE a (b);
    INSERT INTO segments VALUES ('s', 1);
    CREATE TRIGGER t AFTER DELETE ON segments BEGIN INSERT INTO a VALUES (1); END`,
  );
  const db = openDatabase(path);
  expect(valuesIn(db.moved_to as string)).toEqual([]);
  db.close();
});
