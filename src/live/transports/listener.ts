/** The common part of all server transports: they carry bytes and do not know messages. */
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Address } from '../protocol/address.ts';

/** A byte stream in both directions on any transport. */
export interface Wire {
  stream: Duplex;
  /** For display: `unix`, `tcp 127.0.0.1:5000`. */
  peer: string;
  /** Only this user can reach it: no token is required. */
  private: boolean;
  /** How long bytes may have waited before it was opened, as at a slow start; 0 when they cannot wait. */
  waited_ms: number;
}

export type Accept = (wire: Wire) => void;

export interface Listener {
  /** With the actual port. */
  address: Address;
  /** Accepts no new connections; existing ones stay open. */
  close(): Promise<void>;
  /** Resolves when no further input is possible, as at the end of stdin. */
  ended: Promise<void>;
}

export const NEVER: Promise<void> = new Promise(() => {});

/** Peers may end their side and still read answers. */
export const SERVER_OPTIONS = { allowHalfOpen: true, noDelay: true, keepAlive: true } as const;

/** Enough for all peers to reconnect together after a restart; the system may allow fewer. */
const BACKLOG = 2_048;

/** `sockets_max`: more than the collector accepts, so that it can still send the reason of a refusal. */
export function listening(server: Server, sockets_max: number, where: object): Promise<void> {
  server.maxConnections = sockets_max;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ backlog: BACKLOG, ...where }, () => {
      server.off('error', reject);
      // When a connection cannot be accepted, for example without free descriptors, the peer retries.
      server.on('error', () => {});
      resolve();
    });
  });
}

export function listenerOf(server: Server, address: Address): Listener {
  return {
    address,
    // `Server.close` waits for all connections, but accepts no new ones from the call on.
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
