/**
 * A bad connection: bytes arrive late and in pieces, connections are cut, reset, half closed or fall silent.
 * Contract: bytes arrive in order and unchanged, up to the byte of the fault. The same seed gives every
 * connection the same fault at the same byte.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { seededRandom } from '../src/lib/ids.ts';
import { listenAt, stopServer } from './listen-at.ts';

/** The fault that ends a connection; `silent`: it stays open and nothing passes. */
export const FATES = ['close', 'reset', 'end', 'drop', 'silent'] as const;
export type Fate = (typeof FATES)[number];

export interface ChaosOptions {
  seed: string;
  /** The address it forwards to. */
  to: string;
  /** The possible faults; a repeated one is more likely. Empty: pieces and delays only. */
  fates: readonly Fate[];
  /** Maximum number of bytes before the fault. */
  bytes_max: number;
  /** Maximum delay of a piece. */
  delay_ms_max: number;
}

type Numbers = (below: number) => number;

export class ChaosProxy {
  readonly #options: ChaosOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The number of each fault so far. */
  readonly happened: Record<Fate, number> = { close: 0, reset: 0, end: 0, drop: 0, silent: 0 };
  connections = 0;
  /** From then on only pieces and delays. */
  calm = false;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));
    onTestFinished(() => this.stop());
  }

  /** On a path, or on a free port (0). Resolves with the address. */
  listen(at: string | number): Promise<string> {
    return listenAt(this.#server, at);
  }

  stop(): Promise<void> {
    return stopServer(this.#server, this.#sockets);
  }

  #serve(near: Socket): void {
    this.connections += 1;
    const random = numbers(`${this.#options.seed} ${this.connections}`);
    const far = connect({ path: this.#options.to, allowHalfOpen: true });
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
    }
    const { fates, bytes_max } = this.#options;
    const fate = this.calm ? null : (fates[random(Math.max(1, fates.length))] ?? null);
    // In either direction; usually a byte in the middle of a line.
    const left = fate === null ? Infinity : random(bytes_max) + 1;
    const line: Line = { near, far, fate, left, met: false };
    void this.#pump(line, near, { to: far, random });
    void this.#pump(line, far, {
      to: near,
      random: numbers(`${this.#options.seed} ${random(1e9)}`),
    });
  }

  async #pump(line: Line, from: Socket, { to, random }: Pumped): Promise<void> {
    const { delay_ms_max } = this.#options;
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false })) {
        for (let rest: Buffer = chunk; rest.length > 0; ) {
          const most = 1 + random(random(4) === 0 ? 20 : 20_000);
          if (random(8) === 0) await sleep(random(delay_ms_max + 1));
          if (line.met && line.fate !== 'end') return;
          const piece = rest.subarray(0, Math.min(most, line.left));
          rest = rest.subarray(piece.length);
          line.left -= piece.length;
          const last = line.left === 0;
          if (last) Object.assign(line, { met: true, left: Infinity });
          await written(to, piece);
          if (last) this.#happen(line, random);
        }
      }
      if (!isDeaf(line)) to.end();
    } catch {
      if (!isDeaf(line)) to.destroy();
    }
  }

  #happen(line: Line, random: Numbers): void {
    const { fate, near, far } = line;
    if (fate === null) return;
    this.happened[fate] += 1;
    if (fate === 'close') for (const socket of [near, far]) socket.destroy();
    else if (fate === 'reset') for (const socket of [near, far]) reset(socket);
    // One direction is closed, the other stays open.
    else if (fate === 'end') (random(2) === 0 ? near : far).end();
    // The sender sees it closed; the collector learns of it later.
    else if (fate === 'drop') {
      near.destroy();
      setTimeout(() => far.destroy(), DROPPED_MS).unref();
    }
  }
}

/** Neither end learns what happened to the other. */
const isDeaf = ({ met, fate }: Line) => met && (fate === 'silent' || fate === 'drop');

/** Unix sockets have no reset. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

const DROPPED_MS = 500;

interface Line {
  near: Socket;
  far: Socket;
  fate: Fate | null;
  /** Bytes left before the fault. */
  left: number;
  met: boolean;
}

interface Pumped {
  to: Socket;
  random: Numbers;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function written(to: Socket, bytes: Buffer): Promise<void> {
  if (to.writableEnded || bytes.length === 0) return;
  await new Promise<void>((resolve, reject) => {
    to.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

function numbers(seed: string): Numbers {
  const random = seededRandom(seed);
  return (below) => {
    const [a = 0, b = 0, c = 0, d = 0] = random(4);
    return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) % below;
  };
}
