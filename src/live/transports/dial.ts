/** The way to a collector. Contract: resolves with a wire that carries bytes, or rejects; it waits for nobody for ever. */
import { lookup } from 'node:dns';
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { connect, type LookupFunction, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { fileError, TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { own } from '../../lib/own.ts';
import { type Address, addressText, inClear, isLoopback } from '../protocol/address.ts';

export interface DialOptions {
  /** A file with the certificates that vouch for the collector's, beside the system's. */
  ca?: string | null | undefined;
  wait_ms?: number | undefined;
  /** Gives the attempt up. */
  signal?: AbortSignal | undefined;
  /** Two of ours would mix on a pipe: gives what releases it, null while another has it. */
  lock?: ((path: string) => (() => void) | null) | undefined;
}

const failed = (address: Address, why: string) =>
  new TachoError('busy', `${addressText(address)}: ${why}`, { stage: 'live', retryable: true });

export function dial(address: Address, options: DialOptions = {}): Promise<Duplex> {
  switch (address.kind) {
    case 'unix':
      return connected(address, () => connect({ path: address.path }), options);
    case 'tcp':
      return connected(address, () => overTcp(address, options), options);
    case 'pipe':
      return process.platform === 'win32'
        ? connected(address, () => connect({ path: address.path }), options)
        : Promise.resolve().then(() => overPipe(address, options));
    case 'stdio':
      return Promise.resolve(Duplex.from({ readable: process.stdin, writable: process.stdout }));
  }
}

/** A name may resolve to anything: whatever is not this machine is refused before it is dialled. */
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
    ...(ca ? { ca: certificates(ca) } : {}),
    // A name only: an address in its place is refused by TLS.
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
  });
  return socket.setNoDelay(true);
}

function certificates(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw fileError(cause, path, 'live');
  }
}

async function connected(
  address: Address,
  open: () => Socket,
  { wait_ms = LIMITS.live_dial_ms, signal }: DialOptions,
): Promise<Duplex> {
  const socket = open();
  const ready = address.kind === 'tcp' && address.tls ? 'secureConnect' : 'connect';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new Error(`no answer in ${wait_ms / 1000} s`)),
      wait_ms,
    );
    const giveUp = () => socket.destroy(new Error('given up'));
    signal?.addEventListener('abort', giveUp, { once: true });
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
    };
    const fail = (error: Error) => {
      settle();
      socket.destroy();
      reject(failed(address, reasonOf(error)));
    };
    socket.once('error', fail);
    socket.once(ready, () => {
      settle();
      socket.off('error', fail);
      resolve(socket);
    });
  });
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'nobody listens there: is tacho serve running?',
  ENOENT: 'nobody listens there: is tacho serve running?',
  ENXIO: 'nobody reads there: is tacho serve running?',
};

function reasonOf(error: Error): string {
  return own(REASONS, (error as NodeJS.ErrnoException).code ?? '') ?? error.message;
}

/**
 * The client's side of a pair of FIFOs: writes PATH.in, reads PATH.out. Opened without blocking, and read and written by
 * polling: a FIFO that nobody serves would hold a thread of the pool for ever.
 */
function overPipe(address: Address & { kind: 'pipe' }, { lock }: DialOptions): Duplex {
  const { path } = address;
  const release = lock?.(`${path}.lock`) ?? (lock === undefined ? () => {} : null);
  if (release === null) throw failed(address, 'another tacho sends there');
  const open: number[] = [];
  try {
    const { O_RDONLY, O_WRONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
    for (const [name, mode] of [
      [`${path}.in`, O_WRONLY],
      [`${path}.out`, O_RDONLY],
    ] as const) {
      const fd = openSync(name, mode | O_NONBLOCK | O_NOFOLLOW);
      open.push(fd);
      if (!fstatSync(fd).isFIFO()) throw new Error(`${name} is no named pipe`);
    }
    const [out, into] = open as [number, number];
    drain(into);
    const writable = new Socket({ fd: out, readable: false, writable: true });
    const readable = new Socket({ fd: into, readable: true, writable: false });
    // Ends the line that a killed predecessor may have left unfinished.
    writable.write('\n');
    return joined(readable, writable, release);
  } catch (cause) {
    for (const fd of open) closeSync(fd);
    release();
    throw failed(address, reasonOf(cause as Error));
  }
}

/** What a predecessor did not read is not for us. */
function drain(fd: number): void {
  const bytes = Buffer.allocUnsafe(64 * 1024);
  try {
    while (readSync(fd, bytes, 0, bytes.length, null) > 0);
  } catch {
    // EAGAIN: there is nothing more.
  }
}

function joined(readable: Socket, writable: Socket, release: () => void): Duplex {
  const wire = Duplex.from({ readable, writable });
  wire.once('close', () => {
    readable.destroy();
    writable.destroy();
    release();
  });
  return wire;
}
