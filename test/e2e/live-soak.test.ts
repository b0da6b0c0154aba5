/** One hour of events at 100 per second, sent as fast as credits allow: nothing is lost and memory stays flat (5.1, 5.2). */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { sendTo, startBare } from '../../bench/live-peers.ts';
import { readAll } from '../../src/store/journal/read.ts';
import { testFolder } from '../fixtures/folder.ts';
import { connectSocket, control, hello, type Message, message } from '../live-client.ts';
import { residentMb, startServe } from '../serve-process.ts';
import { verifies } from './verifies.ts';

const EVENTS = 360_000;
const IDLE = 1_000;
const MORE_MB = 50;
const GROWTH_MB = 20;

/** The memory of a process that only reads, writes, syncs and answers, for as many peers at the same rate. */
async function bareMb(folder: string): Promise<number> {
  const bare = await startBare(folder);
  onTestFinished(() => bare.stop());
  for (let many = 0; many < IDLE; many += 50)
    await Promise.all(Array.from({ length: 50 }, () => opened(bare.socket)));
  const samples: number[] = [];
  const look = setInterval(() => samples.push(residentMb(bare.pid)), 50);
  const load = { session: 'bare', events: EVENTS / 4, rate: null, in_flight: 1_000 };
  await sendTo(bare, { ...load, speaks: false });
  clearInterval(look);
  return mean(samples.slice(-samples.length / 2));
}

async function opened(path: string): Promise<Socket> {
  for (;;) {
    const socket = connect(path);
    // Later errors show as the end of the connection.
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      // The accept queue is full.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await setTimeout(10);
    }
  }
}

/** A thousand peers that are idle after the handshake. */
async function idlers(path: string): Promise<void> {
  for (let many = 0; many < IDLE; many += 50) {
    const sockets = await Promise.all(Array.from({ length: 50 }, () => opened(path)));
    const answers = sockets.map((socket) => new Promise((done) => socket.once('data', done)));
    for (const socket of sockets) socket.write(`${JSON.stringify(hello({ role: 'client' }))}\n`);
    await Promise.all(answers);
  }
}

/** A subscriber that reads its first answers and then stops. */
async function deaf(path: string): Promise<void> {
  const client = await connectSocket({ path });
  onTestFinished(() => client.destroy());
  await client.handshake({ role: 'client' });
  client.send(control('subscribe_events', { filter: { from_seq: 0 } }));
  client.pause();
}

/** Alternately a call's request and response, of some 600 bytes. */
function lineOf(seq: number): string {
  const call_id = `c${(seq + 1) >> 1}`;
  const data =
    seq % 2 === 1
      ? { call_id, name: 'Bash', args: { command: PAD }, is_client_initiated: false }
      : { call_id, result: { output: PAD }, error: null };
  const type = seq % 2 === 1 ? 'tool_call_request' : 'tool_call_response';
  return JSON.stringify({ ...message(type, 'soak', seq, data), timestamp: TIME });
}

const TIME = '2026-03-03T10:00:00.000Z';
const PAD = 'x'.repeat(300);

/** Sends all of them within the credits; resolves when the last one is acknowledged. */
async function flood(path: string, each: (acked: number) => void): Promise<void> {
  const socket = await opened(path);
  let [credits, next, acked, rest] = [0, 1, 0, ''];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const take = ({ type, data }: Message) => {
    if (type === 'handshake_response') credits = data.credits;
    else if (type === 'flow_control') credits = data.available_credits;
    else if (type === 'ack') acked = data.acked[0].seq;
    else if (type === 'error') reject(new Error(JSON.stringify(data)));
  };
  const pump = () => {
    let text = '';
    for (; credits > 0 && next <= EVENTS; credits--, next++) text += `${lineOf(next)}\n`;
    if (text !== '') socket.write(text);
  };
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(JSON.parse(line));
    each(acked);
    if (acked >= EVENTS) resolve();
    else pump();
  });
  socket.on('close', () => reject(new Error(`the connection was lost after ${acked}`)));
  socket.write(`${JSON.stringify(hello())}\n`);
  await promise;
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one, 0) / values.length;

verifies(
  ['LP-7', 'LP-10', 'LP-16'],
  'an hour of events as fast as credits allow, next to a thousand idle peers and one that never reads, loses nothing and keeps memory flat',
  async () => {
    const folder = testFolder();
    const state = join(folder, 'state');
    const bare = await bareMb(folder);
    const { url, pid, end } = await startServe(state);
    const path = url.replace('unix:', '');
    await idlers(path);
    await deaf(path);
    const samples: number[] = [];
    await flood(path, (acked) => {
      while (samples.length < acked / 1_000) samples.push(residentMb(pid));
    });
    const quarter = samples.length / 4;
    const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(3 * quarter)];
    expect(mean(late) - mean(early)).toBeLessThan(GROWTH_MB);
    expect(mean(late) - bare).toBeLessThan(MORE_MB);
    expect(await end('SIGTERM')).toBe(0);
    let last = 0;
    const wrong: number[] = [];
    for await (const { seq, body } of readAll(join(state, 'live/journal'))) {
      if (seq !== last + 1 || body !== lineOf(seq)) wrong.push(seq);
      last = seq;
    }
    expect({ last, wrong }).toEqual({ last: EVENTS, wrong: [] });
  },
  300_000,
);
