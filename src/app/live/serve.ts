/** A collector on this machine: the transports and the journal of the state folder, one collector per folder. */
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import type { FdWriter } from '../../lib/fd-writer.ts';
import { newRunId, systemRandom } from '../../lib/ids.ts';
import { createCollecting } from '../../lib/memory.ts';
import { othersMax } from '../../live/collector/admission.ts';
import { readTokenFile } from '../../live/collector/auth.ts';
import { Collector } from '../../live/collector/collector.ts';
import type { CollectorLimits } from '../../live/collector/options.ts';
import { LIVE_LIMITS } from '../../live/limits.ts';
import { addressText, isLoopback, parseHostPort, socketPath } from '../../live/protocol/address.ts';
import type { Accept, Listener } from '../../live/transports/listener.ts';
import { listenPipe } from '../../live/transports/pipe.ts';
import { listenStdio } from '../../live/transports/stdio.ts';
import { listenTcp } from '../../live/transports/tcp.ts';
import { listenUnix } from '../../live/transports/unix.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { endsOf, follow } from '../../store/journal/follow.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { readSession } from '../../store/journal/read.ts';
import { heldError, takeLock } from '../../store/lock.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import { createBoard } from './board.ts';
import { deliverLeft } from './deliver-left.ts';
import { livePaths } from './paths.ts';

export interface ServeOptions {
  state_dir: string;
  version: string;
  /** Where to listen. Default: the socket of the state folder. */
  socket?: string | undefined;
  /** HOST:PORT. */
  tcp?: string | undefined;
  pipe?: string | undefined;
  stdio?: { input: Readable; out: FdWriter } | undefined;
  token_file?: string | undefined;
  tls_cert?: string | undefined;
  tls_key?: string | undefined;
  limits?: Partial<CollectorLimits> | undefined;
  /** The user agreed to act on a state folder that is not known to be the user's own. */
  trust?: boolean | undefined;
  /** Called with destinations of messages, and with work that is not done. */
  say?: ((text: string) => void) | undefined;
  clock?: Clock | undefined;
  /** Take over the state folder from a collector that holds it. */
  force?: boolean | undefined;
}

export type Serving = Awaited<ReturnType<typeof serve>>;

export async function serve(options: ServeOptions) {
  // Mistakes of the caller are reported before anything is created.
  const plan = planOf(options);
  const paths = livePaths(options.state_dir);
  openStateDir(options.state_dir);
  const state = openStateDir(paths.dir);
  const { lock } = paths;
  const release = takeLock(lock, { force: options.force });
  if (release === null)
    throw heldError(lock, `the collector of ${options.state_dir}`, 'live', 'use that one, stop it');
  const clock = options.clock ?? systemClock;
  const index = openIndex(state);
  const journal = openJournal(state.journal, { index, clock });
  const board = createBoard(paths, clock);
  const collector = new Collector({
    journal,
    reader: {
      session: (id) => readSession(state.journal, id, { index }),
      follow: (from, signal, filter) =>
        follow(state.journal, from === 'start' ? {} : endsOf(state.journal), signal, filter),
    },
    clock,
    newSessionId: () => newRunId(clock.now(), systemRandom).replace('r_', 's_'),
    version: options.version,
    tokens: plan.tokens,
    board,
    limits: { connections_max: plan.connections_max, ...options.limits },
  });
  const listeners: Listener[] = [];
  const stop = async () => {
    await Promise.all(listeners.map((listener) => listener.close()));
    await collector.stop();
    await journal.close();
    board.close();
    index.close();
    release();
  };
  try {
    const read = createCollecting(APP_LIMITS.live_collect_bytes);
    const accept = (wire: Parameters<Accept>[0]) => {
      collector.accept(wire);
      wire.stream.on('data', (chunk: Buffer) => read(chunk.length));
    };
    for (const listen of transports(options, plan, paths.socket)) {
      listeners.push(await listen(accept));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const { trust = false, say = () => {} } = options;
  const left = deliverLeft(options.state_dir, { trust, say });
  return {
    listening: listeners.map(({ address }) => addressText(address)),
    /** Where a damaged index was moved. The new one is filled from the journal. */
    moved_to: index.moved_to,
    collector,
    /** Resolves when no more input is possible: stdin was the only source, and it has ended. */
    ended: Promise.all(listeners.map((listener) => listener.ended)).then(() => {}),
    /** Stops accepting messages, makes received ones durable, acknowledges them, closes. */
    stop: () => left().then(stop),
  };
}

/** Any address beyond this machine needs a token and TLS (LP-13). */
function planOf(options: ServeOptions) {
  const { tcp, token_file, tls_cert, tls_key } = options;
  for (const name of ['socket', 'pipe', 'token_file', 'tls_cert', 'tls_key'] as const)
    if (options[name] === '') throw usage(`--${name.replace('_', '-')} needs a path`);
  if ((tls_cert === undefined) !== (tls_key === undefined))
    throw usage('--tls-cert and --tls-key are needed together');
  if (tls_cert !== undefined && tcp === undefined)
    throw usage('--tls-cert and --tls-key need --tcp HOST:PORT');
  if (tcp !== undefined && !isLoopback(parseHostPort(tcp).host)) {
    const missing = [
      ...(token_file === undefined ? ['--token-file'] : []),
      ...(tls_cert === undefined ? ['--tls-cert', '--tls-key'] : []),
    ];
    if (missing.length > 0)
      throw usage(
        `--tcp ${tcp}: other machines can reach this address, so it needs ${missing.join(', ')}`,
      );
  }
  return {
    tls:
      tls_cert === undefined || tls_key === undefined
        ? null
        : { cert: textOf(tls_cert), key: textOf(tls_key) },
    tokens: token_file === undefined ? null : readTokenFile(token_file),
    connections_max: connectionsMax(),
  };
}

/** Sockets beyond the collector's connections, for peers that are refused because there are too many. */
const SPARE_SOCKETS = 16;

function transports(
  options: ServeOptions,
  { tls, connections_max }: ReturnType<typeof planOf>,
  default_socket: string,
) {
  const { tcp, pipe, stdio } = options;
  const sockets_max = connections_max + SPARE_SOCKETS;
  const alone = tcp === undefined && pipe === undefined && stdio === undefined;
  const socket = options.socket ?? (alone ? default_socket : undefined);
  const list: ((accept: Accept) => Promise<Listener> | Listener)[] = [];
  if (socket !== undefined) {
    const path = socketPath(socket);
    list.push((accept) => listenUnix({ path, lock: takeLock, sockets_max }, accept));
  }
  if (tcp !== undefined) {
    const others_max = othersMax(connections_max, LIVE_LIMITS.private_connections);
    const where = {
      ...parseHostPort(tcp),
      tls,
      sockets_max: others_max + SPARE_SOCKETS,
      unfinished_max: Math.min(LIVE_LIMITS.ungreeted_max, others_max),
    };
    list.push((accept) => listenTcp(where, accept));
  }
  if (pipe !== undefined) list.push((accept) => listenPipe(pipe, accept));
  if (stdio !== undefined) list.push((accept) => listenStdio(stdio.input, stdio.out, accept));
  return list;
}

/** Descriptors for the journal, the index, and other open files of the process. */
const OWN_FILES = 64;

/** Peers must not use up the descriptors that the collector itself needs. A peer that reads the journal takes two. */
function connectionsMax(): number {
  const room = Math.floor((openFilesMax() - OWN_FILES) / 2) - SPARE_SOCKETS;
  return Math.min(LIVE_LIMITS.connections_max, Math.max(MIN_CONNECTIONS, room));
}

const MIN_CONNECTIONS = 8;

/** How many files this process may open. Unlimited if the system does not state it. */
function openFilesMax(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw fileError(cause, path, 'live');
  }
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'live' });
