/** Unchanged session files are not read again, changed ones are, and an import decides the same. */
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { agentOf } from '../config/agent-of.ts';
import { removeRuns } from '../runs/remove.ts';
import { importSessions } from './import.ts';

/** More than the time in which a change may go unnoticed. */
const SETTLED_MS = 2_300;
const LINES = 2_000;
const on_linux = process.platform === 'linux';

function sessionText(word = 'a', id = 'aaaaaaaa-0000-4000-8000-000000000000'): string {
  const base = { sessionId: id, version: '2.1.325', cwd: '/home/user/project' };
  const at = (n: number) => new Date(Date.UTC(2026, 2, 3, 10) + n * 100).toISOString();
  const lines = Array.from({ length: LINES }, (_, n) => ({
    ...base,
    type: 'user',
    uuid: `u${n}`,
    timestamp: at(n),
    message: { role: 'user', content: `${word} ${'naïve '.repeat(100)}` },
  }));
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function place() {
  const folder = testFolder();
  const path = join(folder, 'session.jsonl');
  const state_dir = join(folder, 'state');
  /** The row, and how much was read for it. */
  const imported = async (by_name = false) => {
    const before = bytesRead();
    const target = { agent: await agentOf('claude'), path, by_name };
    const rows = await Array.fromAsync(
      importSessions([target], { state_dir, env: {}, redact: [] }),
    );
    const read = bytesRead() - before;
    return { state: rows[0]?.state, run_id: rows[0]?.run_id, read_all: read > statSync(path).size };
  };
  return { folder, path, state_dir, imported };
}

/** By this thread: other tests run in other threads of the process, and session files are read synchronously. */
const bytesRead = () =>
  on_linux ? Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1]) : 0;

/** Different content. */
const OTHER = 'grown';
const UNREAD = { read_all: false };
const READ = { read_all: true };

verifies(
  'AG-15',
  'an unchanged file is not read again, a changed one is',
  async () => {
    if (!on_linux) return;
    const { folder, path, imported } = place();
    writeFileSync(path, sessionText('a'));
    await sleep(SETTLED_MS);
    const first = await imported();
    expect(first).toMatchObject({ state: 'imported', ...READ });
    expect(await imported()).toEqual({ state: 'known', run_id: first.run_id, ...UNREAD });
    // The same size and modification time, in the same file: only the change time of its inode differs.
    const { atime, mtime } = statSync(path);
    writeFileSync(path, sessionText('b'));
    utimesSync(path, atime, mtime);
    expect(await imported()).toMatchObject({ state: OTHER, ...READ });
    // The same in another file.
    const other = join(folder, 'other.jsonl');
    writeFileSync(other, sessionText('c'));
    utimesSync(other, atime, mtime);
    await sleep(SETTLED_MS);
    renameSync(other, path);
    expect(await imported()).toMatchObject({ state: OTHER, ...READ });
    // A rename changes the inode's time too: the file counts as known some time after that.
    await sleep(SETTLED_MS);
    expect(await imported()).toMatchObject(READ);
    expect(await imported()).toMatchObject(UNREAD);
    writeFileSync(path, `${sessionText('c')}{"type":"summary"}\n`);
    expect(await imported()).toMatchObject(READ);
  },
  60_000,
);

verifies(
  'AG-15',
  'a file that changed just before it was read is not trusted',
  async () => {
    const { path, imported } = place();
    writeFileSync(path, sessionText('a'));
    // An hour ahead: however slow this test is, the file has just changed.
    const later = new Date(Date.now() + 3_600_000);
    utimesSync(path, later, later);
    await imported();
    if (on_linux) expect(await imported()).toMatchObject({ state: 'known', ...READ });
    // The clock of the file system may not have advanced since.
    writeFileSync(path, sessionText('b'));
    expect(await imported()).toMatchObject({ state: OTHER });
  },
  60_000,
);

verifies(
  ['AG-15', 'ST-5'],
  'a deleted import of a known file stays deleted',
  async () => {
    const { path, state_dir, imported } = place();
    writeFileSync(path, sessionText('a'));
    await sleep(SETTLED_MS);
    const first = await imported();
    await removeRuns(openStateDir(state_dir), [first.run_id ?? '']);
    expect(await imported()).toMatchObject({ state: 'deleted', ...UNREAD });
    const again = await imported(true);
    expect(again.state).toBe('imported');
    expect(await imported()).toMatchObject({ state: 'known', run_id: again.run_id, ...UNREAD });
  },
  60_000,
);

test('without the index the decision is the same, and the file is read once', async () => {
  const { path, state_dir, imported } = place();
  writeFileSync(path, sessionText('a'));
  await sleep(SETTLED_MS);
  const { run_id } = await imported();
  for (const end of ['', '-wal', '-shm'])
    rmSync(join(state_dir, `tacho.db${end}`), { force: true });
  // Its own segment is left to this process: the run is found there, event by event.
  expect(await imported()).toMatchObject({ run_id });
  expect(await imported()).toEqual({ state: 'known', run_id, ...UNREAD });
}, 60_000);

test('a new or changed sub-agent makes a known session a different one', async () => {
  const { folder, path, imported } = place();
  writeFileSync(path, sessionText('a'));
  await sleep(SETTLED_MS);
  await imported();
  const beside = join(folder, 'session', 'subagents');
  mkdirSync(beside, { recursive: true });
  writeFileSync(join(beside, 'agent-1.jsonl'), sessionText('sub').slice(0, 5_000));
  expect(await imported()).toMatchObject({ state: OTHER });
  copyFileSync(join(beside, 'agent-1.jsonl'), join(beside, 'agent-2.jsonl'));
  expect(await imported()).toMatchObject({ state: OTHER });
}, 60_000);
