import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { testFolder } from '../../test/fixtures/folder.ts';
import { makerOf, startPrivate } from './files.ts';
import { takeLock } from './lock.ts';
import { startMs } from './owner.ts';
import { openStateDir } from './state-dir.ts';
import { sweepLeftovers, sweepUnfinished } from './sweep.ts';
import { sweepTemporary } from './temporary.ts';

const DEAD = 2 ** 22 + 1;

test('unfinished files of dead processes are removed, others stay', () => {
  const folder = testFolder();
  const names = {
    dead: join('transcripts', 'demo', `.r_1.json.${DEAD}-812.55.tmp`),
    'dead, in the root': `.mark.${DEAD}-3.tmp`,
    // In a container the same few pids are reused all the time.
    'of an earlier process': join('transcripts', 'demo', `.r_3.json.${process.pid}-812.5.tmp`),
    alive: join('transcripts', 'demo', `.r_2.json.${process.pid}-812.5.tmp`),
    'too new': join('logs', 'demo', `.r_1.jsonl.${DEAD}-812.5.tmp`),
    foreign: join('logs', 'demo', 'notes.tmp'),
  };
  const MINUTE = 60_000;
  const now = Date.now() + 10 * MINUTE;
  const ages: Record<string, number> = { 'of an earlier process': 720 * MINUTE, 'too new': 0 };
  for (const [about, name] of Object.entries(names)) {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'said');
    const at = (now - (ages[about] ?? 10 * MINUTE)) / 1000;
    utimesSync(path, at, at);
  }
  const left = () =>
    Object.entries(names)
      .filter(([, name]) => existsSync(join(folder, name)))
      .map(([about]) => about);
  sweepUnfinished(folder, now);
  expect(left()).toEqual(['alive', 'too new', 'foreign']);
  // Nothing takes a day to write.
  sweepUnfinished(folder, now + 24 * 60 * MINUTE);
  expect(left()).toEqual(['foreign']);
  sweepUnfinished(join(folder, 'nothing'));
});

test('the start time of a process is known', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)']);
  await once(child, 'spawn');
  const started = startMs(child.pid as number) ?? 0;
  child.kill();
  expect(Math.abs(Date.now() - started)).toBeLessThan(2_000);
  await once(child, 'exit');
  expect(startMs(child.pid as number)).toBeNull();
});

test('the name of an unfinished file names its writer', () => {
  const folder = testFolder();
  const file = startPrivate(join(folder, 'a.json'), 'test');
  expect(readdirSync(folder).map(makerOf)).toEqual([process.pid]);
  file.abandon();
  expect(readdirSync(folder)).toEqual([]);
});

test('lock files of dead processes and of older versions are removed, a lock that is held stays', () => {
  const state = openStateDir(join(testFolder(), 'state'));
  const at = (...names: string[]) => join(state.path, ...names);
  for (const folder of ['live', 'outbox']) mkdirSync(at(folder));
  const old = [
    'gc.lock.0123456789ab',
    'store.lock.0123456789ab',
    'store.lock.of-1-2',
    'store.lock.try-12',
  ];
  for (const name of old) writeFileSync(at(name), 'x');
  writeFileSync(at('gc.lock'), JSON.stringify({ pid: DEAD, ticks: 1, space: null }));
  const outbox = `out-${'0'.repeat(26)}.jsonl.lock`;
  writeFileSync(at('outbox', `${outbox}.0123456789ab`), 'x');
  // As after a kill: the lock has ended, but its files exist.
  writeFileSync(at('outbox', outbox), '');
  const holder = { pid: DEAD, host: hostname(), command: 'tacho run', since_ms: 1 };
  writeFileSync(at('outbox', `${outbox}.holder`), JSON.stringify(holder));
  writeFileSync(at('live', 'note.txt'), 'x');
  const release = takeLock(at('live', 'collector.lock'));
  sweepLeftovers(state);
  const left = ['.', 'live', 'outbox'].flatMap((folder) => readdirSync(at(folder)));
  expect(left.filter((name) => name.includes('lock'))).toEqual([
    'collector.lock',
    'collector.lock.holder',
  ]);
  expect(left).toContain('note.txt');
  expect(takeLock(at('live', 'collector.lock'))).toBeNull();
  release?.();
});

/** Names like those that tacho creates. The owner of one is dead. */
const OTHERS = ['Cargo.lock', 'empty.lock', 'gc.lock', 'store.lock', 'store.lock.0123456789ab'];
const SPILL = 'spill-1-1-0123456789ab';
const LIFE = '0123456789abcdef.life';

verifies('ST-8', 'foreign files in a state folder are kept, whatever their suffix', () => {
  const state = openStateDir(join(testFolder(), 'state'));
  const others = [
    'Cargo.lock',
    'empty.lock',
    'yarn.lock.0123456789ab',
    'a.lock.of-1',
    'a.lock.try-1',
  ];
  for (const name of [...others, 'store.lock'])
    writeFileSync(join(state.path, name), name === 'empty.lock' ? '' : 'important');
  sweepLeftovers(state);
  expect(readdirSync(state.path)).toEqual(expect.arrayContaining([...others, 'store.lock']));
});

for (const place of ['live', join('live', 'journal'), 'outbox', 'tmp', 'spool'])
  verifies('ST-8', `no file is swept through a link in place of ${place}`, () => {
    const folder = testFolder();
    const state = openStateDir(join(folder, 'state'));
    const elsewhere = join(folder, 'elsewhere');
    mkdirSync(elsewhere);
    for (const name of [...OTHERS, SPILL, LIFE, '.removed-x'])
      writeFileSync(join(elsewhere, name), name === 'Cargo.lock' ? 'important' : '');
    const files = () =>
      readdirSync(elsewhere).map((name) => [name, readFileSync(join(elsewhere, name), 'utf8')]);
    const before = files();
    const link = join(state.path, place);
    rmSync(link, { recursive: true, force: true });
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(elsewhere, link);
    sweepLeftovers(state);
    sweepTemporary(state.tmp);
    expect(files()).toEqual(before);
  });

verifies('ST-5', 'other copies of the index are removed with the next removal of runs', () => {
  const state = openStateDir(join(testFolder(), 'state'));
  // Left by a killed reindex, and by a removal that was killed after the index was found damaged.
  for (const copy of ['.new-0123456789ab', '.broken-2026-01-02T03-04-05-000Z'])
    for (const end of ['', '-wal', '-shm']) writeFileSync(`${state.db}${copy}${end}`, 'said');
  writeFileSync(state.db, '');
  sweepLeftovers(state);
  expect(readdirSync(state.path).filter((name) => name.startsWith('tacho.db'))).toEqual([
    'tacho.db',
  ]);
});

test('the files of dead writers of both journals are removed, those of others stay', () => {
  const state = openStateDir(join(testFolder(), 'state'));
  const folders = [state.journal, join(state.path, 'live', 'journal')];
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    // As after a kill: the lock has ended, but its file exists.
    writeFileSync(join(folder, '0123456789abcdef.life'), '');
    writeFileSync(join(folder, 'note.life'), '');
  }
  sweepLeftovers(state);
  expect(folders.map((folder) => readdirSync(folder))).toEqual([['note.life'], ['note.life']]);
});
