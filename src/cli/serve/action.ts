/** What `tacho serve` does. */
import { serve } from '../../app/live/serve.ts';
import { TachoError } from '../../lib/errors.ts';
import { createFdWriter } from '../../lib/fd-writer.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { VERSION } from '../version.ts';

export interface ServeFlags {
  socket?: string;
  tcp?: string;
  pipe?: string;
  stdio?: true;
  tokenFile?: string;
  tlsCert?: string;
  tlsKey?: string;
  heartbeat?: number;
  force?: true;
  json?: true;
  trust?: true;
}

interface ServeRequest {
  flags: ServeFlags;
  state_flag: string | undefined;
}

/** With V8's own choice the space for young objects, and with it the memory, grows by 100 MB under load. */
const SMALL_YOUNG_SPACE = '--max-semi-space-size=1';

/** Begins again as the same process with that choice, where the system can; what it was started with stays as it is. */
function beginSmall(): void {
  const { execve, execArgv, execPath, argv, env } = process;
  const started = env.TACHO_LAUNCHER_FD !== undefined || execArgv.includes(SMALL_YOUNG_SPACE);
  if (started || execve === undefined || process.platform === 'win32') return;
  execve.call(process, execPath, [execPath, SMALL_YOUNG_SPACE, ...execArgv, ...argv.slice(1)], env);
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export async function serveCommand({ flags, state_flag }: ServeRequest, io: Io): Promise<number> {
  if (flags.stdio && flags.json)
    throw new TachoError('usage', '--stdio speaks the protocol on stdout: leave out --json', {
      stage: 'live',
    });
  beginSmall();
  const signal = nextSignal();
  try {
    await serveUntil(signal.came, { flags, state_flag }, io);
    return 0;
  } finally {
    signal.release();
  }
}

async function serveUntil(
  signal: Promise<void>,
  { flags, state_flag }: ServeRequest,
  io: Io,
): Promise<void> {
  const serving = await serve({
    state_dir: resolveStateDir({ flag: state_flag, env: io.env, cwd: process.cwd() }),
    version: VERSION,
    socket: flags.socket,
    tcp: flags.tcp,
    pipe: flags.pipe,
    stdio: flags.stdio && { input: process.stdin, out: createFdWriter(1) },
    token_file: flags.tokenFile,
    tls_cert: flags.tlsCert,
    tls_key: flags.tlsKey,
    force: flags.force,
    ...actingOf(flags.trust, io),
    ...(flags.heartbeat && { limits: { heartbeat_ms: flags.heartbeat * 1000 } }),
  });
  const { listening, moved_to } = serving;
  if (moved_to !== null)
    await io.err.write(
      `warning: the index was damaged and is now ${forTerminal(moved_to)}; it is made anew from the journal\n`,
    );
  for (const address of listening) await io.err.write(`listening on ${forTerminal(address)}\n`);
  if (flags.json) await io.out.json(`${JSON.stringify({ listening, pid: process.pid })}\n`);
  await Promise.race([signal, serving.ended]);
  await serving.stop();
}

/** From the call on a signal ends the collector in good order; the process is kept alive until one comes. */
function nextSignal(): { came: Promise<void>; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const alive = setInterval(() => {}, 2 ** 30);
  for (const signal of SIGNALS) process.on(signal, resolve);
  return {
    came: promise,
    release() {
      clearInterval(alive);
      for (const signal of SIGNALS) process.off(signal, resolve);
    },
  };
}
