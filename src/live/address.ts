/** Where a collector is: `unix:PATH`, `tcp://HOST:PORT`, `tls://HOST:PORT`, `pipe:PATH`, `stdio:`. */
import { TachoError } from '../lib/errors.ts';

export type Address =
  | { kind: 'unix'; path: string }
  | { kind: 'tcp'; host: string; port: number; tls: boolean }
  | { kind: 'pipe'; path: string }
  | { kind: 'stdio' };

/** Linux has room for 107 bytes, macOS for 103; Node cuts a longer path without a word. */
const SOCKET_PATH_BYTES_MAX = 100;

const FORMS = 'unix:PATH, tcp://HOST:PORT, tls://HOST:PORT, pipe:PATH or stdio:';

const usage = (text: string) => new TachoError('usage', text, { stage: 'live' });

export function parseAddress(text: string): Address {
  if (text === 'stdio:') return { kind: 'stdio' };
  const local = /^(unix|pipe):(?:\/\/)?(.+)$/s.exec(text);
  if (local !== null) {
    const [, kind, path = ''] = local;
    return kind === 'unix' ? { kind, path: socketPath(path) } : { kind: 'pipe', path };
  }
  const remote = /^(tcp|tls):\/\/(.+)$/.exec(text);
  if (remote === null) throw usage(`${text}: no address of a collector: give ${FORMS}`);
  const [, scheme, rest = ''] = remote;
  return { kind: 'tcp', ...parseHostPort(rest), tls: scheme === 'tls' };
}

/** `127.0.0.1:7070`, `[::1]:7070`, `:7070` (loopback). */
export function parseHostPort(text: string): { host: string; port: number } {
  const found = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})\/?$/.exec(text);
  const port = Number(found?.[3]);
  if (found === null || port > 65_535) throw usage(`${text}: give HOST:PORT`);
  return { host: found[1] ?? (found[2] || '127.0.0.1'), port };
}

export function socketPath(path: string): string {
  const bytes = Buffer.byteLength(path);
  if (bytes > SOCKET_PATH_BYTES_MAX)
    throw usage(
      `${path}: a socket's path may have ${SOCKET_PATH_BYTES_MAX} bytes, this has ${bytes}: give a shorter one with --socket`,
    );
  return path;
}

export function addressText(address: Address): string {
  switch (address.kind) {
    case 'stdio':
      return 'stdio:';
    case 'tcp': {
      const host = address.host.includes(':') ? `[${address.host}]` : address.host;
      return `${address.tls ? 'tls' : 'tcp'}://${host}:${address.port}`;
    }
    default:
      return `${address.kind}:${address.path}`;
  }
}

/** Addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
