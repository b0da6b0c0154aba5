/** Runs missing from the index are found in the journal and reported; foreign journal entries affect only their own run. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { verifyRun } from '../../src/app/runs/verify.ts';
import { listSegments } from '../../src/store/journal/scan.ts';
import { bury } from '../../src/store/journal/tombstones.ts';
import { takeLock } from '../../src/store/lock.ts';
import { stateDirAt } from '../../src/store/state-dir.ts';
import { type EditedEntry, editRun } from '../fixtures/edit-journal.ts';
import { demo, linesOf, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;

async function record(): Promise<string> {
  return (await tacho(demo('fixed'))).records[0].run_id as string;
}

const list = async () => {
  const { stdout, stderr, code } = await tacho(['runs', 'list', '--json']);
  return { ids: linesOf(stdout).map(({ run_id }) => run_id as string), stderr, code };
};

const db = () => join(place.state, 'tacho.db');
const withoutLog = () => {
  for (const end of ['-wal', '-shm']) rmSync(db() + end, { force: true });
};

const LOSSES: Record<string, () => void> = {
  removed: () => rmSync(db()),
  damaged: () => writeFileSync(db(), Buffer.alloc(30_000, 0xa5)),
  empty: () => truncateSync(db(), 0),
  'cut in the middle': () => truncateSync(db(), 8192),
  'without its rows': () => {
    const index = new DatabaseSync(db());
    index.exec('DELETE FROM runs');
    index.close();
  },
};

for (const [how, lose] of Object.entries(LOSSES))
  verifies('ST-10', `an index that is ${how} is rebuilt and reported`, async () => {
    const first = await record();
    const second = await record();
    await list();
    withoutLog();
    lose();
    const found = await list();
    expect(found.ids).toEqual([second, first]);
    expect(found.stderr).toMatch(/2 runs missing from the index, added from the journal/);
    if (how === 'damaged')
      expect(found.stderr).toMatch(/the index was damaged and is now .*; it is rebuilt/);
    expect(await list()).toEqual({ ids: [second, first], stderr: '', code: 0 });
  });

test('a command for one run finds it without the index, too', async () => {
  const run_id = await record();
  for (const command of [
    ['replay', run_id, '--output', 'json'],
    ['runs', 'verify', 'last'],
    ['show', run_id, '--json'],
    ['runs', 'stats', '--json'],
  ]) {
    withoutLog();
    rmSync(db());
    const { code, stderr, stdout } = await tacho(command);
    expect([code, stdout === '']).toEqual([0, false]);
    expect(stderr).toContain('1 run missing from the index');
  }
});

verifies(['ST-5', 'ST-10'], 'gc also considers runs missing from the index', async () => {
  await record();
  const last = await record();
  withoutLog();
  rmSync(db());
  const gc = ['runs', 'gc', '--max-runs', '1', '--no-archive', '--json'];
  expect(JSON.parse((await tacho(gc)).stdout).removed).toBe(1);
  expect((await list()).ids).toEqual([last]);
});

verifies('ST-10', 'an eval finds a run missing from the index', async () => {
  const run_id = await record();
  withoutLog();
  rmSync(db());
  const path = join(place.work, 'e.yaml');
  const assertion = '{ type: contains, value: a }';
  writeFileSync(path, `tests:\n  - id: one\n    input: Go\n    assertions: [${assertion}]\n`);
  const { stdout, stderr } = await tacho(['eval', path, '--run', run_id, '--output', 'json']);
  expect(stderr).toContain('1 run missing from the index');
  expect(JSON.parse(stdout).tests[0].runs[0].run_id).toBe(run_id);
});

verifies('ST-10', 'damage that appears only when rows are read hides no run', async () => {
  const run_id = await record();
  await list();
  const index = new DatabaseSync(db());
  index.exec(`UPDATE runs SET labels = '{'`);
  index.close();
  const found = await list();
  expect([found.code, found.ids]).toEqual([0, [run_id]]);
  expect(found.stderr).toMatch(/the index was damaged and is now .*; it is rebuilt/);
});

verifies('ST-10', 'runs with foreign entries are reported when they are added', async () => {
  const run_id = await record();
  const dir = join(place.state, 'journal');
  editRun(join(dir, listSegments(dir)[0] as string), run_id, (entries) => set(entries, 2, 7));
  withoutLog();
  rmSync(db());
  const { ids, stderr } = await list();
  expect(ids).toEqual([run_id]);
  expect(stderr).toContain('1 run with damaged entries: see tacho runs verify');
});

verifies('ST-10', 'damage found in the middle of a command gives no wrong answer', async () => {
  const run_id = await record();
  for (const command of [
    ['runs', 'show', run_id, '--json'],
    ['show', 'last'],
  ]) {
    await list();
    const index = new DatabaseSync(db());
    index.exec(`UPDATE runs SET outcome = '{', labels = '{'`);
    index.close();
    const { code, stderr, stdout } = await tacho(command);
    expect([code, stdout], command.join(' ')).toEqual([70, '']);
    expect(stderr).toMatch(/the index was damaged and is now .*run the command again/);
    expect((await tacho(command)).code, command.join(' ')).toBe(0);
  }
});

verifies(
  'ST-10',
  'totals and plans need no outcome, so a damaged outcome does not stop them',
  async () => {
    await record();
    await list();
    const index = new DatabaseSync(db());
    index.exec(`UPDATE runs SET outcome = '{', labels = '{'`);
    index.close();
    const { stdout, code } = await tacho(['runs', 'stats', '--json']);
    expect([code, JSON.parse(stdout).total.runs]).toEqual([0, 1]);
    expect((await tacho(['runs', 'gc', '--max-runs', '5'])).code).toBe(0);
  },
);

test('an older copy of the index gets the runs since then; deleted ones stay deleted', async () => {
  const kept = await record();
  const gone = await record();
  await list();
  withoutLog();
  const copy = readFileSync(db());
  const later = await record();
  await tacho(['runs', 'rm', gone]);
  withoutLog();
  writeFileSync(db(), copy);
  const { ids } = await list();
  expect(ids).toContain(later);
  expect(ids).toContain(kept);
  await tacho(['runs', 'reindex']);
  expect((await list()).ids).toEqual([later, kept]);
});

test('while another command changes the store, a possibly incomplete list is reported as such', async () => {
  const run_id = await record();
  withoutLog();
  rmSync(db());
  const release = takeLock(join(place.state, 'store.lock'));
  const { ids, stderr } = await list();
  expect([ids, stderr]).toEqual([[], expect.stringContaining('the list may be incomplete')]);
  release?.();
  expect((await list()).ids).toEqual([run_id]);
});

test('a deleted run that is still in the journal is not added to the index', async () => {
  const kept = await record();
  const gone = await record();
  // As after a command that was killed before it removed the bytes.
  bury(stateDirAt(place.state), [gone]);
  withoutLog();
  rmSync(db());
  const found = await list();
  expect([found.ids, found.stderr]).toEqual([[kept], expect.stringContaining('1 run missing')]);
});

test('an unreadable segment is reported, and read again when it becomes readable', async () => {
  const other = await record();
  const run_id = await record();
  const [segment] = listSegments(join(place.state, 'journal')) as [string];
  const path = join(place.state, 'journal', segment);
  const bytes = readFileSync(path);
  rmSync(path);
  withoutLog();
  rmSync(db());
  // A link there is not followed.
  symlinkSync(join(place.folder, 'elsewhere'), path);
  writeFileSync(join(place.folder, 'elsewhere'), 'x\n');
  const found = await list();
  expect(found.ids).toEqual([run_id]);
  expect(found.stderr).toContain('1 segment of the journal cannot be read');
  // A folder there, larger than the segment.
  rmSync(path);
  mkdirSync(path);
  for (let n = 0; n < 500; n++) writeFileSync(join(path, `${n}-${'x'.repeat(100)}`), '');
  expect((await list()).stderr).toContain('1 segment of the journal cannot be read');
  rmSync(path, { recursive: true });
  writeFileSync(path, bytes, { mode: 0o600 });
  expect((await list()).ids).toEqual([run_id, other]);
});

test('a link to itself in place of a segment or a transcript stops no command', async () => {
  const first = await record();
  const second = await record();
  const link = (...names: string[]) => {
    const path = join(place.state, ...names);
    rmSync(path, { force: true });
    symlinkSync(path, path);
  };
  const segment = `${'0'.repeat(26)}.jsonl`;
  mkdirSync(join(place.state, 'live', 'journal'), { recursive: true, mode: 0o700 });
  link('journal', segment);
  link('live', 'journal', segment);
  link('transcripts', 'demo', `${first}.transcript.jsonl`);
  const codes: Record<string, number | null> = {};
  for (const command of [
    'list',
    `show ${second}`,
    `verify ${second}`,
    'stats',
    'recover',
    'reindex',
    'gc --max-size 1GB --no-archive',
    `rm ${first}`,
  ])
    codes[command] = (await tacho(['runs', ...command.split(' ')])).code;
  codes.doctor = (await tacho(['doctor'])).code;
  codes.run = (await tacho(demo('fixed'))).code;
  // It reports what it could not read.
  expect(Object.entries(codes).filter(([, code]) => code !== 0)).toEqual([['reindex', 1]]);
  const { ids, stderr } = await list();
  expect(ids).toHaveLength(2);
  expect(ids).toContain(second);
  expect(stderr).toContain('1 segment of the journal cannot be read');
  expect(readdirSync(join(place.state, 'transcripts', 'demo'))).toHaveLength(2);
});

const IN_PLACE: Record<string, (path: string) => void> = {
  'a link to nowhere': (path) => symlinkSync(join(place.folder, 'nowhere'), path),
  'a folder': (path) => mkdirSync(path),
};

for (const [what, put] of Object.entries(IN_PLACE))
  verifies('ST-10', `reindex keeps the rows of a segment replaced by ${what}`, async () => {
    const whole = await record();
    const unread = await record();
    const spread = await record();
    const dir = join(place.state, 'journal');
    const [, second = '', third = ''] = listSegments(dir).map((name) => join(dir, name));
    // The last run begins in the second segment.
    const lines = readFileSync(third, 'utf8').split('\n');
    writeFileSync(third, [lines[0], ...lines.slice(5)].join('\n'));
    writeFileSync(second, readFileSync(second, 'utf8') + lines.slice(1, 5).join('\n').concat('\n'));
    await tacho(['runs', 'reindex']);
    const rows = async () => (await tacho(['runs', 'list', '--json'])).stdout;
    const before = await rows();
    expect(linesOf(before).map(({ run_id }) => run_id)).toEqual([spread, unread, whole]);
    const bytes = readFileSync(second);
    rmSync(second);
    put(second);
    const { code, stdout, stderr } = await tacho(['runs', 'reindex', '--json']);
    expect(stderr).toContain(`warning: journal/${basename(second)} cannot be read`);
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      expect.objectContaining({ runs: 3, unreadable: [basename(second)] }),
    ]);
    expect(await rows()).toBe(before);
    rmSync(second, { recursive: true });
    writeFileSync(second, bytes, { mode: 0o600 });
    const again = await tacho(['runs', 'reindex', '--json']);
    expect([again.code, JSON.parse(again.stdout).unreadable]).toEqual([0, []]);
    expect(await rows()).toBe(before);
    expect((await tacho(['runs', 'verify', unread])).code).toBe(0);
  });

const FOREIGN: Record<string, (entries: EditedEntry[]) => void> = {
  null: (entries) => set(entries, 2, null),
  'a number': (entries) => set(entries, 2, 7),
  'a list': (entries) => set(entries, 2, []),
  'an empty object': (entries) => set(entries, 2, {}),
  'of an unknown kind': (entries) => set(entries, 2, { ...event(entries, 2), kind: '__proto__' }),
  'without data': (entries) => set(entries, 2, { ...event(entries, 2), data: null }),
  'of another run': (entries) => set(entries, 2, { ...event(entries, 2), run_id: 'r_other' }),
  'outside every calendar': (entries) => set(entries, 2, { ...event(entries, 2), at_ms: 1e300 }),
  'the first one, a text': (entries) => set(entries, 0, 'text'),
  'the last one, null': (entries) => set(entries, entries.length - 1, null),
  'all of them null': (entries) => {
    for (const entry of entries) entry.e = null;
  },
};

function set(entries: EditedEntry[], at: number, to: unknown): void {
  (entries[at] as EditedEntry).e = to;
}
const event = (entries: EditedEntry[], at: number) => (entries[at] as EditedEntry).e as object;

test('an entry of a foreign shape affects only its own run, for every reader', async () => {
  const dir = join(place.state, 'journal');
  const other = await record();
  const edited: { what: string; run_id: string; segment: string }[] = [];
  for (const [what, edit] of Object.entries(FOREIGN)) {
    const run_id = await record();
    const segment = listSegments(dir).find((name) =>
      readFileSync(join(dir, name), 'utf8').includes(`"s":"${run_id}"`),
    ) as string;
    editRun(join(dir, segment), run_id, edit);
    edited.push({ what, run_id, segment });
  }
  rmSync(join(place.state, 'transcripts'), { recursive: true });
  const quiet = async (what: string, ...command: string[]) => {
    const result = await tacho(command);
    expect([0, 1], `${what}: ${command.join(' ')}: ${result.stderr}`).toContain(result.code);
    expect(result.stderr, what).not.toMatch(/^ +at |TypeError/m);
    return result;
  };
  const { stdout: reindexed } = await quiet('all', 'runs', 'reindex');
  expect(reindexed).toContain(`${edited.length} with damaged entries`);
  await quiet('all', 'runs', 'stats');
  const { ids } = await list();
  expect(ids).toContain(other);
  for (const { what, run_id, segment } of edited) {
    await quiet(what, 'replay', run_id);
    await quiet(what, 'show', run_id, '--no-pager');
    const { code, stdout } = await quiet(what, 'runs', 'verify', run_id);
    expect(code, what).toBe(1);
    if (ids.includes(run_id)) {
      expect(stdout, what).toMatch(
        /event \d+ is (?:not of the form .*jsonl, byte \d+|of run r_other)/,
      );
      const shown = JSON.parse((await tacho(['runs', 'show', run_id, '--json'])).stdout);
      expect(shown.completeness.grade, what).toBe('partial');
      expect(shown.completeness.gaps, what).toContain('journal_entries_left_out:1');
    }
    await quiet(what, 'runs', 'rm', run_id);
    expect(readdirSync(dir), what).not.toContain(segment);
  }
  expect((await list()).ids).toEqual([other]);
  expect((await tacho(['runs', 'verify', other])).code).toBe(0);
});

verifies('ST-10', 'figures that do not fit the index affect only their own run', async () => {
  const dir = join(place.state, 'journal');
  const other = await record();
  const run_id = await record();
  const segment = listSegments(dir).find((name) =>
    readFileSync(join(dir, name), 'utf8').includes(`"s":"${run_id}"`),
  ) as string;
  editRun(join(dir, segment), run_id, (entries) => {
    for (const { e } of entries) {
      const { data } = e as { data: Record<string, unknown> };
      for (const [name, value] of Object.entries(data))
        if (typeof value === 'number') data[name] = 1e308;
    }
  });
  const { code, stderr } = await tacho(['runs', 'reindex']);
  expect([code, stderr]).toEqual([0, '']);
  expect((await list()).ids).toEqual([run_id, other]);
  expect((await tacho(['runs', 'verify', run_id])).code).toBe(1);
  expect((await tacho(['runs', 'verify', other])).code).toBe(0);
});

verifies('ST-10', 'a damaged line affects its own run, not its neighbours', async () => {
  const dir = join(place.state, 'journal');
  const first = await record();
  const second = await record();
  // Both in one segment, like imports.
  const [one = '', two = ''] = listSegments(dir).map((name) => join(dir, name));
  const [, ...more] = readFileSync(two, 'utf8').trimEnd().split('\n');
  const lines = [...readFileSync(one, 'utf8').trimEnd().split('\n'), ...more];
  rmSync(two);
  const write = (damaged: number) =>
    writeFileSync(
      one,
      lines
        .map((line, at) => `${at === damaged ? line.replace('"seq"', '"sXq"') : line}\n`)
        .join(''),
    );
  write(-1);
  expect((await tacho(['runs', 'reindex'])).code).toBe(0);
  const state = stateDirAt(place.state);
  for (const run_id of [first, second]) expect((await verifyRun(state, run_id)).faults).toEqual([]);
  for (const at of lines.keys()) {
    if (at === 0) continue;
    write(at);
    const [own = '', other = ''] =
      at < lines.length - more.length ? [first, second] : [second, first];
    expect((await verifyRun(state, own)).ok, `line ${at}`).toBe(false);
    expect((await verifyRun(state, other)).faults, `line ${at}`).toEqual([]);
  }
  const { code, stdout } = await tacho(['runs', 'verify', first]);
  expect([code, stdout]).toEqual([0, expect.stringContaining('events are intact')]);
});
