/** Commands that change the store are killed at their worst moments, or run concurrently: no other run is lost or duplicated. */
import { once } from 'node:events';
import { createWriteStream, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createZstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { APP_LIMITS } from '../../src/app/limits.ts';
import { listSegments } from '../../src/store/journal/scan.ts';
import { readTombstones } from '../../src/store/journal/tombstones.ts';
import { thisOwner } from '../../src/store/owner.ts';
import { stateDirAt } from '../../src/store/state-dir.ts';
import { filesBelow, fixture, linesOf, type Result, usePlace } from '../e2e/cli.ts';
import { note } from '../e2e/needs.ts';
import { verifies } from '../e2e/verifies.ts';
import { journalLine, unpackJournal } from '../fixtures/edit-journal.ts';
import { mount, unmount, whyNoMount } from './mount.ts';

const place = usePlace();
const { tacho } = place;
const journal = () => join(place.state, 'journal');

function sessionPath(at: number): string {
  return join(place.work, `00000000-0000-4000-8000-${String(at + 1).padStart(12, '0')}.jsonl`);
}

/** Imported sessions share a segment. */
async function importSome(count: number, more_text = ''): Promise<string[]> {
  const files = Array.from({ length: count }, (_, at) => {
    const path = sessionPath(at);
    const session = basename(path, '.jsonl');
    const base = { sessionId: session, cwd: '/w', version: '2.0.0', isSidechain: false };
    const message = (n: number, more: object) => ({
      ...base,
      parentUuid: null,
      uuid: `${session}-${n}`,
      timestamp: new Date(1_750_000_000_000 + at * 60_000 + n * 1000).toISOString(),
      ...more,
    });
    const usage = { input_tokens: 10, output_tokens: 20 };
    const use = { type: 'tool_use', id: `t${at}`, name: 'Bash', input: { command: 'ls' } };
    const lines = [
      message(1, {
        type: 'user',
        message: { role: 'user', content: `marker-${at + 1}-here${more_text}` },
      }),
      message(2, {
        type: 'assistant',
        message: { id: `m${at}`, model: 'm', role: 'assistant', content: [use], usage },
      }),
      message(3, {
        type: 'user',
        message: {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: `t${at}`, content: 'x' }],
        },
      }),
    ];
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return path;
  });
  const { code, stderr } = await tacho(['import', 'claude', ...files]);
  expect(code, stderr).toBe(0);
  return ids();
}

const rows = async () =>
  linesOf((await tacho(['runs', 'list', '--limit', '100', '--json'])).stdout);
const ids = async () => (await rows()).map(({ run_id }) => run_id as string);
const figures = async () =>
  (await rows()).map(({ run_id, tool_calls, tokens }) => [run_id, tool_calls, tokens]);
const killedAt = (args: string[], at: string): Promise<Result> =>
  tacho(args, { env: { TACHO_FAIL_AT: at }, contract: 'none' });
const markers = (
  files = filesBelow(place.state).filter(({ path }) => !path.includes('tacho.db')),
) =>
  new Set(files.flatMap(({ bytes }) => bytes.toString('latin1').match(/marker-\d+-here/g) ?? []));

async function allVerify(): Promise<void> {
  for (const run_id of await ids()) {
    const { code, stdout } = await tacho(['runs', 'verify', run_id]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('events are intact')]);
  }
}

verifies('ST-10', 'a killed reindex leaves the index as it was', async () => {
  const before = await importSome(6);
  const killed = await killedAt(['runs', 'reindex'], 'before_merge');
  expect(killed.signal).toBe('SIGKILL');
  const { stdout, stderr } = await tacho(['runs', 'list', '--json']);
  expect([linesOf(stdout).length, stderr]).toEqual([before.length, '']);
  const done = await tacho(['runs', 'reindex', '--json']);
  expect(JSON.parse(done.stdout)).toMatchObject({ runs: 6, unfinished: 0, damaged: 0, foreign: 0 });
  expect(await ids()).toEqual(before);
  const left = filesBelow(place.state).filter(({ path }) => path.includes('.new-'));
  expect(left).toEqual([]);
});

verifies('ST-5', 'concurrent rm, gc, reindex and list lose no run except those named', async () => {
  const all = await importSome(8);
  const named = all.slice(0, 3);
  const results = await Promise.all([
    ...named.map((run_id) => tacho(['runs', 'rm', run_id])),
    tacho(['runs', 'reindex']),
    tacho(['runs', 'gc', '--max-runs', '100']),
    tacho(['runs', 'reindex']),
    tacho(['runs', 'list']),
  ]);
  for (const { code, stderr } of results) expect(code, stderr).toBe(0);
  expect(await ids()).toEqual(all.slice(3));
  await tacho(['runs', 'reindex']);
  expect(await ids()).toEqual(all.slice(3));
  expect(markers().size).toBe(5);
  await allVerify();
});

verifies(
  'ST-5',
  'runs deleted by rm disappear from the disk immediately; the others stay complete',
  async () => {
    const all = await importSome(4);
    const [gone] = all as [string];
    const before = markers();
    const { code, stdout } = await tacho(['runs', 'rm', gone]);
    expect([code, stdout]).toEqual([0, `${gone}: deleted\n`]);
    expect(before.size - markers().size).toBe(1);
    expect(await ids()).toEqual(all.slice(1));
    await allVerify();
    const again = await tacho(['runs', 'rm', gone]);
    expect([again.code, again.stdout]).toEqual([1, `${gone}: there is no such run\n`]);
  },
);

verifies(
  'ST-5',
  'a command that holds the store lock is named; --force takes the lock over',
  async () => {
    await importSome(1);
    const path = join(place.state, 'store.lock');
    const { takeLock } = await import('../../src/store/lock.ts');
    const release = takeLock(path);
    try {
      const refused = await tacho(['runs', 'reindex']);
      expect(refused.code).toBe(70);
      expect(refused.stderr).toContain(`process ${process.pid} on`);
      expect(refused.stderr).toContain('--force');
      expect((await tacho(['runs', 'list'])).code).toBe(0);
    } finally {
      release?.();
    }
    const gc = ['runs', 'gc', '--max-runs', '0', '--json'];
    const { archive } = JSON.parse((await tacho(gc)).stdout);
    for (const command of [
      ['runs', 'restore', archive],
      ['runs', 'reindex'],
      gc,
      ['import', 'claude', sessionPath(0)],
      ['runs', 'rm', 'last', '--yes'],
    ]) {
      const held = takeLock(path);
      try {
        const { code, stderr } = await tacho([...command, '--force']);
        expect(code, `${command}: ${stderr}`).toBe(0);
      } finally {
        held?.();
      }
    }
  },
);

verifies('ST-5', 'space that rm cannot free yet is reported, and freed by a later gc', async () => {
  const all = await importSome(2);
  const path = join(journal(), listSegments(journal())[0] as string);
  const [header = '', ...lines] = readFileSync(path, 'utf8').split('\n');
  // A segment is not rewritten while its writer is alive.
  const ours = JSON.stringify({ v: 1, ...thisOwner(journal()) });
  writeFileSync(path, [ours, ...lines].join('\n'));
  await tacho(['runs', 'reindex']);
  const { code, stderr } = await tacho(['runs', 'rm', all[0] as string]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('still contains deleted runs')]);
  expect(await ids()).toEqual(all.slice(1));
  expect(markers().size).toBe(2);
  writeFileSync(path, [header, ...lines].join('\n'));
  expect((await tacho(['runs', 'gc', '--max-runs', '100'])).code).toBe(0);
  expect([...markers()]).toEqual(['marker-1-here']);
  await allVerify();
});

verifies('ST-5', 'a segment that cannot be read to its end loses no run', async () => {
  // Long enough for several reads.
  const all = await importSome(3, ' x'.repeat(150_000));
  const gc = ['runs', 'gc', '--max-runs', '100'];
  for (let read = 1; read <= 6; read++) {
    const command = read === 1 ? ['runs', 'rm', all.at(-1) as string] : gc;
    const NODE_OPTIONS = `--require ${fixture('fails-read.cjs')}`;
    await tacho(command, { env: { NODE_OPTIONS, FAIL_READ: String(read) } });
    for (const n of [2, 3]) expect(markers(), `read ${read}`).toContain(`marker-${n}-here`);
  }
  expect((await tacho(gc)).code).toBe(0);
  expect([...markers()].sort()).toEqual(['marker-2-here', 'marker-3-here']);
  await allVerify();
});

verifies('ST-5', 'a gc killed before it removes a segment leaves no run twice', async () => {
  await importSome(6);
  const gc = ['runs', 'gc', '--max-runs', '3', '--no-archive'];
  expect((await killedAt(gc, 'before_remove')).signal).toBe('SIGKILL');
  expect(listSegments(journal())).toHaveLength(2);
  const before = await figures();
  expect(before).toHaveLength(3);
  await allVerify();
  // Archived from two segments that both contain the runs.
  const { stdout } = await tacho(['runs', 'gc', '--max-runs', '0', '--json']);
  const { archive } = JSON.parse(stdout);
  const lines = zstdDecompressSync(readFileSync(archive)).toString('utf8').trimEnd().split('\n');
  expect(new Set(lines).size).toBe(lines.length);
  expect(await ids()).toEqual([]);
  // An archive that an older version wrote twice.
  const twice = join(place.folder, 'twice.jsonl.zst');
  writeFileSync(twice, zstdCompressSync(Buffer.from(`${[...lines, ...lines].join('\n')}\n`)));
  const back = await tacho(['runs', 'restore', twice]);
  expect(back.code, back.stderr).toBe(0);
  expect(await figures()).toEqual(before);
  await allVerify();
});

verifies('ST-5', 'a killed restore lists no run, and can be repeated', async () => {
  await importSome(3);
  const before = await figures();
  const { archive } = JSON.parse((await tacho(['runs', 'gc', '--max-runs', '0', '--json'])).stdout);
  const killed = await killedAt(['runs', 'restore', archive], 'before_visible');
  expect(killed.signal).toBe('SIGKILL');
  expect(await ids()).toEqual([]);
  expect((await tacho(['runs', 'restore', archive])).code).toBe(0);
  expect(await figures()).toEqual(before);
  await allVerify();
  const again = await tacho(['runs', 'restore', archive]);
  expect([again.code, again.stdout.match(/is already in the store/g)?.length]).toEqual([0, 3]);
  expect(await figures()).toEqual(before);
});

verifies(
  'ST-3',
  'a restore into another folder, killed in the middle of a run, lists nothing of that run',
  async () => {
    const { path, run_id } = await largeArchive();
    // Its entries are stored in several groups; the first is already durable.
    const killed = await killedAt(['runs', 'restore', path], 'before_write:3');
    expect(killed.signal).toBe('SIGKILL');
    expect(filesBelow(journal()).some(({ bytes }) => bytes.includes(`"s":"${run_id}"`))).toBe(true);
    const recovered = await tacho(['runs', 'recover']);
    expect([recovered.code, recovered.stdout]).toEqual([0, 'Nothing to recover.\n']);
    expect(await ids()).toEqual([]);
    const back = await tacho(['runs', 'restore', path]);
    expect([back.code, back.stdout]).toEqual([0, `${run_id} restored\n`]);
    expect(await figures()).toEqual([[run_id, 1, expect.anything()]]);
    await tacho(['runs', 'reindex']);
    expect(await ids()).toEqual([run_id]);
  },
);

verifies('ST-3', 'a failed restore marks no run as deleted that the store contains', async () => {
  const { path, run_id } = await largeArchive();
  expect((await tacho(['runs', 'restore', path])).code).toBe(0);
  // As if its recorder had been killed before the end.
  const [segment = ''] = unpackJournal(journal());
  const bytes = readFileSync(segment);
  writeFileSync(segment, bytes.subarray(0, bytes.lastIndexOf('\n', -2) + 1));
  for (const end of ['', '-wal', '-shm'])
    rmSync(join(place.state, `tacho.db${end}`), { force: true });
  const killed = await killedAt(['runs', 'restore', path], 'before_visible');
  expect(killed.signal).toBe('SIGKILL');
  expect(readTombstones(stateDirAt(place.state)).has(run_id)).toBe(false);
  expect(await ids()).toEqual([run_id]);
});

test('an archive bomb, a foreign entry and a run without an end are refused before anything is stored', async () => {
  const [run_id] = (await importSome(1)) as [string];
  const { archive } = JSON.parse((await tacho(['runs', 'gc', '--max-runs', '0', '--json'])).stdout);
  const lines = zstdDecompressSync(readFileSync(archive)).toString('utf8').trimEnd().split('\n');
  const bytes = () => filesBelow(journal()).reduce((sum, file) => sum + file.bytes.length, 0);
  const before = bytes();
  const path = join(place.folder, 'other.jsonl.zst');
  const restored = async (text: string | string[]) => {
    const joined = typeof text === 'string' ? text : `${text.join('\n')}\n`;
    writeFileSync(path, zstdCompressSync(Buffer.from(joined)));
    return tacho(['runs', 'restore', path]);
  };
  const cut = await restored(lines.slice(0, -1));
  expect([cut.code, cut.stderr]).toEqual([1, expect.stringContaining('has no end of it')]);
  const hole = await restored([...lines.slice(0, 2), ...lines.slice(3)]);
  expect([hole.code, hole.stderr]).toEqual([1, expect.stringContaining('lacks entry 3')]);
  for (const e of [null, 7, { v: 1, run_id, kind: 'notice' }]) {
    const line = journalLine({ s: run_id, o: 'capture', n: 2, e }).toString('utf8').trimEnd();
    const foreign = await restored([lines[0] as string, line, ...lines.slice(2)]);
    expect([foreign.code, foreign.stderr]).toEqual([
      1,
      expect.stringContaining(
        `${run_id}: not restored: the archive has an entry 2 that is not an event`,
      ),
    ]);
  }
  const source = journalLine({ s: run_id, o: 'other', n: 1, e: {} }).toString('utf8');
  expect((await restored(source)).code).toBe(1);
  const elsewhere = journalLine({ s: '../../x', o: 'capture', n: 1, e: {} }).toString('utf8');
  const unnamed = await restored(elsewhere);
  expect([unnamed.code, unnamed.stderr]).toEqual([1, expect.stringContaining('is not a run id')]);
  const far = journalLine({ s: run_id, o: 'capture', n: 999_999_999_999_999, e: {} });
  expect((await restored([lines[0] as string, far.toString('utf8').trimEnd()])).code).toBe(1);
  await bomb(path, lines[0] as string, run_id);
  const large = await tacho(['runs', 'restore', path]);
  expect([large.code, large.stderr]).toEqual([1, expect.stringContaining('--any-size')]);
  writeFileSync(path, 'no archive');
  const none = await tacho(['runs', 'restore', path]);
  expect(none.code).not.toBe(0);
  expect(none.stderr).not.toMatch(/^ +at /m);
  expect(bytes()).toBe(before);
  expect(await ids()).toEqual([]);
  expect((await tacho(['runs', 'restore', archive])).code).toBe(0);
  expect(await ids()).toEqual([run_id]);
});

test('an archive with too many runs is refused', async () => {
  const [run_id] = (await importSome(1)) as [string];
  const { archive } = JSON.parse((await tacho(['runs', 'gc', '--max-runs', '0', '--json'])).stdout);
  const [first = ''] = zstdDecompressSync(readFileSync(archive)).toString('utf8').split('\n');
  const event = { ...JSON.parse(first).e, seq: 1 };
  const lines = Array.from({ length: APP_LIMITS.restore_runs_max + 1 }, (_, n) => {
    const s = `${run_id.slice(0, -6)}${String(n).padStart(6, '0')}`;
    return journalLine({ s, o: 'capture', n: 1, e: { ...event, run_id: s } });
  });
  const path = join(place.folder, 'many.jsonl.zst');
  writeFileSync(path, zstdCompressSync(Buffer.concat(lines)));
  const { code, stderr } = await tacho(['runs', 'restore', path]);
  expect([code, stderr.split('\n', 1)]).toEqual([1, [expect.stringContaining('--any-size')]]);
  expect(await ids()).toEqual([]);
});

/** An archive of one recorded run with 60 MB of text, unknown to this state folder. */
async function largeArchive(): Promise<{ path: string; run_id: string }> {
  await importSome(1);
  const { archive } = JSON.parse((await tacho(['runs', 'gc', '--max-runs', '0', '--json'])).stdout);
  const text = zstdDecompressSync(readFileSync(archive)).toString('utf8').trimEnd();
  rmSync(place.state, { recursive: true });
  const [first, ...rest] = text.split('\n').map((line) => JSON.parse(line).e);
  const run_id = `${first.run_id.slice(0, -4)}0000`;
  first.data.config.labels = {};
  const data = { code: 'stderr', text: 'x'.repeat(1_000_000) };
  const notices = Array(60).fill({ ...first, raw: null, kind: 'notice', data });
  const lines = [first, ...notices, ...rest].map((event, at) =>
    journalLine({ s: run_id, o: 'capture', n: at + 1, e: { ...event, run_id, seq: at + 1 } }),
  );
  const path = join(place.folder, 'large.jsonl.zst');
  writeFileSync(path, zstdCompressSync(Buffer.concat(lines)));
  return { path, run_id };
}

test('large archive entries are restored with little memory', async () => {
  const { path, run_id } = await largeArchive();
  const env = { NODE_OPTIONS: '--max-old-space-size=64' };
  const { code, stderr } = await tacho(['runs', 'restore', path], { env });
  expect([code, stderr]).toEqual([0, '']);
  expect(await ids()).toEqual([run_id]);
});

test('an archive too large for the disk is refused before anything is stored', async () => {
  const why = whyNoMount('tmpfs');
  if (why !== null) return note(`a disk too small for an archive: ${why}`);
  const { path } = await largeArchive();
  const disk = join(place.folder, 'disk');
  mount(['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs'], disk);
  try {
    const { code, stderr } = await tacho([
      '--state-dir',
      join(disk, 'state'),
      'runs',
      'restore',
      path,
    ]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('of the disk are free')]);
    const stored = filesBelow(join(disk, 'state', 'journal'));
    expect(stored.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThan(100_000);
  } finally {
    unmount(disk);
  }
});

/** Many large entries that compress to almost nothing. */
async function bomb(path: string, first: string, run_id: string): Promise<void> {
  const zip = createZstdCompress();
  const out = zip.pipe(createWriteStream(path));
  zip.write(`${first}\n`);
  const event = { ...JSON.parse(first).e, seq: 2 };
  for (let n = 2; n < 40; n++) {
    event.data.prompt = 'a'.repeat(4_000_000);
    const line = journalLine({ s: run_id, o: 'capture', n, e: { ...event, seq: n } });
    if (!zip.write(line)) await once(zip, 'drain');
  }
  zip.end();
  await once(out, 'close');
}
