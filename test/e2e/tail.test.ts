/** Following a file that another process writes. */
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { CAPTURE_LIMITS } from '../../src/capture/limits.ts';
import { spawnAgent } from '../../src/capture/source/spawn.ts';
import { Tail, waitForChange } from '../../src/capture/source/tail.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { verifies } from './verifies.ts';

const folder = mkdtempSync(join(tmpdir(), 'tacho-tail-'));
const fixture = (name: string) => join(import.meta.dirname, '../fixtures', `${name}.mjs`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

function newFile(content = ''): string {
  count += 1;
  const path = join(folder, `${count}.spool`);
  writeFileSync(path, content);
  return path;
}

function startToy(name: string, args: string[]) {
  const [stdout_path, stderr_path] = [newFile(), newFile()];
  const more = { env: {}, cwd: folder, stdin_path: null, stdout_path, stderr_path };
  return {
    ...spawnAgent({ command: process.execPath, args: [fixture(name), ...args], ...more }),
    stdout_path,
  };
}

/** Everything until `over` is settled and nothing is left. */
async function drain(tail: Tail, over: Promise<unknown>, take: (bytes: Buffer) => void) {
  const ended = new AbortController();
  void over.then(() => ended.abort());
  for (let last = false; ; ) {
    const bytes = await tail.read();
    if (bytes !== null) take(bytes);
    else if (last) return;
    else last = (await waitForChange([tail], ended.signal, 1_000)) === 'aborted';
  }
}

async function readAll(tail: Tail): Promise<string> {
  let text = '';
  for (let bytes = await tail.read(); bytes !== null; bytes = await tail.read()) text += bytes;
  return text;
}

for (const watch of [true, false]) {
  const how = watch ? 'by watching' : 'by polling only';
  test(`${how}, bytes written one at a time and in bursts arrive in order, each once`, async () => {
    const agent = startToy('writes-times', ['40', '2', 'bytes']);
    const tail = new Tail(agent.stdout_path, { from: 0, watch });
    expect(tail.watching).toBe(watch);
    let text = '';
    await drain(tail, agent.exited, (bytes) => {
      text += bytes;
    });
    expect(tail.position).toBe(text.length);
    const times = text.trimEnd().split('\n').map(BigInt);
    expect(times.length).toBe(40);
    expect(times).toEqual([...times].sort((a, b) => (a < b ? -1 : 1)));
    await tail.close();
  });
}

test('a write arrives within milliseconds', async () => {
  const agent = startToy('writes-times', ['300', '4', 'lines']);
  const tail = new Tail(agent.stdout_path, { from: 0 });
  const late: number[] = [];
  await drain(tail, agent.exited, (bytes) => {
    const now = process.hrtime.bigint();
    for (const line of bytes.toString().trimEnd().split('\n')) {
      late.push(Number(now - BigInt(line)) / 1e6);
    }
  });
  await tail.close();
  expect(late.length).toBe(300);
  late.sort((a, b) => a - b);
  // 0.3 ms on an idle machine; polling alone would give half the poll interval, however busy the machine is.
  expect(late[150]).toBeLessThan((LIMITS.tail_poll_ms * 2) / 5);
});

verifies(
  'RO-7',
  'reading a file that grows to 50 MB needs no more memory than a chunk',
  async () => {
    const agent = startToy('grows', ['50']);
    const tail = new Tail(agent.stdout_path, { from: 0 });
    const buffer = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
    const before = process.memoryUsage();
    let [total, wrong, peak] = [0, 0, 0];
    const ended = new AbortController();
    void agent.exited.then(() => ended.abort());
    for (let last = false; ; ) {
      const bytes = await tail.read(buffer);
      if (bytes === null && last) break;
      if (bytes === null) {
        last = (await waitForChange([tail], ended.signal, 1_000)) === 'aborted';
        continue;
      }
      const first = 0x61 + (Math.floor(total / 1_048_576) % 26);
      if (bytes[0] !== first) wrong += 1;
      total += bytes.length;
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before.arrayBuffers);
    }
    await tail.close();
    expect({ total, wrong, position: tail.position }).toEqual({
      total: 50 * 1_048_576,
      wrong: 0,
      position: 50 * 1_048_576,
    });
    expect(peak).toBeLessThan(4 * 1_048_576);
  },
);

test('a read returns at most a chunk, and the rest is still known', async () => {
  const path = newFile('x'.repeat(LIMITS.read_chunk_bytes + 10));
  const tail = new Tail(path, { from: 5 });
  expect((await tail.read())?.length).toBe(LIMITS.read_chunk_bytes);
  expect(tail.changed).toBe(true);
  expect(await waitForChange([tail], null, 10_000)).toBe('changed');
  expect((await tail.read())?.length).toBe(5);
  expect(await tail.read()).toBe(null);
  expect(tail.position).toBe(LIMITS.read_chunk_bytes + 10);
  await tail.close();
});

test('returned bytes do not change with the next read', async () => {
  const path = newFile('first');
  const tail = new Tail(path, { from: 0 });
  const first = await tail.read();
  appendFileSync(path, 'other');
  const second = await tail.read();
  expect([String(first), String(second)]).toEqual(['first', 'other']);
  await tail.close();
});

test('a truncated file is read again from its beginning, and that is reported once', async () => {
  const path = newFile('0123456789');
  const tail = new Tail(path, { from: 0 });
  expect(await readAll(tail)).toBe('0123456789');
  truncateSync(path, 0);
  expect(await tail.read()).toBe(null);
  expect(tail.takeCut()).toEqual({ kind: 'truncated', position: 10, size: 0 });
  expect([tail.takeCut(), tail.position]).toEqual([null, 0]);
  appendFileSync(path, 'new');
  expect(await waitForChange([tail], null, 10_000)).toBe('changed');
  expect(await readAll(tail)).toBe('new');
  expect(tail.takeCut()).toBe(null);
  await tail.close();
});

for (const [what, then] of [
  ['less than before', 'other'],
  ['exactly as much', 'ABCDEFGHIJ'],
  ['more than before', 'longer than what was there'],
  ['far more than the window', 'z'.repeat(CAPTURE_LIMITS.tail_window_bytes * 3)],
] as const)
  test(`a file that was truncated and has grown again by ${what} is noticed`, async () => {
    const path = newFile('0123456789');
    const tail = new Tail(path, { from: 0 });
    await readAll(tail);
    writeFileSync(path, then);
    expect(await tail.read()).toEqual(Buffer.from(then));
    expect(tail.takeCut()).toEqual({ kind: 'truncated', position: 10, size: then.length });
    expect(await tail.read()).toBe(null);
    expect(tail.takeCut()).toBe(null);
    await tail.close();
  });

test('a long file that was truncated and has grown again is noticed, and one that only grows is not', async () => {
  const numbered = (from: number) =>
    Array.from({ length: 5_000 }, (_, i) => `line ${from + i}\n`).join('');
  const path = newFile(numbered(0));
  const tail = new Tail(path, { from: 7 });
  await readAll(tail);
  appendFileSync(path, numbered(5_000));
  await readAll(tail);
  expect(tail.takeCut()).toBe(null);
  const then = numbered(20_000) + numbered(30_000) + numbered(40_000);
  writeFileSync(path, then);
  expect(await readAll(tail)).toBe(then);
  expect(tail.position).toBe(then.length);
  await tail.close();
});

test('bytes that change in place, at the beginning or near the end, are reported and not read again', async () => {
  const path = newFile('x'.repeat(CAPTURE_LIMITS.tail_window_bytes * 4));
  const tail = new Tail(path, { from: 0 });
  await readAll(tail);
  const write = (at: number) => {
    const fd = openSync(path, 'r+');
    writeSync(fd, 'OTHER', at);
    closeSync(fd);
  };
  for (const at of [3, CAPTURE_LIMITS.tail_window_bytes * 4 - 1_000]) {
    write(at);
    expect(await tail.read()).toBe(null);
    expect(tail.takeCut()).toMatchObject({ kind: 'overwritten' });
    expect(await tail.read()).toBe(null);
    expect(tail.takeCut()).toBe(null);
  }
  appendFileSync(path, 'more');
  expect(await readAll(tail)).toBe('more');
  await tail.close();
});

test('a file that loses bytes at its end, seen but not returned by a read, is shortened', async () => {
  const path = newFile('0123456789');
  const tail = new Tail(path, { from: 0 });
  const buffer = Buffer.alloc(4);
  expect(String(await tail.read(buffer))).toBe('0123');
  truncateSync(path, 6);
  expect(String(await tail.read(buffer))).toBe('45');
  expect(tail.takeCut()).toEqual({ kind: 'shortened', position: 4, size: 6 });
  appendFileSync(path, 'ab');
  expect([String(await tail.read(buffer)), tail.takeCut()]).toEqual(['ab', null]);
  await tail.close();
});

test('a removed file can still be read to its end', async () => {
  const path = newFile('before');
  const tail = new Tail(path, { from: 0 });
  rmSync(path);
  expect(await readAll(tail)).toBe('before');
  await tail.close();
});

for (const watch of [true, false]) {
  test(`waiting ends at a change of any tail, at an abort and at the time limit (${watch ? 'watch' : 'poll'})`, async () => {
    const paths = [newFile(), newFile()] as const;
    const tails = paths.map((path) => new Tail(path, { from: 0, watch }));
    for (const tail of tails) expect(await tail.read()).toBe(null);
    // The watch may still report the creation of the file.
    while ((await waitForChange(tails, null, 30)) === 'changed')
      for (const tail of tails) await tail.read();
    expect(await waitForChange(tails, null, 1)).toBe('timeout');
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 5);
    expect(await waitForChange(tails, abort.signal, 60_000)).toBe('aborted');
    expect(await waitForChange(tails, abort.signal, 60_000)).toBe('aborted');
    setTimeout(() => appendFileSync(paths[1], 'x'), 5);
    expect(await waitForChange(tails, null, 60_000)).toBe('changed');
    expect(await Promise.all(tails.map(async (tail) => String(await tail.read())))).toEqual([
      'null',
      'x',
    ]);
    for (const tail of tails) await tail.close();
  });
}

test('a change between the last read and the wait is not missed', async () => {
  const path = newFile();
  const tail = new Tail(path, { from: 0 });
  for (let i = 0; i < 50; i++) {
    while ((await tail.read()) !== null) {}
    appendFileSync(path, 'x');
    expect(await waitForChange([tail], null, 10_000)).toBe('changed');
    expect(String(await tail.read())).toBe('x');
  }
  await tail.close();
});

test('closing during a read is safe, and a closed tail returns nothing more', async () => {
  const tail = new Tail(newFile('x'.repeat(1000)), { from: 0 });
  const reading = tail.read();
  await tail.close();
  await tail.close();
  expect((await reading)?.length).toBe(1000);
  expect(await tail.read()).toBe(null);
});

test('a missing file, a link and a folder are refused with an error that names them', () => {
  const link = join(folder, 'link');
  symlinkSync(newFile(), link);
  const codes = [join(folder, 'none'), link, folder].map((path) => {
    try {
      return new Tail(path, { from: 0 });
    } catch (error) {
      return (error as { code: string }).code;
    }
  });
  expect(codes).toEqual(['not_found', 'state_unusable', 'not_a_file']);
});
