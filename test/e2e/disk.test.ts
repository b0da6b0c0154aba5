/** Disks that are full or read-only, and obstacles in the state folder: a clear message, exit code 70, nothing lost (ST-9). */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { demo, finished, fixture, type Result, spools, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;
const root = process.getuid?.() === 0;
const mounts: string[] = [];

afterEach(() => {
  for (const path of mounts.splice(0)) spawnSync('umount', ['-l', path]);
});

/** A small separate disk at `path`; false when mounting is not allowed. */
function mountSmall(path: string, options: string): boolean {
  mkdirSync(path, { recursive: true });
  if (!root || spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]).status !== 0)
    return false;
  mounts.push(path);
  return true;
}

/** Fills the rest of a disk except `free` bytes. */
function fill(path: string, free: number): void {
  spawnSync('dd', ['if=/dev/zero', `of=${path}`, 'bs=4096'], { stdio: 'ignore' });
  spawnSync('truncate', ['-s', `-${free}`, path]);
}

/** Many small chunks: some 1.3 MB of journal for 0.25 MB of spool. */
function bigScript(): string {
  const path = join(place.folder, 'big.yaml');
  const pieces = JSON.stringify(Array.from({ length: 4000 }, (_, index) => `${index} `));
  writeFileSync(path, `steps:\n  - say: before\n  - stream: ${pieces}\n  - say: after\n`);
  return path;
}

function expectCaptureError(result: Result, path: string): void {
  expect(result.code).toBe(70);
  expect(finished(result)).toMatchObject({ exit_reason: 'capture_error', ok: false });
  expect(finished(result).error).toContain(path);
  expect(result.stderr).not.toMatch(/\n {4}at /);
}

async function expectRecovered(run: string): Promise<void> {
  const recovered = await tacho(['runs', 'recover']);
  expect([recovered.code, recovered.stderr]).toEqual([0, '']);
  const shown = JSON.parse((await tacho(['runs', 'show', run, '--json'])).stdout);
  expect(shown).toMatchObject({ success: true, exit_reason: 'ok', message: 'after' });
  expect((await tacho(['runs', 'verify', run])).code).toBe(0);
  expect(spools(place)).toEqual([]);
}

verifies(
  ['ST-9', 'RE-12'],
  'a disk that fills up under the journal ends the run with capture_error, and the run is recovered',
  async () => {
    mkdirSync(place.state, { mode: 0o700 });
    const journal = join(place.state, 'journal');
    if (!mountSmall(journal, 'size=512k,mode=700')) return;
    const result = await tacho(demo(bigScript()));
    expectCaptureError(result, journal);
    expect(finished(result).error).toMatch(/disk is full.*raw output is kept.*tacho runs recover/);
    expect(spools(place)).toEqual([result.records[0].run_id]);
    spawnSync('mount', ['-o', 'remount,size=64m', journal]);
    await expectRecovered(result.records[0].run_id);
  },
);

verifies(
  ['ST-9', 'RE-12'],
  'a file size limit on the journal gives capture_error, and the run is recovered without the limit',
  async () => {
    const under = ['bash', '-c', 'ulimit -f 600; exec "$@"', 'sh'];
    const script = bigScript();
    const result = await tacho(demo(script), { under });
    expectCaptureError(result, join(place.state, 'journal'));
    await expectRecovered(result.records[0].run_id);
  },
);

verifies(
  'ST-9',
  'a disk that is full from the start gives one record and exit code 70, and the path is named',
  async () => {
    if (!mountSmall(place.state, 'size=64k,mode=700')) return;
    fill(join(place.state, 'ballast'), 0);
    const result = await tacho(demo('fixed'));
    expect([result.code, result.records.length]).toEqual([70, 1]);
    expect(finished(result).exit_reason).toBe('pre_run_error');
    expect(finished(result).error).toContain(place.state);
    expect(result.stderr).not.toMatch(/\n {4}at /);
  },
);

verifies(
  'ST-9',
  'a full disk under the whole state folder during the run is reported, and the run is recovered when there is space',
  async () => {
    if (!mountSmall(place.state, 'size=1m,mode=700')) return;
    const result = await tacho(demo(bigScript()));
    expect(result.code).toBe(70);
    expect(finished(result)).toMatchObject({ exit_reason: 'capture_error', ok: false });
    spawnSync('mount', ['-o', 'remount,size=64m', place.state]);
    expect((await tacho(['runs', 'recover'])).code).toBe(0);
    expect((await tacho(['runs', 'verify', result.records[0].run_id])).code).toBe(0);
  },
);

verifies('ST-9', 'a read-only state folder gives one record, exit code 70 and a hint', async () => {
  if (!mountSmall(place.state, 'size=1m,mode=700')) return;
  spawnSync('mount', ['-o', 'remount,ro', place.state]);
  const result = await tacho(demo('fixed'));
  expect([result.code, result.records.length]).toEqual([70, 1]);
  expect(finished(result).error).toMatch(
    /read-only: choose another folder with --state-dir or TACHO_HOME/,
  );
  expect(finished(result).error).toContain(place.state);
  const human = await tacho(['run', '--agent', 'demo', 'please']);
  expect([human.code, human.stdout]).toEqual([70, '']);
  expect(human.stderr).toMatch(
    /^error: .*read-only: choose another folder with --state-dir or TACHO_HOME\n$/,
  );
});

const IN_THE_WAY: [string, string, (path: string) => void][] = [
  ['a file', '', (path) => writeFileSync(path, 'mine')],
  ['a link', '', (path) => symlinkSync('/tmp', path)],
  ['a dangling link', '', (path) => symlinkSync('/nowhere/at/all', path)],
  ['a file', 'journal', (path) => writeFileSync(path, 'mine')],
  ['a link', 'journal', (path) => symlinkSync('/tmp', path)],
  ['a file', 'spool', (path) => writeFileSync(path, 'mine')],
  ['a folder', 'tacho.db', (path) => mkdirSync(path)],
];

for (const [what, name, put] of IN_THE_WAY) {
  verifies(
    ['ST-8', 'ST-9'],
    `${what} in place of ${name || 'the state folder'} is named with exit code 70 and left alone`,
    async () => {
      const path = join(place.state, name);
      if (name !== '') mkdirSync(place.state, { mode: 0o700 });
      put(path);
      const result = await tacho(demo('fixed'));
      expect(result.code).toBe(70);
      expect(['pre_run_error', 'capture_error']).toContain(finished(result).exit_reason);
      expect(finished(result).error).toContain(path);
      expect(result.stderr).not.toMatch(/\n {4}at /);
      rmSync(path, { recursive: true, force: true });
      const again = await tacho(demo('fixed'));
      expect(again.code).toBe(0);
    },
  );
}

verifies(
  'ST-9',
  'an invalid database is set aside or reported, and the run is not lost',
  async () => {
    mkdirSync(place.state, { mode: 0o700 });
    writeFileSync(
      join(place.state, 'tacho.db'),
      'this is no database at all, only some text in a file',
    );
    const result = await tacho(demo('fixed'));
    expect([0, 70]).toContain(result.code);
    if (result.code === 70) {
      expect(finished(result).error).toContain('tacho.db');
      rmSync(join(place.state, 'tacho.db'));
    }
    expect((await tacho(['runs', 'reindex'])).code).toBe(0);
    const listed = await tacho(['runs', 'list', '--json']);
    expect(listed.code).toBe(0);
  },
);

verifies(
  'ST-9',
  'an output file that cannot be written stops the run before it starts',
  async () => {
    for (const flag of ['--events', '--final-output']) {
      const path = join(place.folder, 'nowhere', 'file');
      const result = await tacho(demo('fixed', flag, path));
      expect([result.code, finished(result).exit_reason]).toEqual([70, 'pre_run_error']);
      expect(finished(result).error).toContain(path);
    }
    expect(existsSync(join(place.work, 'tacho-demo', 'same.txt'))).toBe(false);
  },
);

verifies(
  ['ST-9', 'RE-12'],
  'a full disk under a requested output file is reported with exit code 70, and the record is complete',
  async () => {
    for (const flag of ['--events', '--final-output']) {
      const result = await tacho(demo('default', flag, '/dev/full'));
      expect([result.code, finished(result).exit_reason]).toEqual([70, 'ok']);
      expect(result.stderr).toBe(
        `error: ${flag} /dev/full: the disk is full: free some space and try again\n`,
      );
      expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
    }
  },
);

verifies(
  ['ST-9', 'RE-20'],
  'a full disk under stdout is reported with exit code 70, and the record is complete',
  async () => {
    const under = ['bash', '-c', '"$@" > /dev/full', 'sh'];
    const say = 'error: standard output: the disk is full: free some space and try again\n';
    const result = await tacho(demo('default'), { under, contract: 'none' });
    expect([result.code, result.stderr]).toEqual([70, say]);
    expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
    const listed = await tacho(['runs', 'list'], { under });
    expect([listed.code, listed.stderr]).toEqual([70, say]);
    expect(spools(place)).toEqual([]);
  },
);

verifies(
  'ST-9',
  'a state folder removed during the run gives one end record and no stack trace',
  async () => {
    let removed = false;
    const result = await tacho(['run', '--agent', 'demo', '--output', 'json', 'please'], {
      seen(sofar) {
        if (removed || !sofar.includes('tool_exec_started')) return;
        removed = true;
        rmSync(place.state, { recursive: true, force: true });
      },
    });
    expect([0, 70]).toContain(result.code);
    expect(result.stderr).not.toMatch(/\n {4}at /);
    expect(place.left()).toEqual([]);
  },
);

verifies(
  ['ST-9', 'RE-12'],
  'whichever sync fails on a full disk, json mode ends with run_finished and no stack trace',
  async () => {
    await tacho(demo('fixed'));
    const log = join(place.folder, 'syncs');
    const hits = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
    for (let nth = 1; nth <= 12; nth++) {
      rmSync(log, { force: true });
      const env = {
        NODE_OPTIONS: `--require ${fixture('fails-sync.cjs')}`,
        FAIL_SYNC: String(nth),
        SYNC_LOG: log,
      };
      const result = await tacho(demo('fixed'), { env, contract: 'none' });
      if (hits() === '') break;
      expect(result.records.at(-1)?.type, `${nth}: ${hits()} ${result.stderr}`).toBe(
        'run_finished',
      );
      expect(result.stderr, String(nth)).not.toMatch(/^ +at /m);
      expect(result.stderr.length).toBeLessThan(1_000);
    }
  },
);

verifies(
  'ST-9',
  'a file of a new run that cannot be created ends the run before its agent starts, and leaves no spool',
  async () => {
    for (const file of ['stdout', 'stdin']) {
      const env = {
        NODE_OPTIONS: `--require ${fixture('fails-at.cjs')}`,
        FAIL_CALL: 'openSync',
        FAIL_AT: `/${file}`,
      };
      const result = await tacho(demo('fixed'), { env });
      expect([result.code, finished(result).exit_reason], file).toEqual([70, 'pre_run_error']);
      expect(result.stderr, file).not.toMatch(/\n {4}at /);
      expect(spools(place), file).toEqual([]);
    }
  },
);
