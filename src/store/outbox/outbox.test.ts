import { appendFileSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { listOutboxes, openOutbox, outboxPath, takeOutbox } from './outbox.ts';

const TARGET = { url: 'unix:/nowhere', token_file: null, ca: null };
const entry = (seq: number, pad = '') => ({
  event: Math.ceil(seq / 3),
  seq,
  type: 'tool_call_request',
  text: JSON.stringify({ seq, pad }),
});
const entries = (from: number, to: number, pad = '') =>
  Array.from({ length: to - from + 1 }, (_, i) => entry(from + i, pad));

function opened(dir: string, session_id = 's') {
  const outbox = openOutbox(dir, { ...TARGET, session_id });
  if (outbox === null) throw new Error('another has it');
  return outbox;
}

async function all(outbox: ReturnType<typeof opened>, from: number, bytes?: number) {
  const found = [];
  for (let seq = from; ; ) {
    const some = await outbox.read(seq, bytes);
    if (some.length === 0) return found;
    found.push(...some);
    seq += some.length;
  }
}

test('messages are read back from any number on, however small the chunks', async () => {
  const outbox = opened(testFolder());
  const put = entries(1, 500, 'é'.repeat(50));
  for (const one of put) outbox.append([one]);
  for (const from of [1, 2, 64, 65, 66, 300, 500])
    for (const bytes of [1, 100, 5_000, undefined])
      expect(await all(outbox, from, bytes)).toEqual(put.slice(from - 1));
  expect(await outbox.read(501)).toEqual([]);
  outbox.remove();
});

test('it is readable by its owner only, and another process or caller does not get it meanwhile', () => {
  const dir = join(testFolder(), 'outbox');
  const outbox = opened(dir);
  const path = outboxPath(dir, 's');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(openOutbox(dir, { ...TARGET, session_id: 's' })).toBeNull();
  expect(takeOutbox(path)).toBeNull();
  outbox.append([entry(1)]);
  outbox.close();
  const again = takeOutbox(path);
  expect(again?.last_seq).toBe(1);
  again?.remove();
  expect(listOutboxes(dir)).toEqual([]);
});

test('a torn last line is removed, and numbering continues after the last whole one', async () => {
  const dir = testFolder();
  const first = opened(dir);
  first.append(entries(1, 5));
  first.close();
  const path = outboxPath(dir, 's');
  appendFileSync(path, '2\t6\ttool_call_request\t{"seq":6');
  const outbox = opened(dir);
  expect([outbox.last_seq, outbox.last_event]).toEqual([5, { seq: 2, messages: 2 }]);
  outbox.append([entry(6)]);
  expect(await all(outbox, 1)).toEqual(entries(1, 6));
  outbox.close();
  for (let bytes = statSync(path).size; bytes > 0; bytes -= 7) {
    truncateSync(path, bytes);
    const cut = opened(dir);
    expect(await all(cut, 1)).toEqual(entries(1, cut.last_seq));
    cut.append([entry(cut.last_seq + 1)]);
    truncateSync(path, Math.min(bytes, statSync(path).size));
    cut.close();
  }
});

test('it knows whether the session has ended, what is acknowledged, and its destination', () => {
  const dir = testFolder();
  const first = openOutbox(dir, { url: 'tcp://h:1', token_file: '/t', ca: '/c', session_id: 's' });
  first?.append([entry(1), { event: 9, seq: 2, type: 'session_end', text: '{}' }]);
  first?.close(1);
  const again = opened(dir);
  expect(again).toMatchObject({ ended: true, acked: 1, last_seq: 2, first_seq: 1 });
  expect(again.target).toEqual({ url: 'tcp://h:1', token_file: '/t', ca: '/c' });
  const aside = again.setAside();
  expect(readFileSync(aside, 'utf8')).toContain('session_end');
  expect(listOutboxes(dir)).toEqual([]);
});

test('a session that begins with a later number keeps it, and one without messages leaves no file', () => {
  const dir = testFolder();
  const outbox = openOutbox(dir, { ...TARGET, session_id: 's', first_seq: 7 });
  expect([outbox?.first_seq, outbox?.last_seq]).toEqual([7, 6]);
  outbox?.append([entry(7)]);
  outbox?.close();
  expect(opened(dir)).toMatchObject({ first_seq: 7, last_seq: 7 });
  opened(dir, 'empty').close();
  expect(listOutboxes(dir)).toHaveLength(1);
});

test('the room of acknowledged messages is freed, and everything else stays unchanged', async () => {
  const dir = testFolder();
  const path = outboxPath(dir, 's');
  const outbox = opened(dir);
  outbox.append(entries(1, 1000, 'é'.repeat(50)));
  const before = statSync(path).size;
  // The rest is most of it: not worth copying.
  outbox.trim(10);
  expect(statSync(path).size).toBe(before);
  outbox.trim(900);
  expect(statSync(path).size).toBeLessThan(before / 5);
  expect(outbox.bytes).toBe(statSync(path).size);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  outbox.append(entries(1001, 1100));
  const rest = [...entries(901, 1000, 'é'.repeat(50)), ...entries(1001, 1100)];
  for (const bytes of [100, undefined]) expect(await all(outbox, 901, bytes)).toEqual(rest);
  expect([outbox.first_seq, outbox.last_seq, outbox.last_event.seq]).toEqual([901, 1100, 367]);
  outbox.close();
  const again = opened(dir);
  expect(await all(again, 901)).toEqual(rest);
  expect([again.acked, again.first_seq, again.last_seq]).toEqual([900, 901, 1100]);
  again.trim(1100);
  again.close();
  const empty = opened(dir);
  expect([empty.acked, empty.first_seq, empty.last_seq]).toEqual([1100, 1101, 1100]);
  expect(empty.last_event.seq).toBe(367);
  expect(await empty.read(1101)).toEqual([]);
  empty.append([entry(1101)]);
  expect(await all(empty, 1101)).toEqual([entry(1101)]);
  empty.remove();
  expect(listOutboxes(dir)).toEqual([]);
});
