/** A test server on a path, or on a free port (0), and how to stop it. */
import { rmSync } from 'node:fs';
import type { Server, Socket } from 'node:net';

/** Resolves with the address in the form that a sender accepts. */
export async function listenAt(server: Server, at: string | number): Promise<string> {
  if (typeof at === 'string') rmSync(at, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    if (typeof at === 'string') server.listen(at, resolve);
    else server.listen(at, '127.0.0.1', resolve);
  });
  const address = server.address();
  return typeof address === 'string' ? `unix:${at}` : `tcp://127.0.0.1:${address?.port}`;
}

export async function stopServer(server: Server, sockets: Iterable<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  if (server.listening) await new Promise((resolve) => server.close(resolve));
}
