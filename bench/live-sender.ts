/**
 * A sender in a separate process that is not the bottleneck: all lines are made before the clock starts, and only the
 * acknowledged number of the answers is read. Argument: a `Burst` as JSON. Prints a `Measured` as JSON.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { type Burst, HELLO, lineOf, type Measured } from './live-peers.ts';

const burst = JSON.parse(process.argv[2] as string) as Burst;
const each = Math.floor(burst.events / burst.connections);

/** User and system time of a process in seconds. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  // In ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const STAMP = '"timestamp":"';

/** One connection with its own session: the window is refilled whenever an acknowledgement arrives. */
class Sender {
  readonly #bytes: Buffer;
  /** The offsets of each line and of its time. */
  readonly #starts = new Uint32Array(each + 1);
  readonly #stamps = new Uint32Array(each);
  readonly #socket: Socket;
  readonly done = Promise.withResolvers<void>();
  #sent = 0;
  #acked = 0;
  #rest = '';

  constructor(session: string) {
    const at_ms = Date.now() - burst.age_ms;
    const lines = Array.from({ length: each }, (_, i) => lineOf(session, i + 1, at_ms));
    this.#bytes = Buffer.from(lines.join(''), 'latin1');
    let at = 0;
    for (const [i, line] of lines.entries()) {
      this.#stamps[i] = at + line.indexOf(STAMP) + STAMP.length;
      at += line.length;
      this.#starts[i + 1] = at;
    }
    this.#socket = connect(burst.socket);
    this.#socket.setNoDelay(true);
    this.#socket.on('error', this.done.reject);
    this.#socket.on('close', () =>
      this.done.reject(new Error('the collector closed the connection')),
    );
  }

  /** Connects, and waits for the answer to the handshake if the peer uses our protocol. */
  async greet(): Promise<void> {
    await once(this.#socket, 'connect');
    if (burst.speaks) {
      this.#socket.write(HELLO());
      await once(this.#socket, 'data');
    }
    this.#socket.on('data', (chunk) => this.#take(chunk.toString('latin1')));
  }

  send(): void {
    const to = Math.min(each, this.#acked + burst.window);
    const from = this.#sent;
    if (to === from) return;
    this.#sent = to;
    if (burst.age_ms === 0) this.#stamp(from, to);
    this.#socket.write(this.#bytes.subarray(this.#starts[from], this.#starts[to]));
  }

  #stamp(from: number, to: number): void {
    const now = Buffer.from(new Date().toISOString(), 'latin1');
    for (let i = from; i < to; i++) now.copy(this.#bytes, this.#stamps[i] as number);
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() as string;
    for (const line of lines) {
      if (line.startsWith('{"type":"error"')) this.done.reject(new Error(line));
      const found = /^\{"type":"ack".*"seq":(\d+)\}\]/.exec(line);
      if (found !== null) this.#acked = Math.max(this.#acked, Number(found[1]));
    }
    if (this.#acked === each) this.done.resolve();
    else this.send();
  }

  close(): void {
    this.#socket.removeAllListeners('close').destroy();
  }
}

const senders = Array.from(
  { length: burst.connections },
  (_, i) => new Sender(`${burst.session}-${i}`),
);
await Promise.all(senders.map((sender) => sender.greet()));
const [cpu, start] = [cpuOf(burst.pid), performance.now()];
for (const sender of senders) sender.send();
await Promise.all(senders.map(({ done }) => done.promise));
const seconds = (performance.now() - start) / 1000;
const events = each * burst.connections;
const micros = ((cpuOf(burst.pid) - cpu) / events) * 1e6;
for (const sender of senders) sender.close();
console.log(JSON.stringify({ rate: events / seconds, micros } satisfies Measured));
