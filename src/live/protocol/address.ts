/**
 * Addresses of collectors: `unix:PATH`, `tcp://HOST:PORT`, `tls://HOST:PORT`, `pipe:PATH`, `stdio:`.
 * `tcp+insecure://HOST:PORT` is another machine without TLS, as allowed by `--insecure`: the address itself records the
 * choice, so that a delivery after a crash keeps it.
 */
import { BlockList, isIP } from 'node:net';
import { TachoError } from '../../lib/errors.ts';

export type Address =
  | { kind: 'unix'; path: string }
  | { kind: 'tcp'; host: string; port: number; tls: boolean; insecure?: boolean }
  | { kind: 'pipe'; path: string }
  | { kind: 'stdio' };

/** Linux allows 107 bytes, macOS 103; Node silently truncates a longer path. */
const SOCKET_PATH_BYTES_MAX = 100;

const FORMS = 'unix:PATH, tcp://HOST:PORT, tls://HOST:PORT, pipe:PATH or stdio:';

const usage = (text: string) => new TachoError('usage', text, { stage: 'live' });

/** Parses an address to send to. Refuses another machine without TLS, which would expose token and messages. */
export function parseAddress(text: string): Address {
  if (text === 'stdio:') return { kind: 'stdio' };
  const local = /^(unix|pipe):(?:\/\/)?(.+)$/s.exec(text);
  if (local !== null) {
    const [, kind, path = ''] = local;
    return kind === 'unix' ? { kind, path: socketPath(path) } : { kind: 'pipe', path };
  }
  const remote = /^(tcp|tls|tcp\+insecure):\/\/(.+)$/.exec(text);
  if (remote === null) throw usage(`${text}: not a collector address: use ${FORMS}`);
  const [, scheme, rest = ''] = remote;
  const place = parseHostPort(rest);
  if (scheme === 'tls') return { kind: 'tcp', ...place, tls: true };
  if (isLoopback(place.host)) return { kind: 'tcp', ...place, tls: false };
  if (scheme === 'tcp+insecure') return { kind: 'tcp', ...place, tls: false, insecure: true };
  throw inClear(place.host, rest);
}

/** The URL with the choice of `--insecure` recorded. */
export function sendingUrl(url: string, insecure: boolean): string {
  return insecure ? url.replace(/^tcp:/, 'tcp+insecure:') : url;
}

export function inClear(host: string, place: string): TachoError {
  return usage(
    `tcp://${place}: ${host} is not this machine, and tcp:// would send the token and all messages unencrypted: use tls://${place}, or allow it with --insecure (library: insecure: true)`,
  );
}

/** `127.0.0.1:7070`, `[::1]:7070`, `:7070` (loopback). */
export function parseHostPort(text: string): { host: string; port: number } {
  const found = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})\/?$/.exec(text);
  const port = Number(found?.[3]);
  if (found === null || port > 65_535) throw usage(`${text}: use HOST:PORT, as in 127.0.0.1:7070`);
  return { host: found[1] ?? (found[2] || '127.0.0.1'), port };
}

export function socketPath(path: string): string {
  const bytes = Buffer.byteLength(path);
  if (bytes > SOCKET_PATH_BYTES_MAX)
    throw usage(
      `${path}: this socket path has ${bytes} bytes, and at most ${SOCKET_PATH_BYTES_MAX} are possible: use a shorter --state-dir, or serve --socket PATH and the address unix:PATH`,
    );
  return path;
}

export function addressText(address: Address): string {
  switch (address.kind) {
    case 'stdio':
      return 'stdio:';
    case 'tcp': {
      const host = address.host.includes(':') ? `[${address.host}]` : address.host;
      const scheme = address.tls ? 'tls' : address.insecure ? 'tcp+insecure' : 'tcp';
      return `${scheme}://${host}:${address.port}`;
    }
    default:
      return `${address.kind}:${address.path}`;
  }
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether only this machine can reach the host. The only name is `localhost`; its address is checked in `dial`. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return loopback.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
