/** Resumed sessions: many on one connection, known only to the collector, left in the outbox, left open. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { connect as connectTo } from '../../src/app/live/connect.ts';
import { deliver } from '../../src/app/live/deliver.ts';
import { livePaths } from '../../src/app/live/paths.ts';
import { LiveSender } from '../../src/app/live/sender.ts';
import { serve } from '../../src/app/live/serve.ts';
import { compose } from '../../src/live/protocol/compose.ts';
import type { Notice } from '../../src/live/sender/types.ts';
import { readSession } from '../../src/store/journal/read.ts';
import { openOutbox } from '../../src/store/outbox/outbox.ts';
import { testFolder } from '../fixtures/folder.ts';
import { acks, connectSocket, hello, isError, request } from '../live-client.ts';
import { ToyCollector } from '../toy-collector.ts';
import { bin, demo, kill, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const ask = (session_id: string, seq: number) =>
  compose(
    'tool_call_request',
    { call_id: `c${seq}`, name: 'shell', args: {}, is_client_initiated: false },
    { session_id, seq, at_ms: 1_700_000_000_000 + seq },
  );
const line = (call_id: string) =>
  `${JSON.stringify({ type: 'tool_call_request', data: { call_id, name: 'shell', args: {}, is_client_initiated: false } })}\n`;
const outboxes = () => {
  const { outbox } = livePaths(place.state);
  return existsSync(outbox) ? readdirSync(outbox).filter((name) => name.endsWith('.jsonl')) : [];
};

/** A collector in this process behind a proxy; its `cut` leaves the collector's side open. */
async function behindProxy() {
  const folder = testFolder();
  const serving = await serve({ state_dir: join(folder, 'state'), version: '0' });
  const near = new Set<Socket>();
  const far = new Set<Socket>();
  const proxy = createServer((socket) => {
    const up = connect(join(folder, 'state/live/collector.sock'));
    near.add(socket);
    far.add(up);
    socket.on('data', (bytes) => void up.write(bytes)).on('error', () => {});
    up.on('data', (bytes) => void socket.write(bytes)).on('error', () => {});
  });
  const path = join(folder, 'p');
  await new Promise<void>((resolve) => proxy.listen(path, resolve));
  onTestFinished(async () => {
    proxy.close();
    for (const socket of [...near, ...far]) socket.destroy();
    await serving.stop();
  });
  const cut = () => {
    for (const socket of near) socket.destroy();
    near.clear();
  };
  return { folder, url: `unix:${path}`, cut, journal: join(folder, 'state/live/journal') };
}

verifies(
  ['LP-8', 'LP-11', 'LP-15'],
  'many sessions of one connection resume together on the next, although the collector still has the old one open',
  async () => {
    const { folder, url, cut, journal } = await behindProxy();
    const notices: Notice[] = [];
    const live = new LiveSender({
      url,
      outbox: join(folder, 'out'),
      times: { retry_ms: 20 },
      onNotice: (notice) => void notices.push(notice),
    });
    onTestFinished(async () => void (await live.close()));
    const names = upTo(20).map((i) => `s${i}`);
    const sessions = names.map((name) => live.open(name));
    for (const seq of upTo(5)) for (const one of sessions) one.say([ask(one.session_id, seq)]);
    expect(await live.settled(30_000)).toBe(true);
    cut();
    for (const one of sessions) one.say([ask(one.session_id, 6)]);
    expect(await live.settled(30_000)).toBe(true);
    expect(notices.filter(({ kind }) => kind === 'refused')).toEqual([]);
    for (const name of names) {
      const seqs: number[] = [];
      for await (const { seq } of readSession(journal, name)) seqs.push(seq);
      expect(seqs).toEqual(upTo(6));
    }
  },
);

verifies(
  ['LP-10', 'LP-15'],
  'a second handshake resumes one more session: credits and permissions stay, and a refused one ends nothing',
  async () => {
    const folder = testFolder();
    const serving = await serve({
      state_dir: join(folder, 's'),
      version: '0',
      limits: { credits: 8 },
    });
    onTestFinished(() => serving.stop());
    const client = await connectSocket({ path: join(folder, 's/live/collector.sock') });
    onTestFinished(() => client.destroy());
    await client.handshake({ resume: { session_id: 'a', last_seq: 0 } });
    client.send(request('a', 1), request('a', 2));
    await client.wait(acks('a', 2));
    const again = hello({ resume: { session_id: 'b', last_seq: 0 } });
    client.send(again);
    const answer = await client.wait((one) => one.correlation_id === again.message_id);
    expect(answer.data).toMatchObject({ success: true, resume_from_seq: 1, credits: 6 });
    const old = hello({ version: '9.0' });
    client.send(old);
    const refused = await client.wait((one) => one.correlation_id === old.message_id);
    expect(refused.data.success).toBe(false);
    client.send(request('b', 1));
    await client.wait(acks('b', 1));
    expect(client.received.filter(isError('CAPACITY_EXHAUSTED'))).toEqual([]);
  },
);

verifies(
  'LP-8',
  'a session of the same name with other content does not count as delivered',
  async () => {
    for (const known of [3, 2]) {
      const state = testFolder();
      const toy = new ToyCollector();
      const url = await toy.listen(join(state, 'c'));
      toy.stored.set(
        's',
        upTo(known).map((seq) => `another ${seq}`),
      );
      const live = new LiveSender({ url: 'unix:/nowhere/there', outbox: livePaths(state).outbox });
      const session = live.open('s');
      for (const seq of upTo(2)) session.say([ask('s', seq)]);
      await live.close();
      const later = new LiveSender({ url, outbox: livePaths(state).outbox });
      later.open('s');
      expect(await later.settled(30_000)).toBe(false);
      const left = await later.close();
      expect(left).toEqual([
        {
          session_id: 's',
          messages: 2,
          refused: expect.stringContaining('DUPLICATE_CONFLICT'),
          path: expect.any(String),
        },
      ]);
      expect(existsSync(left[0]?.path as string)).toBe(true);
    }
  },
);

verifies('LP-8', 'emit continues a session that only the collector knows', async () => {
  const toy = new ToyCollector();
  const url = await toy.listen(join(place.folder, 'c'));
  const args = ['emit', '--to', url, '--session', 's', '--no-end'];
  expect((await tacho(args, { input: line('c1') })).code).toBe(0);
  rmSync(livePaths(place.state).outbox, { recursive: true });
  const { code, stderr } = await tacho(args, { input: line('c2') });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(toy.messages('s').map(({ seq, data }) => [seq, data.call_id])).toEqual([
    [1, 'c1'],
    [2, 'c2'],
  ]);
});

verifies(
  'LP-8',
  'a session waiting for its collector can be continued, even while another tacho tries to deliver it',
  async () => {
    const args = [
      'emit',
      '--to',
      `unix:${place.folder}/c`,
      '--session',
      's',
      '--no-end',
      '--wait',
      '0.1',
    ];
    expect((await tacho(args, { input: line('c1') })).code).toBe(75);
    expect((await tacho(args, { input: line('c2') })).code).toBe(75);
    let said = '';
    const { pid, done } = place.start(['serve', '--json', '--no-watch'], {
      seen: (text) => {
        said = text;
      },
    });
    await until(() => said.includes('\n'), 'the collector');
    expect((await tacho(args, { input: line('c3') })).code).toBe(75);
    kill(pid, 'SIGTERM');
    await done;
    const toy = new ToyCollector();
    await toy.listen(join(place.folder, 'c'));
    expect((await tacho([...args.slice(0, -1), '30'], { input: line('c4') })).code).toBe(0);
    expect(toy.messages('s').map(({ seq, data }) => [seq, data.call_id])).toEqual(
      upTo(4).map((seq) => [seq, `c${seq}`]),
    );
  },
);

verifies(
  'LP-7',
  'trailing messages without a requested acknowledgement are still known to be stored',
  async () => {
    let said = '';
    const { pid, done } = place.start(['serve', '--json', '--no-watch'], {
      seen: (text) => {
        said = text;
      },
    });
    await until(() => said.includes('\n'), 'the collector');
    const input = `${JSON.stringify({ type: 'session_start', ack_required: false, data: { agent: 'a' } })}\n`;
    const { code, stderr } = await tacho(['emit', '--no-end', '--wait', '20'], { input });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    kill(pid, 'SIGTERM');
    await done;
  },
);

verifies('LP-4', 'a session with only bad lines is not sent at all', async () => {
  const toy = new ToyCollector();
  const url = await toy.listen(join(place.folder, 'c'));
  const input = '{"type":"tool_call_request","data":{}}\n';
  const { code } = await tacho(['emit', '--to', url, '--session', 's'], { input });
  expect(code).toBe(1);
  expect(toy.messages('s')).toEqual([]);
});

verifies(
  'LP-8',
  'of an acknowledged open session only the numbers are kept, for a week',
  async () => {
    const toy = new ToyCollector();
    const url = await toy.listen(join(place.folder, 'c'));
    const args = ['emit', '--to', url, '--session', 's', '--no-end'];
    const pad = 'x'.repeat(100_000);
    const input = `${JSON.stringify({ type: 'session_start', data: { agent: pad } })}\n${line('c1')}`;
    expect((await tacho(args, { input })).code).toBe(0);
    const [name] = outboxes();
    const path = join(livePaths(place.state).outbox, name as string);
    await deliver(place.state, { say() {} }).done;
    expect(outboxes()).toEqual([name]);
    expect(statSync(path).size).toBeLessThan(1000);
    const long_ago = Date.now() / 1000 - 8 * 86_400;
    utimesSync(path, long_ago, long_ago);
    await deliver(place.state, { say() {} }).done;
    expect(outboxes()).toEqual([]);
    expect((await tacho(args, { input: line('c2') })).code).toBe(0);
    expect(toy.messages('s')).toHaveLength(3);
  },
);

verifies(
  'LP-11',
  'a collector without support for a second handshake gets all sessions, whether it answers or stays silent',
  async () => {
    for (const silent of [true, false]) {
      const toy = new ToyCollector();
      toy.behaviour.hellos_max = 1;
      toy.behaviour.silent = silent;
      const folder = testFolder();
      const url = await toy.listen(join(folder, 'c'));
      const live = new LiveSender({ url, outbox: join(folder, 'out'), times: { resend_ms: 50 } });
      onTestFinished(async () => void (await live.close()));
      for (const name of ['a', 'b', 'c']) live.open(name).say([ask(name, 1)]);
      expect(await live.settled(30_000)).toBe(true);
      expect([...toy.stored.keys()].sort()).toEqual(['a', 'b', 'c']);
    }
  },
);

verifies(
  'LP-4',
  'a signal ends the input of emit: calls are answered, the session is ended, everything is delivered',
  async () => {
    const toy = new ToyCollector();
    const url = await toy.listen(join(place.folder, 'c'));
    const env = { ...process.env, TACHO_HOME: place.state };
    const child = spawn(process.execPath, [bin, 'emit', '--to', url, '--session', 's'], { env });
    const ended = new Promise((resolve) => child.on('close', resolve));
    child.stdin.write(line('c1'));
    await until(() => toy.messages('s').length === 1, 'the call');
    kill(child.pid as number, 'SIGINT');
    expect(await ended).toBe(0);
    expect(toy.messages('s').map(({ type }) => type)).toEqual([
      'tool_call_request',
      'tool_call_response',
      'session_end',
    ]);
    expect(outboxes()).toEqual([]);
  },
);

verifies(
  'LP-8',
  'standard streams that are in use are refused as a transport, and never used to deliver',
  async () => {
    const emitted = await tacho(['emit', '--to', 'stdio:'], { input: line('c1') });
    expect({ code: emitted.code, stdout: emitted.stdout }).toEqual({ code: 2, stdout: '' });
    const run = await tacho(demo('default', '--live', 'stdio:'));
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code: 2, stdout: '' });
    const { outbox } = livePaths(place.state);
    const left = openOutbox(outbox, { url: 'stdio:', token_file: null, ca: null, session_id: 's' });
    left?.append([{ event: 0, seq: 1, type: 'session_start', text: '{}' }]);
    left?.close();
    expect((await tacho(demo('default'))).stdout).not.toContain('handshake_request');
    expect(outboxes()).toHaveLength(1);
  },
);

verifies(
  ['LP-7', 'LP-8'],
  'the library knows immediately when an open session is stored; late messages and values that are not JSON are refused with a reason',
  async () => {
    const folder = testFolder();
    const serving = await serve({ state_dir: join(folder, 's'), version: '0' });
    onTestFinished(() => serving.stop());
    const url = `unix:${join(folder, 's/live/collector.sock')}`;
    // A mere resend would be too late for this.
    const live = connectTo({ url, stateDir: join(folder, 't') }, { resend_ms: 600_000 });
    const session = live.session({ agent: 'mine' });
    expect(await live.flush(30_000)).toBe(true);
    expect(() => session.request({ name: 'x', args: { n: 1n } })).toThrow(
      /cannot be written as JSON/,
    );
    expect(await live.close()).toEqual([]);
    expect(() => session.request({ name: 'x' })).toThrow(/connection has been closed/);
  },
);

verifies(
  ['LP-8', 'LP-10'],
  'a run is watched by its shown id prefix; doctor reports waiting messages and the collector',
  async () => {
    let said = '';
    const { pid, done } = place.start(['serve', '--json', '--no-watch'], {
      seen: (text) => {
        said = text;
      },
    });
    await until(() => said.includes('\n'), 'the collector');
    const [url] = JSON.parse(said).listening;
    const ids: string[] = [];
    for (const script of ['default', 'tools'])
      ids.push((await tacho(demo(script, '--live', url))).records[0].run_id);
    const [one = '', two = ''] = ids;
    for (const more of [[], ['--to', url]])
      for (const part of [one, one.slice(2, 12), one.slice(0, -4)]) {
        const args = ['tail', '--no-follow', '--json', '--session', part, ...more];
        const seen = new Set((await tacho(args)).records.map(({ session_id }) => session_id));
        expect([...seen], part).toEqual([one]);
      }
    expect(two).not.toBe(one);
    const away = ['emit', '--to', `unix:${place.folder}/c`, '--wait', '0.1'];
    expect((await tacho(away, { input: line('c1') })).code).toBe(75);
    const { stdout, code } = await tacho(['doctor']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/note outbox +1 session waiting/);
    expect(stdout).toMatch(/ok {3}collected +\d/);
    kill(pid, 'SIGTERM');
    await done;
  },
);
