/** What the server sides of the transports have in common: they carry bytes and know no message. */
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Address } from '../protocol/address.ts';

/** Bytes in both directions, whatever carries them. */
export interface Wire {
  stream: Duplex;
  /** For people: `unix`, `tcp 127.0.0.1:5000`. */
  peer: string;
  /** Only this user can reach it: no token is asked for. */
  private: boolean;
  /** How long bytes may have waited before it was opened, as at a slow start; 0 where they cannot. */
  waited_ms: number;
}

export type Accept = (wire: Wire) => void;

export interface Listener {
  /** With the port that was really taken. */
  address: Address;
  /** Takes nothing new; those that are connected stay. */
  close(): Promise<void>;
  /** Resolves when nothing more can come, where that can be: the end of stdin. */
  ended: Promise<void>;
}

export const NEVER: Promise<void> = new Promise(() => {});

/** Peers may end their side and still read what they are answered. */
export const SERVER_OPTIONS = { allowHalfOpen: true, noDelay: true, keepAlive: true } as const;

/** Peers that all come back at once after a restart; the system may allow fewer. */
const BACKLOG = 2_048;

/** `sockets_max`: more than the collector takes, so that it can still say why; beyond it the system hangs up. */
export function listening(server: Server, sockets_max: number, where: object): Promise<void> {
  server.maxConnections = sockets_max;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ backlog: BACKLOG, ...where }, () => {
      server.off('error', reject);
      // A connection that could not be taken, as for want of descriptors, is its peer's to try again.
      server.on('error', () => {});
      resolve();
    });
  });
}

export function listenerOf(server: Server, address: Address): Listener {
  return {
    address,
    // `Server.close` waits for all connections; nothing new is taken from the call on.
    async close() {
      server.close();
    },
    ended: NEVER,
  };
}

/** Errors before the collector listens must not end the process. */
export function wireOf(stream: Socket, peer: string, is_private: boolean): Wire {
  stream.on('error', () => {});
  return { stream, peer, private: is_private, waited_ms: 0 };
}
