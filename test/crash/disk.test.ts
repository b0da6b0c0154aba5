import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openIndex } from '../../src/store/index/index-db.ts';
import { openJournal } from '../../src/store/journal/journal.ts';
import { readSession } from '../../src/store/journal/read.ts';
import { createSpool } from '../../src/store/spool/spool.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { mount, unmount, whyNoMount } from './mount.ts';

const why = whyNoMount('tmpfs');
const unless = why === null ? '' : ` (NOT RUN: ${why})`;
const LIMITED = join(import.meta.dirname, '..', 'fixtures', 'journal-limit.ts');
const body = (seq: number) => JSON.stringify(`${seq} ${'x'.repeat(10_000)}`);
const entry = (seq: number) => ({ session: 's', source: 'main', seq, body: body(seq) });

async function numbersIn(dir: string): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { seq, body: text } of readSession(dir, 's')) {
    expect(text).toBe(body(seq));
    numbers.push(seq);
  }
  return numbers;
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1);
}

verifies(
  'ST-9',
  'a file size limit reached in the middle of a line is an error, and the next append stores everything',
  async () => {
    const { journal: dir } = openStateDir(join(testFolder(), 'state'));
    const command = `ulimit -f 100; exec "$0" "$@"`;
    const out = execFileSync('bash', ['-c', command, process.execPath, LIMITED, dir], {
      encoding: 'utf8',
    });
    const lines = out.trim().split('\n');
    const failures = lines.filter((line) => line !== 'stored');
    expect(failures.length).toBeGreaterThan(2);
    for (const line of failures) {
      expect(line).toMatch(
        /^disk_full \/.*\.jsonl: the file size limit is reached: raise it and try again$/,
      );
    }
    expect(lines.filter((line) => line === 'stored').length).toBe(40);
    expect(await numbersIn(dir)).toEqual(upTo(40));
  },
);

verifies(
  'ST-9',
  `a full disk stops acknowledgements; with free space the journal continues${unless}`,
  async () => {
    if (why !== null) return;
    const disk = join(testFolder(), 'disk');
    mount(['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs'], disk);
    onTestFinished(() => unmount(disk));
    const state = openStateDir(join(disk, 'state'));
    const filler = join(disk, 'filler');
    writeFileSync(filler, Buffer.alloc(1_000_000));
    const journal = openJournal(state.journal);
    let stored = 0;
    let failure: unknown = null;
    while (failure === null) {
      try {
        await journal.append([entry(stored + 1)]);
        stored += 1;
      } catch (error) {
        failure = error;
      }
    }
    expect(failure).toMatchObject({ code: 'disk_full' });
    expect(String(failure)).toContain(state.journal);
    expect(await numbersIn(state.journal)).toEqual(upTo(stored));
    await expect(journal.append([entry(stored + 1)])).rejects.toMatchObject({ code: 'disk_full' });
    rmSync(filler);
    expect(await journal.append([entry(stored + 1), entry(stored + 2)])).toEqual([
      'stored',
      'stored',
    ]);
    await journal.close();
    expect(await numbersIn(state.journal)).toEqual(upTo(stored + 2));
  },
);

verifies(
  'ST-9',
  `a read-only disk is an error that names the path, for every kind of write${unless}`,
  async () => {
    if (why !== null) return;
    const disk = join(testFolder(), 'disk');
    mount(['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs'], disk);
    onTestFinished(() => unmount(disk));
    const state = openStateDir(join(disk, 'state'));
    mount(['-o', 'remount,ro'], disk);
    const journal = openJournal(state.journal);
    await expect(journal.append([entry(1)])).rejects.toThrow(
      `${state.journal}: the file system is read-only: choose another folder with --state-dir or TACHO_HOME`,
    );
    expect(() => openStateDir(join(disk, 'other'))).toThrow(
      `${disk}/other: the file system is read-only`,
    );
    expect(() => createSpool(state, 'x')).toThrow('the file system is read-only');
    expect(() => openIndex(state)).toThrow(`${state.db}: the file system is read-only`);
    mount(['-o', 'remount,rw'], disk);
    expect(await journal.append([entry(1)])).toEqual(['stored']);
    await journal.close();
  },
);

verifies('ST-9', 'a folder that disappears is an error that names it', async () => {
  const state = openStateDir(join(testFolder(), 'state'));
  const journal = openJournal(state.journal);
  rmSync(state.journal, { recursive: true });
  await expect(journal.append([entry(1)])).rejects.toThrow(state.journal);
  mkdirSync(state.journal, { mode: 0o700 });
  expect(await journal.append([entry(1)])).toEqual(['stored']);
  await journal.close();
  expect(statSync(state.journal).isDirectory()).toBe(true);
});
