import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openIndex } from '../../src/store/index/index-db.ts';
import { follow } from '../../src/store/journal/follow.ts';
import { openJournal } from '../../src/store/journal/journal.ts';
import { readAll, readSession } from '../../src/store/journal/read.ts';
import { listSegments } from '../../src/store/journal/scan.ts';
import { createSpool } from '../../src/store/spool/spool.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { checkSession, lastAnswer, startWriter } from '../crash/writer.ts';
import { testFolder } from '../fixtures/folder.ts';
import { verifies } from './verifies.ts';

const INDEX_WRITER = join(import.meta.dirname, '..', 'fixtures', 'index-writer.ts');

function newFolder() {
  const folder = testFolder();
  return { folder, state: openStateDir(join(folder, 'state')) };
}

verifies(
  'ST-6',
  'three processes append to one state folder at the same time, and every entry is stored',
  async () => {
    const { folder, state } = newFolder();
    const names = ['a', 'b', 'c'];
    const writers = names.map((name) =>
      startWriter([state.journal, name, '1000'], join(folder, name)),
    );
    expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    for (const name of names) {
      expect(lastAnswer(join(folder, name))).toBe(1000);
      expect(await checkSession(state.journal, name, 1000)).toBe(1000);
    }
  },
);

verifies(
  'ST-6',
  'four processes write the index at the same time, and no transaction is lost',
  async () => {
    const { state } = newFolder();
    const exits = ['a', 'b', 'c', 'd'].map(async (name) => {
      const child = spawn(process.execPath, [INDEX_WRITER, state.path, name, '200'], {
        stdio: 'inherit',
      });
      const [code] = await once(child, 'exit');
      return code as number;
    });
    expect(await Promise.all(exits)).toEqual([0, 0, 0, 0]);
    const index = openIndex(state);
    expect(index.stats()).toMatchObject({ positions: 800, segments: 800 });
    expect(index.moved_to).toBeNull();
    index.close();
  },
);

verifies(
  'ST-2',
  'a follower sees entries appended by other processes, from a cursor on, and stops on request',
  async () => {
    const { folder, state } = newFolder();
    const first = startWriter([state.journal, 'a', '50'], join(folder, 'a'));
    expect(await first.ended).toBe(0);
    const cursor: Record<string, number> = {};
    for await (const { segment, next } of readAll(state.journal)) cursor[segment] = next;
    const stop = new AbortController();
    const seen = new Map<string, number>();
    const second = startWriter([state.journal, 'a', '500', '20000'], join(folder, 'a'));
    const third = startWriter([state.journal, 'b', '500', '20000'], join(folder, 'b'));
    startWriter([state.journal, 'c', '10'], join(folder, 'c'));
    const filter = ({ session }: { session: string }) => session !== 'c';
    for await (const { session, seq } of follow(state.journal, cursor, stop.signal, filter)) {
      expect(seq).toBe((seen.get(session) ?? (session === 'a' ? 50 : 0)) + 1);
      seen.set(session, seq);
      if (seen.get('a') === 500 && seen.get('b') === 500) stop.abort();
    }
    expect(Object.fromEntries(seen)).toEqual({ a: 500, b: 500 });
    expect(await Promise.all([second.ended, third.ended])).toEqual([0, 0]);
  },
);

verifies(
  'ST-2',
  'a follower of an empty journal waits, and an abort ends it immediately',
  async () => {
    const { state } = newFolder();
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30);
    const seen: unknown[] = [];
    for await (const entry of follow(state.journal, {}, stop.signal)) seen.push(entry);
    expect(seen).toEqual([]);
  },
);

verifies(
  'ST-8',
  'planted links and folders in the journal are neither followed nor fatal',
  async () => {
    const { folder, state } = newFolder();
    const victim = join(folder, 'victim.jsonl');
    const journal = openJournal(state.journal);
    await journal.append([{ session: 's', source: 'm', seq: 1, body: '1' }]);
    await journal.close();
    writeFileSync(
      victim,
      readFileSync(join(state.journal, listSegments(state.journal)[0] as string)),
    );
    symlinkSync(victim, join(state.journal, `${'0'.repeat(26)}.jsonl`));
    symlinkSync('/nowhere', join(state.journal, `${'1'.repeat(26)}.jsonl`));
    mkdirSync(join(state.journal, `${'2'.repeat(26)}.jsonl`));
    const all = readAll(state.journal);
    const bodies: string[] = [];
    for await (const { body } of all) bodies.push(body);
    expect(bodies).toEqual(['1']);
    expect(all.report).toMatchObject({ entries: 1, unreadable: 3 });
    const found: number[] = [];
    for await (const { seq } of readSession(state.journal, 's')) found.push(seq);
    expect(found).toEqual([1]);
    const again = openJournal(state.journal);
    expect(await again.append([{ session: 's', source: 'm', seq: 2, body: '2' }])).toEqual([
      'stored',
    ]);
    await again.close();
  },
);

verifies(
  'ST-8',
  'a planted link for the spool files or the tombstones is refused, and its target is untouched',
  async () => {
    const { folder, state } = newFolder();
    const victim = join(folder, 'victim');
    writeFileSync(victim, 'kept');
    const id = 'r_01m7ek9waharpypwdc3ap3fmfq';
    mkdirSync(join(state.spool, id), { mode: 0o700 });
    symlinkSync(victim, join(state.spool, id, 'stdout'));
    expect(() => createSpool(state, id)).toThrow(join(state.spool, id, 'stdout'));
    symlinkSync(victim, join(state.journal, 'tombstones.jsonl'));
    const { deleteRuns } = await import('../../src/store/journal/tombstones.ts');
    const index = openIndex(state);
    expect(() => deleteRuns(state, index, [id])).toThrow('it is a symbolic link');
    index.close();
    expect(readFileSync(victim, 'utf8')).toBe('kept');
  },
);
