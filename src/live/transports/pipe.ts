/**
 * A pair of named pipes, both ends: peers write `PATH.in` and read `PATH.out`, one peer at a time.
 * A pipe has no connections, so a handshake begins one: data queued for the previous peer, or left unread by it, is
 * dropped. Contract: both are opened for reading and writing and never block, so that peers may connect and leave.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, constants, fstatSync, openSync, readSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { fileError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createLines } from '../../lib/lines.ts';
import { type Accept, type Listener, NEVER } from './listener.ts';
import { cutBeforeHandshake } from './pipe-handshake.ts';
import { fileAt, type Lock, privateFolder, unusable } from './private-place.ts';

const LF = Buffer.from('\n');

export function listenPipe(path: string, accept: Accept): Listener {
  privateFolder(path);
  const paths = { in: `${path}.in`, out: `${path}.out` };
  for (const one of Object.values(paths)) makePipe(one);
  const input = new Socket({ fd: openPipe(paths.in), readable: true, writable: false });
  // Held open so that readers see no end of file between two peers.
  const held = openPipe(paths.out);
  let peer: Duplex | null = null;

  function begin(): Duplex {
    peer?.destroy();
    peer = peerStream(paths.out, input);
    accept({ stream: peer, peer: `pipe ${path}`, private: true, waited_ms: 0 });
    return peer;
  }

  /** Passes a line to the current peer. Bytes before a handshake are the torn line of another peer. */
  function take(line: Buffer): void {
    const cut = cutBeforeHandshake(line);
    const to = cut !== null || peer === null || peer.destroyed ? begin() : peer;
    const whole = Buffer.concat([cut === null ? line : line.subarray(cut), LF]);
    if (!to.push(whole)) input.pause();
  }

  const lines = createLines(
    {
      line: (bytes, start, end) => take(bytes.subarray(start, end)),
      // The collector answers an oversize line with an error: it gets a line of spaces that is too long.
      oversize: ({ bytes }) =>
        take(Buffer.alloc(Math.min(bytes, LIMITS.live_message_bytes_max + 1), 0x20)),
    },
    LIMITS.live_message_bytes_max,
  );
  input.on('data', (chunk: Buffer) => lines.push(chunk));
  input.on('error', () => {});
  return {
    address: { kind: 'pipe', path },
    async close() {
      input.destroy();
      closeSync(held);
      for (const one of Object.values(paths)) rmSync(one, { force: true });
    },
    ended: NEVER,
  };
}

function makePipe(path: string): void {
  const found = fileAt(path);
  if (found === null) {
    try {
      execFileSync('mkfifo', ['-m', '600', path], { stdio: ['ignore', 'ignore', 'pipe'] });
    } catch (cause) {
      throw unusable(`${path}: cannot create a named pipe: ${(cause as Error).message}`, cause);
    }
  } else if (!found.isFIFO()) {
    throw unusable(`${path}: not a named pipe: remove it, or choose another --pipe`);
  } else if (found.uid !== process.getuid?.())
    throw unusable(`${path}: belongs to another user: choose another --pipe`);
}

function openFifo(path: string, mode: number): number {
  const fd = openSync(path, mode | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (fstatSync(fd).isFIFO()) return fd;
  closeSync(fd);
  throw unusable(`${path}: not a named pipe`);
}

function openPipe(path: string): number {
  try {
    const fd = openFifo(path, constants.O_RDWR);
    chmodSync(path, 0o600);
    return fd;
  } catch (cause) {
    throw fileError(cause, path, 'live');
  }
}

/** Data pushed into it comes from `input`; data written to it is sent to the peer. */
function peerStream(out_path: string, input: Socket): Duplex {
  const fd = openPipe(out_path);
  drain(fd);
  const out = new Socket({ fd, readable: false, writable: true });
  const stream = new Duplex({
    allowHalfOpen: true,
    read: () => void input.resume(),
    write: (chunk: Buffer, encoding, done) => void out.write(chunk, encoding, done),
    final: (done) => void out.end(done),
    destroy(error, done) {
      out.destroy();
      // Keeps reading for the next peer.
      input.resume();
      done(error);
    },
  });
  out.on('error', () => stream.destroy());
  return stream;
}

/**
 * The client's side: writes PATH.in, reads PATH.out. Non-blocking: a FIFO without a server would hold a thread of the
 * pool forever.
 */
export function dialPipe(path: string, lock: Lock = () => () => {}): Duplex {
  const release = lock(`${path}.lock`);
  if (release === null) throw new Error('another tacho process is sending there');
  const open: number[] = [];
  try {
    open.push(openFifo(`${path}.in`, constants.O_WRONLY));
    open.push(openFifo(`${path}.out`, constants.O_RDONLY));
    const [out, into] = open as [number, number];
    drain(into);
    const writable = new Socket({ fd: out, readable: false, writable: true });
    const readable = new Socket({ fd: into, readable: true, writable: false });
    // Ends the line that a killed predecessor may have left unfinished.
    writable.write('\n');
    return Duplex.from({ readable, writable }).once('close', () => {
      readable.destroy();
      writable.destroy();
      release();
    });
  } catch (cause) {
    for (const fd of open) closeSync(fd);
    release();
    throw cause;
  }
}

/** Drops data that a previous peer did not read. */
function drain(fd: number): void {
  const bytes = Buffer.allocUnsafe(64 * 1024);
  try {
    while (readSync(fd, bytes, 0, bytes.length, null) > 0);
  } catch {
    // EAGAIN: the pipe is empty.
  }
}
