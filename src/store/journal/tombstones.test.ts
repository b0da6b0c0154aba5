import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { openIndex } from '../index/index-db.ts';
import { takeLock } from '../lock.ts';
import { thisOwner } from '../owner.ts';
import { transcriptFile } from '../spool/run-files.ts';
import { createSpool } from '../spool/spool.ts';
import { openStateDir } from '../state-dir.ts';
import { sweepLeftovers } from '../sweep.ts';
import {
  bury,
  deleteRuns,
  finishDeletions,
  readTombstones,
  removeIfDeleted,
} from './tombstones.ts';

const RUNS = ['r_01m7ek9waharpypwdc3ap3fmfq', 'r_01m7ek9wbbpwgmptw6ebvv5a3n'] as const;

function newState() {
  const state = openStateDir(join(testFolder(), 'state'));
  return { state, index: openIndex(state) };
}

test('a deleted run has no spool, and stays deleted until it is restored', () => {
  const { state, index } = newState();
  createSpool(state, RUNS[0]);
  deleteRuns(state, index, [RUNS[0]]);
  expect(readTombstones(state)).toEqual(new Set([RUNS[0]]));
  expect(readdirSync(state.spool)).toEqual([]);
  bury(state, [RUNS[0]], 'restored');
  expect(readTombstones(state)).toEqual(new Set());
  index.close();
});

verifies(
  'ST-5',
  'the unfinished files of a deleted run are removed, whichever process writes them',
  () => {
    const { state, index } = newState();
    const file = (folder: string, name: string) => {
      mkdirSync(join(folder, 'demo'), { recursive: true });
      writeFileSync(join(folder, 'demo', name), 'said');
    };
    for (const run_id of RUNS) {
      file(state.transcripts, `.${run_id}.transcript.jsonl.1-1.0.tmp`);
      file(state.logs, `.${run_id}.log.${process.pid}-812.tmp`);
    }
    deleteRuns(state, index, [RUNS[0]]);
    finishDeletions(state, index);
    const left = [state.transcripts, state.logs].flatMap((path) => readdirSync(join(path, 'demo')));
    expect(left).toEqual([
      `.${RUNS[1]}.transcript.jsonl.1-1.0.tmp`,
      `.${RUNS[1]}.log.${process.pid}-812.tmp`,
    ]);
    index.close();
  },
);

test('a torn line among the deletions does not affect others', () => {
  const { state, index } = newState();
  deleteRuns(state, index, [RUNS[0]]);
  const path = join(state.journal, 'tombstones.jsonl');
  appendFileSync(path, '{"deleted":"r_01');
  deleteRuns(state, index, [RUNS[1]]);
  expect(readTombstones(state)).toEqual(new Set(RUNS));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  index.close();
});

test('leftovers of killed commands are swept, and files in use are not', () => {
  const { state, index } = newState();
  const left = ['gc.lock', 'collector.lock.0123456789ab', 'gc.lock.of-12-34', 'store.lock.try-99'];
  for (const name of left) writeFileSync(join(state.path, name), '');
  writeFileSync(join(state.journal, '0123456789abcdef.life'), '');
  const release = takeLock(join(state.path, 'store.lock'));
  // Of a dead process: a lock, and the note of a holder.
  const outbox = join(state.path, 'outbox');
  mkdirSync(outbox);
  const dead = { pid: 2 ** 22 + 1, host: hostname(), command: 'tacho run', since_ms: 1 };
  const lockOf = (digit: string) => join(outbox, `out-${digit.repeat(26)}.jsonl.lock`);
  writeFileSync(lockOf('1'), '');
  writeFileSync(`${lockOf('2')}.holder`, JSON.stringify(dead));
  const { life } = thisOwner(state.journal);
  sweepLeftovers(state);
  expect(readdirSync(state.path).filter((name) => left.includes(name))).toEqual([]);
  expect(readdirSync(state.path)).toEqual(
    expect.arrayContaining(['store.lock', 'store.lock.holder']),
  );
  expect(readdirSync(outbox)).toEqual([]);
  expect(readdirSync(state.journal)).toEqual([`${life}.life`]);
  release?.();
  index.close();
});

test('files of a deleted run left by a killed command are removed with the next ones', () => {
  const { state, index } = newState();
  const left = transcriptFile(state, 'demo', RUNS[0]);
  const kept = transcriptFile(state, 'demo', RUNS[1]);
  for (const path of [left, kept]) writeFileSync(path, 'said');
  bury(state, [RUNS[0]]);
  expect(finishDeletions(state, index)).toEqual(new Set([RUNS[0]]));
  expect([left, kept].map((path) => existsSync(path))).toEqual([false, true]);
  index.close();
});

test('a run that is stored after its deletion is removed again, with its files', () => {
  const { state, index } = newState();
  const [gone, kept] = RUNS.map((run_id) => transcriptFile(state, 'demo', run_id)) as [
    string,
    string,
  ];
  for (const path of [gone, kept]) writeFileSync(path, 'said');
  bury(state, [RUNS[0]]);
  expect(RUNS.map((run_id) => removeIfDeleted(state, index, run_id))).toEqual([true, false]);
  expect([gone, kept].map((path) => existsSync(path))).toEqual([false, true]);
  index.close();
});

verifies(
  'ST-5',
  'the list of deletions does not grow with runs that are deleted and restored',
  () => {
    const { state, index } = newState();
    const path = join(state.journal, 'tombstones.jsonl');
    finishDeletions(state, index);
    expect(existsSync(path)).toBe(false);
    bury(state, RUNS);
    const { size } = statSync(path);
    for (let n = 0; n < 100; n++) {
      bury(state, [RUNS[0]], 'restored');
      bury(state, [RUNS[0]]);
    }
    bury(state, [RUNS[1]], 'restored');
    appendFileSync(path, '{"deleted":"r_01');
    finishDeletions(state, index);
    expect(readTombstones(state)).toEqual(new Set([RUNS[0]]));
    expect(statSync(path).size).toBeLessThan(size);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const { ino } = statSync(path);
    finishDeletions(state, index);
    expect(statSync(path).ino).toBe(ino);
    bury(state, [RUNS[1]]);
    expect(readTombstones(state)).toEqual(new Set(RUNS));
    index.close();
  },
);
