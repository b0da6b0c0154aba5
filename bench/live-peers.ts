/** The peers of the live benchmarks: our collector or a bare one that reads, syncs and answers, and a sender. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

/** Only the necessary reads and writes: reads lines, writes and syncs them together, and answers. */
const BARE = `
import { createServer } from 'node:net';
import { openSync, writeSync, fdatasync } from 'node:fs';
const fd = openSync(process.argv[2], 'a');
createServer((socket) => {
  let parts = [], busy = false, count = 0, rest = 0;
  const work = () => {
    if (busy || parts.length === 0) return;
    busy = true;
    const bytes = Buffer.concat(parts); parts = [];
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count += 1;
    writeSync(fd, bytes);
    fdatasync(fd, () => {
      busy = false;
      socket.write(JSON.stringify({ type: 'ack', data: { acked: [{ session_id: 's', seq: count }] } }) + '\\n');
      work();
    });
  };
  socket.on('data', (chunk) => { parts.push(chunk); work(); });
  socket.on('error', () => {});
}).listen(process.argv[1], () => console.log('{"listening":[]}'));
`;

export interface Peer {
  socket: string;
  pid: number;
  stop(): Promise<void>;
}

async function started(child: ChildProcess, socket: string): Promise<Peer> {
  await new Promise<void>((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (data: Buffer) => {
      text += data.toString();
      if (text.includes('\n')) resolve();
    });
    child.on('exit', (code) => reject(new Error(`the collector exited with ${code}`)));
  });
  child.removeAllListeners('exit');
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  return {
    socket,
    pid: child.pid as number,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

const STDIO: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];

export function startOurs(folder: string): Promise<Peer> {
  const socket = join(folder, 'ours', 'c.sock');
  const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
  const args = [tacho, 'serve', '--no-watch', '--socket', socket, '--json'];
  const state = ['--state-dir', join(folder, 'state')];
  return started(spawn(process.execPath, [...args, ...state], { stdio: STDIO }), socket);
}

export function startBare(folder: string): Promise<Peer> {
  const socket = join(folder, 'bare.sock');
  const args = ['--input-type=module', '-e', BARE, socket, join(folder, 'bare.jsonl')];
  return started(spawn(process.execPath, args, { stdio: STDIO }), socket);
}

/** Resident memory in MB. */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

const stamp = () => new Date().toISOString();

/** Requests and responses of calls in turn, about 600 bytes each. */
export function lineOf(session_id: string, seq: number, at_ms: number): string {
  const call_id = `call-${(seq + 1) >> 1}`;
  const asks = seq % 2 === 1;
  const data = asks
    ? {
        call_id,
        name: 'Bash',
        native_name: 'shell',
        args: { command: 'npm test', description: 'x'.repeat(200) },
        is_client_initiated: false,
      }
    : { call_id, result: { output: 'y'.repeat(250), exit_code: 0 }, execution_time_ms: 12 };
  return `${JSON.stringify({
    type: asks ? 'tool_call_request' : 'tool_call_response',
    timestamp: new Date(at_ms).toISOString(),
    session_id,
    correlation_id: `${session_id}/${call_id}`,
    message_id: `${session_id}-${seq}`,
    seq,
    ack_required: true,
    trace: null,
    data,
  })}\n`;
}

export const HELLO = (role = 'agent') =>
  `${JSON.stringify({
    type: 'handshake_request',
    timestamp: stamp(),
    message_id: 'hello',
    data: {
      version: '1.0',
      role,
      client_info: { name: 'bench', version: '1', capabilities: [] },
      resume: null,
      token: null,
    },
  })}\n`;

export interface Sent {
  /** Time from sending to acknowledgement of each message, sorted. */
  latencies_ms: number[];
  seconds: number;
}

export interface Load {
  session: string;
  events: number;
  /** Events per second; null for as fast as acknowledgements arrive. */
  rate: number | null;
  in_flight: number;
  /** Whether the peer uses our protocol; the bare one has no handshake. */
  speaks: boolean;
}

/** The load of the sender process: as fast as acknowledgements arrive. */
export interface Burst {
  socket: string;
  /** Process id of the collector. */
  pid: number;
  session: string;
  events: number;
  connections: number;
  /** Messages in flight per connection. */
  window: number;
  /** Age of the messages when they are sent; 0 for fresh ones. */
  age_ms: number;
  /** Whether the peer uses our protocol; the bare one has no handshake. */
  speaks: boolean;
}

export interface Measured {
  /** Acknowledged events per second. */
  rate: number;
  /** User and system CPU of the collector per event, in µs. */
  micros: number;
}

export async function sendBurst(burst: Burst): Promise<Measured> {
  const sender = join(import.meta.dirname, 'live-sender.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [sender, JSON.stringify(burst)]);
  return JSON.parse(stdout) as Measured;
}

/** Sends numbered messages and waits until the last one is acknowledged. */
export async function sendTo(peer: Peer, load: Load): Promise<Sent> {
  const socket = connect(peer.socket);
  socket.setNoDelay(true);
  await new Promise((resolve, reject) => socket.on('connect', resolve).on('error', reject));
  const sent_ms = new Float64Array(load.events + 1);
  const latencies_ms: number[] = [];
  let next = 1;
  let acked = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const start = performance.now();

  function pump(): void {
    const now = performance.now();
    const due = load.rate === null ? load.events : Math.floor(((now - start) * load.rate) / 1000);
    const most = Math.min(load.events, due, acked + load.in_flight);
    let text = '';
    for (; next <= most; next++) {
      text += lineOf(load.session, next, Date.now());
      sent_ms[next] = now;
    }
    if (text !== '') socket.write(text);
  }

  readLines(socket, (message) => {
    if (message.type === 'error') reject(new Error(JSON.stringify(message.data)));
    if (message.type !== 'ack') return;
    const now = performance.now();
    for (const { seq } of message.data.acked as { seq: number }[]) {
      for (let one = acked + 1; one <= seq; one++)
        latencies_ms.push(now - (sent_ms[one] as number));
      acked = Math.max(acked, seq);
    }
    if (acked >= load.events) resolve();
    else if (load.rate === null) pump();
  });
  if (load.speaks) socket.write(HELLO());
  const timer = load.rate === null ? null : setInterval(pump, 1);
  if (load.rate === null) pump();
  try {
    await promise;
    const seconds = (performance.now() - start) / 1000;
    return { latencies_ms: latencies_ms.sort((a, b) => a - b), seconds };
  } finally {
    if (timer !== null) clearInterval(timer);
    socket.destroy();
  }
}

// biome-ignore lint/suspicious/noExplicitAny: messages are read loosely here
type Loose = any;

export function readLines(socket: Readable, take: (message: Loose) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const pieces = (rest + text).split('\n');
    rest = pieces.pop() ?? '';
    for (const piece of pieces) take(JSON.parse(piece));
  });
}

export const share = (sorted: readonly number[], part: number) =>
  sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
