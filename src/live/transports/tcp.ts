/** TCP, with TLS when its files are given. The caller decides which addresses may be used without TLS. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { errnoOf, TachoError } from '../../lib/errors.ts';
import { own } from '../../lib/own.ts';
import { LIVE_LIMITS } from '../limits.ts';
import {
  type Accept,
  type Listener,
  listenerOf,
  listening,
  SERVER_OPTIONS,
  wireOf,
} from './listener.ts';
import { unusable } from './private-place.ts';

export interface TcpOptions {
  host: string;
  port: number;
  /** PEM texts. */
  tls: { cert: string; key: string } | null;
  sockets_max: number;
  /** Sockets with an unfinished TLS handshake. */
  unfinished_max: number;
}

export async function listenTcp(options: TcpOptions, accept: Accept): Promise<Listener> {
  const { host, port } = options;
  const server = serverOf(options, (socket) =>
    accept(wireOf(socket, `tcp ${socket.remoteAddress}:${socket.remotePort}`, false)),
  );
  try {
    await listening(server, options.sockets_max, { host, port });
  } catch (cause) {
    throw unusable(`--tcp ${host}:${port}: ${whyNotListening(cause)}`, cause);
  }
  const { port: taken } = server.address() as AddressInfo;
  return listenerOf(server, { kind: 'tcp', host, port: taken, tls: options.tls !== null });
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another program listens there: stop it, or choose another port (0 chooses a free one)',
  EADDRNOTAVAIL: 'this machine does not have that address: choose one of its own',
  EACCES: 'permission denied: choose a port above 1023',
  ENOTFOUND: 'the host is unknown: choose an address of this machine',
};

const whyNotListening = (cause: unknown) =>
  own(REASONS, errnoOf(cause)) ?? `cannot listen: ${(cause as Error).message}`;

/** Limits sockets with an unfinished TLS handshake, which the collector does not count: the oldest one is closed. */
function dropUnfinished(server: Server, unfinished_max: number): void {
  const unfinished = new Map<string, Socket>();
  const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    unfinished.set(peer, socket);
    socket.on('close', () => {
      if (unfinished.get(peer) === socket) unfinished.delete(peer);
    });
    if (unfinished.size <= unfinished_max) return;
    const [oldest] = unfinished.values();
    oldest?.destroy();
  });
  server.on('secureConnection', (socket: Socket) => unfinished.delete(peerOf(socket)));
}

function serverOf({ tls, unfinished_max }: TcpOptions, take: (socket: Socket) => void): Server {
  if (tls === null) return createServer(SERVER_OPTIONS, take);
  const handshakeTimeout = LIVE_LIMITS.hello_ms;
  try {
    const server = createTlsServer(
      { ...SERVER_OPTIONS, ...tls, minVersion: 'TLSv1.2', handshakeTimeout },
      take,
    );
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    dropUnfinished(server, unfinished_max);
    return server;
  } catch (cause) {
    const text = `--tls-cert and --tls-key must be a certificate and its private key as PEM files: ${(cause as Error).message}`;
    throw new TachoError('config_invalid', text, { stage: 'live', cause });
  }
}
