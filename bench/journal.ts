/** Durable events per second of the journal, compared with a plain write and sync per event. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournal } from '../src/store/journal/journal.ts';
import { openStateDir } from '../src/store/state-dir.ts';

const IN_FLIGHT = 512;
const EVENTS = 200_000;
const REFERENCE_EVENTS = 2_000;
const body = JSON.stringify({ kind: 'call_finished', output: 'é'.repeat(20) + 'x'.repeat(870) });

const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
try {
  const reference = plain(join(folder, 'plain'));
  const value = await journal(join(folder, 'state'));
  const ratio = Math.round((value / reference) * 10) / 10;
  process.stdout.write(
    `${JSON.stringify({ name: 'journal_durable_appends', value, unit: 'events/s', reference, ratio })}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}

function plain(path: string): number {
  const fd = openSync(path, 'a');
  const line = Buffer.from(`${body}\n`);
  const start = performance.now();
  for (let i = 0; i < REFERENCE_EVENTS; i++) {
    writeSync(fd, line);
    fdatasyncSync(fd);
  }
  const seconds = (performance.now() - start) / 1000;
  closeSync(fd);
  return Math.round(REFERENCE_EVENTS / seconds);
}

async function journal(path: string): Promise<number> {
  const { journal: dir } = openStateDir(path);
  const opened = openJournal(dir);
  opened.begin('session');
  let next = 0;
  const start = performance.now();
  async function sender(): Promise<void> {
    while (next < EVENTS) {
      next += 1;
      const [result] = await opened.append([
        { session: 'session', source: 'main', seq: next, body },
      ]);
      if (result !== 'stored') throw new Error(`not stored but ${result}`);
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, sender));
  const seconds = (performance.now() - start) / 1000;
  await opened.close();
  return Math.round(EVENTS / seconds);
}
