/** Session files that are truncated, rewritten, replaced, copied, compressed or deleted: the record loses nothing. */
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { agentOf } from '../config/agent-of.ts';
import { journalledEvents } from '../runs/replay.ts';
import { verifyRun } from '../runs/verify.ts';
import { importSessions } from './import.ts';

const TESTDATA = join(import.meta.dirname, '../../agents');
const SESSION = join(
  TESTDATA,
  'claude/testdata/resume/session/.claude/projects/-home-user-project/7e15eb39-6be6-4422-a6f5-9c0868fe7f65.jsonl',
);
const LINES = readFileSync(SESSION, 'utf8').split(/(?<=\n)/);
const SECOND = LINES.findIndex((line) => line.includes('And now say goodbye.'));
const FIRST_TURN = LINES.slice(0, SECOND).join('');
/** The scripted model used its ids twice. */
const SECOND_TURN = LINES.slice(SECOND).join('').replaceAll('_mock_', '_mock_b');

function place() {
  const folder = testFolder();
  const path = join(folder, 'p', '7e15eb39-6be6-4422-a6f5-9c0868fe7f65.jsonl');
  mkdirSync(dirname(path));
  const state_dir = join(folder, 'state');
  const importing = async (file = path) => {
    const target = { agent: await agentOf('claude'), path: file, by_name: false };
    const rows = await Array.fromAsync(
      importSessions([target], { state_dir, env: {}, redact: [] }),
    );
    const { state, run_id, why } = rows[0] ?? {};
    return { state, run_id: run_id ?? '', why };
  };
  const events = async (run_id: string) => {
    const state = openStateDir(state_dir);
    using index = openIndex(state);
    return await Array.fromAsync(journalledEvents(state, run_id, index));
  };
  /** Messages and calls, in order, and the codes of problems. */
  const said = async (run_id: string) =>
    (await events(run_id)).flatMap(({ kind, data }) => {
      if (kind === 'message_finished') return [data.text];
      if (kind === 'call_requested') return [data.call_id];
      return kind === 'problem' ? [data.code] : [];
    });
  const faults = async (run_id: string) =>
    (await verifyRun(openStateDir(state_dir), run_id)).faults;
  return { folder, path, state_dir, importing, said, faults };
}

/** The facts of the whole session, imported once. */
async function wholeSaid(): Promise<string[]> {
  const { path, importing, said } = place();
  writeFileSync(path, FIRST_TURN + SECOND_TURN);
  return said((await importing()).run_id);
}

const REWRITTEN = 'history_rewritten';

verifies(
  ['WA-3', 'WA-6'],
  'a truncated file: the run keeps all, reports it, and continues to grow',
  async () => {
    const whole = await wholeSaid();
    const { path, importing, said, faults } = place();
    writeFileSync(path, FIRST_TURN);
    const { run_id } = await importing();
    const before = await said(run_id);
    truncateSync(path, Buffer.byteLength(LINES.slice(0, 6).join('')));
    expect(await importing()).toEqual({ state: 'grown', run_id, why: null });
    expect(await said(run_id)).toEqual([...before, REWRITTEN]);
    appendFileSync(path, SECOND_TURN);
    expect(await importing()).toMatchObject({ run_id });
    const after = await said(run_id);
    expect(after.filter((text) => text !== REWRITTEN).sort()).toEqual([...whole].sort());
    expect(await faults(run_id)).toEqual([]);
  },
);

verifies(
  ['WA-3', 'WA-6'],
  'a file rewritten in place: what is new is added, and a problem says so',
  async () => {
    const whole = await wholeSaid();
    const { path, importing, said, faults } = place();
    writeFileSync(path, FIRST_TURN);
    const { run_id } = await importing();
    const [prompt = ''] = (await said(run_id)).slice(0, 1);
    const changed = (FIRST_TURN + SECOND_TURN).replaceAll(
      JSON.stringify(prompt),
      '"Something else."',
    );
    expect(changed).not.toBe(FIRST_TURN + SECOND_TURN);
    writeFileSync(path, changed);
    expect(await importing()).toEqual({ state: 'grown', run_id, why: null });
    const after = await said(run_id);
    expect(after).toContain(REWRITTEN);
    expect(after.filter((text) => text !== REWRITTEN).sort()).toEqual(
      [...whole, 'Something else.'].sort(),
    );
    expect(await faults(run_id)).toEqual([]);
    // It is reported once.
    expect(await importing()).toMatchObject({ state: 'known' });
  },
);

verifies('WA-6', 'a file replaced by a longer copy of itself only grew', async () => {
  const whole = await wholeSaid();
  const { path, importing, said } = place();
  writeFileSync(path, FIRST_TURN);
  const { run_id } = await importing();
  writeFileSync(`${path}.new`, FIRST_TURN + SECOND_TURN);
  renameSync(`${path}.new`, path);
  expect(await importing()).toEqual({ state: 'grown', run_id, why: null });
  expect(await said(run_id)).toEqual(whole);
});

verifies(
  'WA-6',
  'a copy elsewhere, older or the same, belongs to the same run and adds nothing',
  async () => {
    const { folder, path, importing, said } = place();
    writeFileSync(path, FIRST_TURN + SECOND_TURN);
    const { run_id } = await importing();
    const before = await said(run_id);
    const copy = join(folder, 'copy.jsonl');
    copyFileSync(path, copy);
    expect(await importing(copy)).toEqual({ state: 'known', run_id, why: null });
    const older = join(folder, 'older.jsonl');
    writeFileSync(older, FIRST_TURN);
    expect(await importing(older)).toEqual({ state: 'known', run_id, why: null });
    expect(await said(run_id)).toEqual(before);
    // The original is still the one that grows.
    appendFileSync(path, LINES.at(-1) ?? '');
    expect(await importing()).toMatchObject({ run_id });
  },
);

verifies('WA-6', 'a compressed file is the same session as its plain one', async () => {
  const whole = await wholeSaid();
  const { path, importing, said, faults } = place();
  writeFileSync(path, FIRST_TURN);
  const { run_id } = await importing();
  rmSync(path);
  const packed = `${path}.zst`;
  writeFileSync(packed, zstdCompressSync(FIRST_TURN));
  expect(await importing(packed)).toEqual({ state: 'known', run_id, why: null });
  writeFileSync(packed, zstdCompressSync(FIRST_TURN + SECOND_TURN));
  expect(await importing(packed)).toEqual({ state: 'grown', run_id, why: null });
  expect(await said(run_id)).toEqual(whole);
  expect(await faults(run_id)).toEqual([]);
});

verifies('WA-6', 'a deleted file leaves its record', async () => {
  const { path, importing, said } = place();
  writeFileSync(path, FIRST_TURN);
  const { run_id } = await importing();
  const before = await said(run_id);
  rmSync(path);
  expect(await importing()).toMatchObject({ state: 'failed' });
  expect(await said(run_id)).toEqual(before);
});

verifies(
  'WA-4',
  'a last line without an end is not lost, and not counted twice once it has one',
  async () => {
    const whole = await wholeSaid();
    const { path, importing, said, faults } = place();
    const text = FIRST_TURN + SECOND_TURN;
    writeFileSync(path, text.slice(0, -1));
    const { run_id } = await importing();
    expect(await said(run_id)).toEqual(whole);
    appendFileSync(path, '\n');
    await importing();
    expect(await said(run_id)).toEqual(whole);
    expect(await faults(run_id)).toEqual([]);
  },
);
