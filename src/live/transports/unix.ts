/**
 * A unix socket of mode 0600 in a folder of mode 0700. A stale socket of a dead collector is replaced. A socket in use,
 * or any other file in its place, is refused (LP-13).
 */

import { chmodSync, type Stats, unlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { fileError } from '../../lib/errors.ts';
import {
  type Accept,
  type Listener,
  listenerOf,
  listening,
  SERVER_OPTIONS,
  wireOf,
} from './listener.ts';
import { fileAt, type Lock, privateFolder, unusable } from './private-place.ts';

/** A named pipe of Windows (`\\.\pipe\name`) is not a file. Not tested on Windows. */
const isWindowsPipe = (path: string) =>
  process.platform === 'win32' && path.startsWith('\\\\.\\pipe\\');

export interface UnixOptions {
  path: string;
  /** Only one of several processes may replace a stale socket. */
  lock: Lock;
  sockets_max: number;
}

export async function listenUnix(options: UnixOptions, accept: Accept): Promise<Listener> {
  const { path, lock } = options;
  if (isWindowsPipe(path)) return listenAt(options, accept);
  privateFolder(path);
  const release = lock(`${path}.lock`);
  if (release === null) throw inUse(path);
  try {
    const found = fileAt(path);
    if (found !== null) await takeOver(path, found);
    return await listenAt(options, accept);
  } finally {
    release();
  }
}

async function listenAt({ path, sockets_max }: UnixOptions, accept: Accept): Promise<Listener> {
  const server = createServer(SERVER_OPTIONS, (socket) => accept(wireOf(socket, 'unix', true)));
  try {
    await listening(server, sockets_max, { path });
    if (!isWindowsPipe(path)) chmodSync(path, 0o600);
  } catch (cause) {
    server.close();
    throw (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
      ? inUse(path)
      : fileError(cause, path, 'live');
  }
  return listenerOf(server, { kind: 'unix', path });
}

const inUse = (path: string) =>
  unusable(`${path}: a collector is already listening there: use it, or choose another --socket`);

async function takeOver(path: string, found: Stats): Promise<void> {
  if (!found.isSocket())
    throw unusable(`${path}: not a socket: remove it, or choose another --socket`);
  const error = await probe(path);
  if (error === null) throw inUse(path);
  if (error.code === 'ECONNREFUSED') unlinkSync(path);
  else if (error.code !== 'ENOENT') throw unusable(`${path}: ${error.message}`);
}

/** Null when a process is listening. */
function probe(path: string): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.on('error', resolve);
    socket.on('connect', () => {
      socket.destroy();
      resolve(null);
    });
  });
}
