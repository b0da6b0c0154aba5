/** Faults of sessions in SQLite databases, through the watcher. Databases are read without a trace. */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { makeDatabase } from '../../../test/fixtures/opencode-database.ts';
import { watchedHome } from '../../../test/fixtures/watch-once.ts';

const LAST = `id = (SELECT id FROM part WHERE json_extract(data, '$.type') = 'text'
  ORDER BY time_created DESC LIMIT 1)`;

function place(scenarios = ['text']) {
  const home = watchedHome('opencode');
  const path = join(home.home, '.local/share/opencode/opencode.db');
  mkdirSync(dirname(path), { recursive: true });
  return {
    ...home,
    path,
    db: makeDatabase(path, scenarios),
    files: () => readdirSync(dirname(path)).sort(),
  };
}

const states = (rows: readonly { state: string; why: string | null }[]) =>
  rows.map(({ state, why }) =>
    why === null ? state : `${state}: ${why.replace(/^.*db\S*: /, '')}`,
  );

verifies(
  ['WA-5', 'WA-6'],
  'a database is read without a trace, whether its CLI runs or not',
  async () => {
    const { db, once, files } = place();
    expect(files()).toEqual(['opencode.db', 'opencode.db-shm', 'opencode.db-wal']);
    expect(states(await once())).toEqual(['imported']);
    expect(files()).toEqual(['opencode.db', 'opencode.db-shm', 'opencode.db-wal']);
    db.close();
    expect(files()).toEqual(['opencode.db']);
    await once();
    expect(files()).toEqual(['opencode.db']);
    expect(states(await once())).toEqual([]);
  },
);

verifies(
  'WA-6',
  'a watcher is woken by every change of the log, and never by its own reads',
  async () => {
    const { db, follow, said } = place();
    const { rows, end } = follow();
    const quiet = async (ms: number) => {
      for (let count = -1; count < rows.length; ) {
        count = rows.length;
        await sleep(ms);
      }
    };
    await quiet(1_500);
    const before = rows.length;
    expect(before).toBeLessThan(4);
    await sleep(2_000);
    expect(rows.length).toBe(before);
    db.exec(`UPDATE part SET time_updated = time_updated + 60000,
      data = json_set(data, '$.text', 'Said later.') WHERE ${LAST}`);
    for (let waited = 0; rows.length === before && waited < 20_000; waited += 50) await sleep(50);
    await quiet(1_500);
    expect(rows.length - before).toBeLessThan(4);
    await end();
    const [run = []] = [...(await said()).values()];
    expect(run).toContain('Said later.');
    expect(run).toContain('history_rewritten');
    db.close();
  },
);

const FAULTS: Record<string, { act(db: DatabaseSync, path: string): void; now: string[] }> = {
  'after a checkpoint': {
    act: (db) => db.exec('PRAGMA wal_checkpoint(TRUNCATE)'),
    now: [],
  },
  'after VACUUM, with another journal': {
    act: (db) => db.exec('VACUUM; PRAGMA journal_mode = DELETE'),
    now: [],
  },
  'without its last row': {
    act: (db) =>
      db.exec(
        `UPDATE session SET time_updated = time_updated + 60000; DELETE FROM part WHERE ${LAST}`,
      ),
    now: ['grown'],
  },
  'without its session': {
    act: (db) => db.exec('DELETE FROM session; DELETE FROM message; DELETE FROM part'),
    now: [],
  },
  'without its tables': {
    act: (db) => db.exec('DROP TABLE part; DROP TABLE message; DROP TABLE session'),
    now: ['failed: no such table: session'],
  },
  'replaced by another file': {
    act(db, path) {
      db.close();
      writeFileSync(`${path}.new`, 'no database at all, but as long as the head of one'.repeat(9));
      renameSync(`${path}.new`, path);
    },
    now: ['failed: file is not a database'],
  },
  'after its removal': {
    act(db, path) {
      db.close();
      rmSync(path);
    },
    now: [],
  },
};

for (const [name, { act, now }] of Object.entries(FAULTS))
  verifies(['WA-3', 'WA-6', 'WA-7'], `a database ${name}: the record stays`, async () => {
    const { db, path, once, said } = place();
    expect(states(await once())).toEqual(['imported']);
    const [[run_id, has]] = [...(await said())] as [[string, string[]]];
    act(db, path);
    expect(states(await once())).toEqual(now);
    const [[same, kept]] = [...(await said())] as [[string, string[]]];
    expect([same, kept.filter((text) => text !== 'history_rewritten')]).toEqual([run_id, has]);
    expect(kept.includes('history_rewritten')).toBe(now.includes('grown'));
    // It is not read again before it changes.
    expect(states(await once())).toEqual([]);
    if (db.isOpen) db.close();
  });

verifies(
  ['WA-6', 'WA-7'],
  'a locked database is read once it is free, without a change',
  async () => {
    const { db, follow, files, said } = place();
    db.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; UPDATE session SET title = 1');
    expect(files()).toEqual(['opencode.db', 'opencode.db-journal']);
    const { rows, end } = follow();
    for (let waited = 0; rows.length === 0 && waited < 20_000; waited += 50) await sleep(50);
    expect(states(rows.slice(0, 1))).toEqual(['failed: database is locked']);
    db.exec('ROLLBACK');
    db.close();
    for (let waited = 0; waited < 30_000; waited += 50) {
      if (rows.some(({ state }) => state === 'imported')) break;
      await sleep(50);
    }
    await end();
    expect([...(await said()).values()].length).toBe(1);
  },
);
