/** `tacho convert --to live` and `tacho tail`, as processes. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { readText } from '../../src/live/protocol/messages.ts';
import { openJournal } from '../../src/store/journal/journal.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { toyCollector } from '../fixtures/toy-collector.ts';
import { root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const recording = (agent: string, scenario: string) =>
  join(root, 'src/agents', agent, 'testdata', scenario, 'stdout.jsonl');

let serving: Server | null = null;
afterEach(() => {
  serving?.close();
  serving = null;
});

async function lines(scenario = 'bash-fail'): Promise<string[]> {
  const made = await place.tacho([
    'convert',
    '--agent',
    'claude',
    '--to',
    'live',
    recording('claude', scenario),
  ]);
  expect(made.code).toBe(0);
  return made.stdout.trimEnd().split('\n');
}

async function overTcp(stored: string[]) {
  const toy = toyCollector(stored);
  serving = toy.server;
  await new Promise<void>((resolve) => toy.server.listen(0, '127.0.0.1', resolve));
  const { port } = toy.server.address() as AddressInfo;
  return { ...toy, url: `tcp://127.0.0.1:${port}` };
}

async function collector(stored: string[], hang_up_after: number[] = []) {
  const toy = toyCollector(stored, hang_up_after);
  serving = toy.server;
  const path = join(place.folder, 'c.sock');
  await new Promise<void>((resolve) => toy.server.listen(path, resolve));
  return { ...toy, url: `unix:${path}` };
}

verifies(
  ['LP-2', 'LP-4'],
  'convert --to live prints a complete session, each line a valid message',
  async () => {
    const made = await lines();
    const read = made.map(readText);
    expect(read.filter(({ fault }) => fault !== null)).toEqual([]);
    expect(read[0]?.message?.type).toBe('session_start');
    expect(read.at(-1)?.message?.type).toBe('session_end');
    const native = readFileSync(recording('claude', 'bash-fail'), 'utf8');
    const request = read.find(({ message }) => message?.type === 'tool_call_request')?.message;
    expect(request?.data).toHaveProperty('args.command');
    const { command } = Object(request?.data).args;
    expect(native).toContain(JSON.stringify(command));
  },
);

verifies(
  'LP-11',
  'tail --json prints each message unchanged and once, across lost connections',
  async () => {
    const stored = await lines();
    // Each connection starts from the beginning and ends too early; the last one stays.
    const { url, seen } = await collector(stored, [3, 7, 7]);
    const args = ['tail', '--to', url, '--from', '1', '--json'];
    const watching = place.start(args, {
      seen: (sofar, child) => {
        if (sofar.split('\n').length > stored.length) child.kill('SIGINT');
      },
    });
    const result = await watching.done;
    expect(result.stdout).toBe(`${stored.join('\n')}\n`);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('reconnecting');
    const hello = seen.find(({ type }) => type === 'handshake_request');
    expect(hello?.data).toMatchObject({ version: '1.0', role: 'client', token: null });
  },
);

verifies(
  'LP-11',
  'tail from now on requests messages that arrived during a disconnection by number',
  async () => {
    const stored = await lines();
    const { url, seen } = await collector(stored, [4]);
    const watching = place.start(['tail', '--to', url, '--json'], {
      seen: (sofar, child) => {
        if (sofar.split('\n').length > stored.length) child.kill('SIGTERM');
      },
    });
    expect((await watching.done).stdout).toBe(`${stored.join('\n')}\n`);
    const asked = seen.filter(({ type }) => type === 'subscribe_events');
    const session_id = JSON.parse(stored[0] as string).session_id;
    expect(asked.map(({ data }) => data.filter)).toEqual([
      { session_ids: null, types: null, from_seq: null },
      { session_ids: null, types: null, from_seq: null },
      { session_ids: [session_id], types: null, from_seq: 5 },
    ]);
  },
);

verifies(
  'LP-10',
  'tail --no-follow exits after the last stored message, with types and a token',
  async () => {
    const stored = await lines();
    const { url, seen } = await overTcp(stored);
    const token = join(place.folder, 'token');
    writeFileSync(token, 'secret\n');
    const open = await place.tacho(['tail', '--to', url, '--token-file', token]);
    expect(open).toMatchObject({ code: 2, stdout: '' });
    expect(open.stderr).toContain('other users can read this file: run chmod 600');
    chmodSync(token, 0o600);
    const types = ['--type', 'tool_call_request', '--type', 'tool_call_response'];
    const result = await place.tacho([
      ...['tail', '--to', url, '--no-follow', '--json', '--token-file', token],
      ...types,
    ]);
    expect(result.code).toBe(0);
    expect(result.stdout.trimEnd().split('\n')).toEqual(
      stored.filter((line) => /"type":"tool_call_(request|response)"/.test(line)),
    );
    expect(seen[0]?.data.token).toBe('secret');
    writeFileSync(token, 'wrong\n');
    const refused = await place.tacho(['tail', '--to', url, '--token-file', token]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('AUTH_FAILED');
  },
);

verifies('LP-10', 'tail prints readable lines, and foreign text is harmless', async () => {
  const stored = await lines();
  const hostile = stored.map((line) =>
    line.replaceAll('recovered', '\\u001b[31m\\u0007recovered\\u202e'),
  );
  const { url } = await collector(hostile);
  const result = await place.tacho(['tail', '--to', url, '--no-follow']);
  expect(result.code).toBe(0);
  expect(result.stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} \w{10} claude /);
  expect(result.stdout).toContain('(exit 3, ');
  expect(result.stdout).toContain('\\u{1b}[31m\\u{7}recovered\\u{202e}');
  expect(result.stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
});

verifies(
  'LP-10',
  'a slow reader of tail gets everything, and tail exits when its reader closes',
  async () => {
    const one = await lines();
    const { session_id } = JSON.parse(one[0] as string);
    const stored = Array.from({ length: 300 }, (_, n) =>
      one.map((line) => line.replaceAll(session_id, `s${n}`)),
    ).flat();
    const { url } = await collector(stored);
    const args = ['tail', '--to', url, '--from', '1', '--json'];
    let waits = 0;
    const slow = place.start(args, {
      seen: (sofar, child) => {
        if (sofar.split('\n').length > stored.length) child.kill('SIGINT');
        if (waits++ > 3) return;
        child.stdout?.pause();
        setTimeout(() => child.stdout?.resume(), 300);
      },
    });
    const result = await slow.done;
    expect(result.code).toBe(0);
    expect(result.stdout === `${stored.join('\n')}\n`).toBe(true);
    const gone = place.start(args, { seen: (_, child) => child.stdout?.destroy() });
    expect((await gone.done).code).toBe(0);
  },
);

verifies('LP-7', 'tail --no-follow without a collector reads the stored messages', async () => {
  const stored = await lines();
  const state = openStateDir(join(openStateDir(place.state).path, 'live'));
  const journal = openJournal(state.journal);
  for (const body of stored) {
    const { session_id, seq } = JSON.parse(body);
    await journal.append([{ session: session_id, source: 'live', seq, body }]);
  }
  await journal.close();
  const all = await place.tacho(['tail', '--no-follow', '--json']);
  expect(all.stdout).toBe(`${stored.join('\n')}\n`);
  const some = await place.tacho(['tail', '--no-follow', '--json', '--from', '5']);
  expect(some.stdout).toBe(`${stored.slice(4).join('\n')}\n`);
  const none = await place.tacho(['tail', '--no-follow', '--json', '--session', 'other']);
  expect(none).toMatchObject({ code: 0, stdout: '' });
});

verifies(
  'LP-10',
  'tail reports a missing collector, a bad number and an unknown type',
  async () => {
    const nobody = await place.tacho(['tail']);
    expect(nobody.code).not.toBe(0);
    expect(nobody.stderr).toContain('tacho serve');
    for (const args of [
      ['--from', 'x'],
      ['--type', 'tool_call'],
      ['--to', 'nowhere'],
    ])
      expect((await place.tacho(['tail', ...args])).code).toBe(2);
    const empty = await place.tacho(['tail', '--no-follow']);
    expect(empty).toMatchObject({ code: 0, stdout: '' });
  },
);
