/** All faults together: bad connections, killed collectors and senders, two senders of one session, a clock set back. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { connect } from '../../src/app/live/connect.ts';
import { LiveSender } from '../../src/app/live/sender.ts';
import { serve } from '../../src/app/live/serve.ts';
import { tail } from '../../src/app/live/tail.ts';
import { validateStored } from '../../src/app/live/validate.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/ids.ts';
import { parseAddress } from '../../src/live/protocol/address.ts';
import { compose } from '../../src/live/protocol/compose.ts';
import type { Notice } from '../../src/live/sender/types.ts';
import { ChaosProxy, FATES } from '../chaos-proxy.ts';
import { bin, until } from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { acks, connectSocket, control, isType, type LiveClient, request } from '../live-client.ts';
import { faultsOf } from '../live-stream.ts';
import { Writers } from '../live-writers.ts';
import { type ServeProcess, startServe, storedIn } from '../serve-process.ts';

const LONG_MS = 300_000;
const TIMES = { retry_ms: 10, retry_ms_max: 50, resend_ms: 100, resend_ms_max: 400 };

/** Only heartbeats detect silence, which takes time. */
const MANY = [...Array.from({ length: 5 }, () => FATES.slice(0, 4)).flat(), 'silent'] as const;

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const numbersOf = (lines: readonly string[] = []) =>
  lines.map((line) => JSON.parse(line).seq as number);
const socketOf = (url: string) => ({ path: url.replace('unix:', '') });

function said(session_id: string, seq: number, pad = 'é'.repeat((seq * 37) % 500)) {
  const data = { message_id: 'm', index: 0, delta: pad };
  return compose('content_block_delta', data, { session_id, seq, at_ms: 1_700_000_000_000 + seq });
}

const ended = (session_id: string, seq: number) =>
  compose('session_end', { status: 'ok' }, { session_id, seq, at_ms: 1_800_000_000_000 });

/** In order, over its own connection: every message is acknowledged before the next is sent. */
async function neighbour(url: string, until_done: Promise<unknown>) {
  const client = await connectSocket(socketOf(url));
  await client.handshake();
  let done = false;
  void until_done.finally(() => {
    done = true;
  });
  let slowest_ms = 0;
  let seq = 0;
  while (!done || seq < 10) {
    seq += 1;
    const from = performance.now();
    client.send(request('neighbour', seq));
    await client.wait(acks('neighbour', seq), `the neighbour's ${seq}`, client.received.length);
    slowest_ms = Math.max(slowest_ms, performance.now() - from);
    await sleep(5);
  }
  client.destroy();
  return { client, seq, slowest_ms };
}

const faults = (client: LiveClient) =>
  client.received.filter(isType('error')).filter(({ data }) => data.severity !== 'warning');

async function subscribed(url: string): Promise<LiveClient> {
  const client = await connectSocket(socketOf(url));
  await client.handshake({ role: 'client' });
  client.send(control('subscribe_events', { filter: { from_seq: 0 } }));
  const beat = setInterval(() => client.send(control('heartbeat', {})), 300);
  void client.closed.then(() => clearInterval(beat));
  return client;
}

const numbered = ({ received, lines }: LiveClient) =>
  lines.filter((_, i) => typeof received[i].seq === 'number');

/** Three complete sessions over a bad connection; resolves when the collector has everything. */
async function badLine(kind: 'unix' | 'tcp', { url: to }: ServeProcess, folder: string) {
  const proxy = new ChaosProxy({
    ...{ seed: kind, to: to.replace('unix:', ''), fates: MANY },
    ...{ bytes_max: 40_000, delay_ms_max: 4 },
  });
  const url = await proxy.listen(kind === 'unix' ? join(folder, 'p') : 0);
  const live = new LiveSender({ url, outbox: join(folder, 'outbox'), times: TIMES });
  const sessions = ['a', 'b', 'c'].map((name) => live.open(`${kind}-${name}`));
  for (const seq of upTo(COUNT)) {
    for (const session of sessions) session.say([said(session.session_id, seq)]);
    if (seq % 20 === 0) await sleep(5);
  }
  for (const session of sessions) session.say([ended(session.session_id, COUNT + 1)]);
  expect(await live.settled(150_000)).toBe(true);
  expect(await live.close()).toEqual([]);
  // Every kind of fault happened.
  expect(Object.values(proxy.happened).filter((times) => times === 0)).toEqual([]);
  return sessions.map(({ session_id }) => session_id);
}

const COUNT = 1_000;

verifies(
  ['LP-7', 'LP-8', 'LP-15'],
  'connections that delay, split, drop, reset and fall silent lose nothing, and other peers do not notice',
  async () => {
    const folder = testFolder();
    const state = join(folder, 'state');
    const serving = await startServe(state, '--heartbeat', '1');
    const watcher = await subscribed(serving.url);
    const work = Promise.all([badLine('unix', serving, folder), badLine('tcp', serving, folder)]);
    const beside = await neighbour(serving.url, work);
    const names = (await work).flat();
    expect(beside.slowest_ms).toBeLessThan(5_000);
    expect(faults(beside.client)).toEqual([]);
    const whole = names.length * (COUNT + 1) + beside.seq;
    await until(() => numbered(watcher).length >= whole, 'everything with the subscriber');
    watcher.destroy();
    expect(await serving.end('SIGTERM')).toBe(0);
    const stored = await storedIn(state);
    const seen = Map.groupBy(numbered(watcher), (line) => JSON.parse(line).session_id);
    for (const name of names) {
      const lines = [...upTo(COUNT).map((seq) => said(name, seq)), ended(name, COUNT + 1)];
      expect(stored.get(name)).toEqual(lines.map((one) => JSON.stringify(one)));
    }
    expect(numbersOf(stored.get('neighbour'))).toEqual(upTo(beside.seq));
    expect(seen).toEqual(stored);
    expect(readdirSync(join(folder, 'outbox'))).toEqual([]);
  },
  LONG_MS,
);

const SENDER_KILLS = 25;
const COLLECTOR_KILLS = 20;

verifies(
  ['LP-7', 'LP-8', 'LP-9', 'LP-11'],
  'a collector and senders killed at random moments, over a bad connection, lose nothing and deliver nothing twice',
  async () => {
    const folder = testFolder();
    const state = join(folder, 'state');
    const random = seededRandom('kills');
    let serving = await startServe(state, '--heartbeat', '1');
    const { url } = serving;
    const proxy = new ChaosProxy({
      ...{ seed: 'kills', to: url.replace('unix:', ''), fates: MANY },
      ...{ bytes_max: 400_000, delay_ms_max: 2 },
    });
    const bad_url = await proxy.listen(join(folder, 'p'));
    const watched = watch(url);
    const chains = ['one', 'two'].map((name) => new Writers(name, folder, bad_url));
    const steady = new Writers('steady', folder, url);
    const work = Promise.all([
      ...chains.map((chain) => chain.killed(SENDER_KILLS, random)),
      steady.start('10000').ended.then(([code]) => expect(code).toBe(0)),
    ]);
    for (let kills = 0; kills < COLLECTOR_KILLS; kills++) {
      await sleep(50 + (random(1)[0] as number) * 2);
      await serving.end('SIGKILL');
      serving = await startServe(state, '--heartbeat', '1');
    }
    proxy.calm = true;
    await work;
    const stored = await storedIn(state);
    for (const writers of [...chains, steady]) writers.compareWith(stored);
    const count = [...stored.values()].flat().length;
    await until(() => watched().length >= count, 'everything with the watcher');
    expect(Map.groupBy(watched(), (line) => JSON.parse(line).session_id)).toEqual(stored);
    expect(readdirSync(join(folder, 'outbox'))).toEqual([]);
    expect(await serving.end('SIGTERM')).toBe(0);
  },
  LONG_MS,
);

/** Watches as `tacho tail` does, with shorter timeouts; gives the lines so far. */
function watch(url: string): () => string[] {
  const lines: string[] = [];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const watching = tail({
    ...{ sessions: null, from: 0, types: null, follow: true, token: null, ca: null, version: '0' },
    address: parseAddress(url),
    signal: stop.signal,
    retry_ms: TIMES.retry_ms,
    note: () => undefined,
    async show({ seq }, text) {
      if (typeof seq === 'number') lines.push(text);
    },
  });
  watching.catch((error: Error) => lines.push(error.message));
  return () => lines;
}

const lineOf = (session_id: string, seq: number, command: string) =>
  JSON.stringify({
    ...request(session_id, seq),
    timestamp: '2026-03-03T10:00:00.000Z',
    data: { ...request(session_id, seq).data, args: { command } },
  });

/** `tacho emit` of these lines with its own state folder: to the collector, another machine. */
async function emitted(folder: string, name: string, url: string, lines: readonly string[]) {
  const file = join(folder, `${name}.jsonl`);
  writeFileSync(file, `${lines.join('\n')}\n`);
  const args = ['emit', '--to', url, '--no-end', '--state-dir', join(folder, name), file];
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  return { code, stderr, kept: readdirSync(join(folder, name, 'outbox')) };
}

verifies(
  ['LP-7', 'LP-15'],
  'with two senders of one session, equal messages are stored once; conflicting ones are refused and kept by their sender',
  async () => {
    const folder = testFolder();
    const state = join(folder, 'state');
    const { url, end } = await startServe(state);
    const both = upTo(300).map((seq) => lineOf('both', seq, 'same'));
    const two = ['x', 'y'].map((name) => emitted(folder, name, url, both));
    for (const { code, stderr } of await Promise.all(two))
      expect({ code, stderr }).toMatchObject({ code: 0 });

    const mine = upTo(100).map((seq) => lineOf('s', seq, 'mine'));
    const sendMine = async (from: number, to: number) => {
      const client = await connectSocket(socketOf(url));
      const { data } = await client.handshake({ resume: { session_id: 's', last_seq: from - 1 } });
      expect(data.resume_from_seq).toBe(from);
      client.send(...mine.slice(from - 1, to).map((line) => `${line}\n`));
      await client.wait(acks('s', to));
      client.destroy();
    };
    await sendMine(1, 50);
    const other = upTo(50).map((seq) => lineOf('s', seq, 'other'));
    const own = upTo(10).map((seq) => lineOf('own', seq, 'own'));
    const result = await emitted(folder, 'z', url, [...own, ...other]);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('DUPLICATE_CONFLICT');
    expect(result.kept).toContainEqual(expect.stringMatching(/\.refused$/));
    // The first sender continues, and the other messages of the second one have arrived.
    await sendMine(51, 100);
    expect(await end('SIGTERM')).toBe(0);
    // Refused messages are not judged either.
    const { rules } = await validateStored(state, 's');
    expect(rules.filter(({ id, verdict }) => id === '7.1' && verdict === 'passed')).toHaveLength(1);
    expect(await storedIn(state)).toEqual(
      new Map([
        ['both', both],
        ['s', mine],
        ['own', own],
      ]),
    );
  },
  LONG_MS,
);

verifies(
  ['LP-3', 'LP-7', 'LP-17'],
  'clocks that jump back, at either end and between two collectors, refuse nothing and change no order',
  async () => {
    const folder = testFolder();
    const state_dir = join(folder, 'state');
    let back_ms = 0;
    const clock = { ...systemClock, now: () => Date.now() - back_ms };
    let serving = await serve({ state_dir, version: '0', clock });
    onTestFinished(() => serving.stop());
    const url = serving.listening[0] as string;
    const notices: Notice[] = [];
    const onNotice = (notice: Notice) => void notices.push(notice);
    const own = join(folder, 'own');
    const live = connect({ url, stateDir: own, clock, onNotice }, TIMES);
    onTestFinished(() => void live.close());
    const session = live.session({ agent: 'mine', sessionId: 's' });
    const said_so_far: string[] = [];
    const talk = async (name: string) => {
      for (const seq of upTo(50)) {
        const call = session.request({ name, args: { seq } });
        session.respond(call, { result: { seq } });
        said_so_far.push(call);
      }
      expect(await live.flush(60_000)).toBe(true);
    };
    await talk('before');
    back_ms = 3_600_000;
    await talk('an hour earlier');
    await serving.stop();
    back_ms = 7 * 86_400_000;
    serving = await serve({ state_dir, version: '0', clock });
    await talk('a week earlier');
    session.end();
    expect(await live.flush(60_000)).toBe(true);
    expect(await live.close()).toEqual([]);
    // Clock skew may be reported: delays on a busy machine look like it.
    const refused = notices.filter((one) => one.kind === 'refused');
    expect(refused.filter(({ message }) => !message.includes(' clock '))).toEqual([]);
    const watcher = await subscribed(url);
    await watcher.wait(isType('session_end'));
    watcher.destroy();
    const lines = (await storedIn(state_dir)).get('s') ?? [];
    expect(numbersOf(lines)).toEqual(upTo(1 + 3 * 100 + 1));
    expect(numbered(watcher)).toEqual(lines);
    const messages = lines.map((line) => JSON.parse(line));
    const requests = messages.filter(isType('tool_call_request'));
    expect(requests.map(({ data }) => data.call_id)).toEqual(said_so_far);
    // Within a session a timestamp repeats rather than going back.
    expect(faultsOf(messages, 's')).toEqual([]);
  },
  LONG_MS,
);
