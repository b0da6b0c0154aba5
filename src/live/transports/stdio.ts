/** One connection on stdin and stdout. Nothing else may be printed on stdout. */
import { Duplex, type Readable } from 'node:stream';
import type { FdWriter } from '../../lib/fd-writer.ts';
import type { Accept, Listener } from './listener.ts';

/** `out` does not block the event loop; Node's own stdout does on a full pipe. */
export function listenStdio(input: Readable, out: FdWriter, accept: Accept): Listener {
  let closed = false;
  const stream = new Duplex({
    allowHalfOpen: true,
    read() {
      if (!closed) input.resume();
    },
    write(chunk: Buffer, _encoding, done) {
      out.write(chunk).then(() => done(out.gone ? new Error('stdout was closed') : null));
    },
  });
  input.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) input.pause();
  });
  input.on('end', () => stream.push(null));
  input.on('error', (error) => stream.destroy(error));
  const ended = new Promise<void>((resolve) => stream.on('close', () => resolve()));
  stream.on('error', () => {});
  // The parent process may have written before this one ran.
  const waited_ms = process.uptime() * 1000;
  accept({ stream, peer: 'stdio', private: true, waited_ms });
  return {
    address: { kind: 'stdio' },
    async close() {
      closed = true;
      // An open stdin would keep the process alive.
      input.destroy();
    },
    ended,
  };
}
