/** Connects to a collector. Contract: resolves with an open byte stream, or rejects; never waits without a timeout. */
import { lookup } from 'node:dns';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { TachoError } from '../../lib/errors.ts';
import { LIVE_LIMITS } from '../limits.ts';
import { type Address, addressText, inClear, isLoopback } from '../protocol/address.ts';
import { readCertificates } from './certificates.ts';
import { dialPipe } from './pipe.ts';
import type { Lock } from './private-place.ts';
import { whyNot } from './why-not.ts';

export interface DialOptions {
  /** A file of CA certificates to trust instead of the system's. */
  ca?: string | null | undefined;
  /** Aborts the attempt. */
  signal?: AbortSignal | undefined;
  /** Excludes other senders on the same pipe: their lines would mix. */
  lock?: Lock | undefined;
}

function failed(address: Address, cause: Error): TachoError {
  const text = `${addressText(address)}: ${whyNot(address, cause)}`;
  return new TachoError('busy', text, { stage: 'live', retryable: true });
}

export function dial(address: Address, options: DialOptions = {}): Promise<Duplex> {
  switch (address.kind) {
    case 'unix':
      return connected(address, () => connect({ path: address.path }), options);
    case 'tcp':
      return connected(address, () => overTcp(address, options), options);
    case 'pipe':
      return process.platform === 'win32'
        ? connected(address, () => connect({ path: address.path }), options)
        : overPipe(address, options);
    case 'stdio':
      return Promise.resolve(Duplex.from({ readable: process.stdin, writable: process.stdout }));
  }
}

/** A name may resolve to any address: other machines are refused before they are dialled. */
const onlyLoopback: LookupFunction = (host, options, done) =>
  lookup(host, { ...options, all: true }, (error, found) => {
    const [first] = found ?? [];
    const outside = found?.find(({ address }) => !isLoopback(address));
    if (error !== null) done(error, '');
    else if (outside !== undefined) done(inClear(`${host} (${outside.address})`, host), '');
    else if (options.all) done(null, found);
    else done(null, first?.address ?? '', first?.family);
  });

function overTcp(address: Address & { kind: 'tcp' }, { ca }: DialOptions): Socket {
  const { host, port, tls, insecure } = address;
  if (!tls && insecure) return connect({ host, port, noDelay: true });
  if (!tls && !isLoopback(host)) throw inClear(host, addressText(address).replace('tcp://', ''));
  if (!tls) return connect({ host, port, noDelay: true, lookup: onlyLoopback });
  const socket = connectTls({
    host,
    port,
    ...(ca ? { ca: readCertificates(ca) } : {}),
    // Only for names: TLS refuses an IP address here.
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
  });
  return socket.setNoDelay(true);
}

async function connected(
  address: Address,
  open: () => Socket,
  { signal }: DialOptions,
): Promise<Duplex> {
  const socket = open();
  const ready = address.kind === 'tcp' && address.tls ? 'secureConnect' : 'connect';
  return new Promise((resolve, reject) => {
    const late = new Error(`no answer in ${LIVE_LIMITS.dial_ms / 1000} s`);
    const timer = setTimeout(() => socket.destroy(late), LIVE_LIMITS.dial_ms);
    const giveUp = () => socket.destroy(new Error('aborted'));
    signal?.addEventListener('abort', giveUp, { once: true });
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    };
    const fail = (error: Error) => {
      settle();
      socket.destroy();
      reject(failed(address, error));
    };
    socket.once('error', fail);
    socket.once(ready, () => {
      settle();
      socket.off('error', fail);
      resolve(socket);
    });
  });
}

async function overPipe(address: Address & { kind: 'pipe' }, { lock }: DialOptions) {
  try {
    return dialPipe(address.path, lock);
  } catch (cause) {
    throw failed(address, cause as Error);
  }
}
