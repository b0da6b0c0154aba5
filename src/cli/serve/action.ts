/** Runs `tacho serve`. */
import { serve } from '../../app/live/serve.ts';
import { watchBeside } from '../../app/watch/watch-beside.ts';
import { TachoError } from '../../lib/errors.ts';
import { createFdWriter } from '../../lib/fd-writer.ts';
import { forTerminal, oneLine } from '../../lib/terminal-text.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { onSignals } from '../signals.ts';
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
  /** Not with `--stdio`: that collector exists for one connection. */
  watch: boolean;
}

/** By default V8 lets the space for young objects grow under load, and the process's memory by 100 MB. */
const SMALL_YOUNG_SPACE = '--max-semi-space-size=2';

/** Replaces this process by one with that option, if the system can; everything else stays the same. */
function beginSmall(): void {
  const { execve, execArgv, execPath, argv, env } = process;
  const started = env.TACHO_LAUNCHER_FD !== undefined || execArgv.includes(SMALL_YOUNG_SPACE);
  if (started || execve === undefined || process.platform === 'win32') return;
  execve.call(process, execPath, [execPath, SMALL_YOUNG_SPACE, ...execArgv, ...argv.slice(1)], env);
}

export async function serveCommand(flags: ServeFlags, io: Io): Promise<number> {
  if (flags.stdio && flags.json)
    throw new TachoError(
      'usage',
      '--json cannot be combined with --stdio, which uses standard output for the protocol',
      {
        stage: 'live',
      },
    );
  beginSmall();
  const signal = nextSignal();
  try {
    await serveUntil(signal.came, flags, io);
    return 0;
  } finally {
    signal.release();
  }
}

async function serveUntil(signal: Promise<void>, flags: ServeFlags, io: Io): Promise<void> {
  const { socket, tcp, pipe, force } = flags;
  const state_dir = resolveStateDir({ flag: io.state_flag, env: io.env });
  const serving = await serve({
    state_dir,
    version: VERSION,
    ...{ socket, tcp, pipe, force },
    stdio: flags.stdio && { input: process.stdin, out: createFdWriter(1) },
    token_file: flags.tokenFile,
    tls_cert: flags.tlsCert,
    tls_key: flags.tlsKey,
    ...actingOf(flags.trust, io),
    ...(flags.heartbeat && { limits: { heartbeat_ms: flags.heartbeat * 1000 } }),
  });
  const { listening, moved_to } = serving;
  if (moved_to !== null)
    await io.err.write(
      `warning: the index was damaged and moved to ${forTerminal(moved_to)}; it is rebuilt from the journal\n`,
    );
  for (const address of listening) await io.err.write(`listening on ${forTerminal(address)}\n`);
  if (flags.json) await io.out.json(`${JSON.stringify({ listening, pid: process.pid })}\n`);
  const watching = flags.watch && !flags.stdio ? watchBeside(state_dir, sayOfWatch(io)) : null;
  await Promise.race([signal, serving.ended]);
  await watching?.stop();
  await serving.stop();
}

const SAID_CHARS_MAX = 300;

const sayOfWatch = (io: Io) => (text: string) =>
  void io.err.write(`watch: ${oneLine(text, SAID_CHARS_MAX)}\n`);

/** Resolves at the first signal; keeps the process alive until then. */
function nextSignal(): { came: Promise<void>; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const alive = setInterval(() => {}, 2 ** 30);
  const ignore = onSignals(() => resolve());
  return {
    came: promise,
    release() {
      clearInterval(alive);
      ignore();
    },
  };
}
