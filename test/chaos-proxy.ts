/**
 * A bad line between two ends: bytes come late and in pieces, connections are cut, reset, half closed or fall silent.
 * Contract: what passes is in order and unchanged, up to the byte at which something happens. The same seed gives every
 * connection the same fate, at the same byte.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { seededRandom } from '../src/lib/ids.ts';
import { listenAt, stopServer } from './listen-at.ts';

/** What ends a connection; `silent`: it stays, and nothing passes any more. */
export const FATES = ['close', 'reset', 'end', 'drop', 'silent'] as const;
export type Fate = (typeof FATES)[number];

export interface ChaosOptions {
  seed: string;
  /** Where it leads. */
  to: string;
  /** What may happen, each as likely as it is often in the list; none: pieces and delays only. */
  fates: readonly Fate[];
  /** Bytes that pass before it does, at most. */
  bytes_max: number;
  /** A piece waits for so long, at most. */
  delay_ms_max: number;
}

type Numbers = (below: number) => number;

export class ChaosProxy {
  readonly #options: ChaosOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** How often what happened. */
  readonly happened: Record<Fate, number> = { close: 0, reset: 0, end: 0, drop: 0, silent: 0 };
  connections = 0;
  /** From now on only pieces and delays. */
  calm = false;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));
    onTestFinished(() => this.stop());
  }

  /** On a path, or a port of its own (0). Resolves with the address. */
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
    // Of either direction; a byte in the middle of a line, most times.
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
    // One way is closed, the other goes on.
    else if (fate === 'end') (random(2) === 0 ? near : far).end();
    // The sender is rid of it; the collector learns of it late.
    else if (fate === 'drop') {
      near.destroy();
      setTimeout(() => far.destroy(), DROPPED_MS).unref();
    }
  }
}

/** Neither end is told what became of the other. */
const isDeaf = ({ met, fate }: Line) => met && (fate === 'silent' || fate === 'drop');

/** There is no such thing on a unix socket. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

const DROPPED_MS = 500;

interface Line {
  near: Socket;
  far: Socket;
  fate: Fate | null;
  /** Bytes until it is met. */
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
