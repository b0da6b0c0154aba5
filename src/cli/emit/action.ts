/** Runs `tacho emit`. */
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { openRedactor, patternsIn } from '../../app/config/redaction.ts';
import { deliverLeft } from '../../app/live/deliver-left.ts';
import { type Emitted, emit } from '../../app/live/emit.ts';
import { livePaths } from '../../app/live/paths.ts';
import { LiveSender, noticeText, undeliveredText } from '../../app/live/sender.ts';
import { EXIT_LATER } from '../../app/run/exit-codes.ts';
import { clockOf, randomOf } from '../../app/run/request.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { newRunId } from '../../lib/ids.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import { sendingUrl } from '../../live/protocol/address.ts';
import { createLiveRedaction, type LiveRedaction } from '../../redact/gate.ts';
import { openSecretHash } from '../../store/journal/hash.ts';
import { openStateDir, resolveStateDir, type StateDir } from '../../store/state-dir.ts';
import { actingOf } from '../acting.ts';
import type { Io } from '../command.ts';
import { warnInsecure } from '../insecure.ts';
import { onSignals, SAME_SIGNAL_MS } from '../signals.ts';

export interface EmitFlags {
  to?: string;
  session?: string;
  tokenFile?: string;
  ca?: string;
  insecure?: true;
  wait: number;
  end: boolean;
  redact?: string[] | false;
  json?: true;
  trust?: true;
}

const SAY_CHARS_MAX = 500;
/** Bad lines that are reported one by one; all are counted. */
const BAD_SHOWN_MAX = 100;

export async function emitCommand(
  file: string | undefined,
  flags: EmitFlags,
  io: Io,
): Promise<number> {
  if (flags.to === 'stdio:' && isStdin(file))
    throw new TachoError(
      'usage',
      '--to stdio: needs a FILE: standard input carries the answers of the collector',
      {
        stage: 'live',
      },
    );
  const path = resolveStateDir({ flag: io.state_flag, env: io.env });
  const state = openStateDir(path);
  const redaction = await redactionOf(flags, state, io);
  const { socket, outbox } = livePaths(state.path);
  const say = (text: string) =>
    io.err.write(`tacho: ${oneLine(redaction?.text(text) ?? text, SAY_CHARS_MAX)}\n`);
  const reported = new Set<string>();
  const url = sendingUrl(flags.to ?? `unix:${socket}`, flags.insecure ?? false);
  await warnInsecure(url, io);
  const target = {
    url,
    token_file: flags.tokenFile === undefined ? null : resolve(flags.tokenFile),
    ca: flags.ca === undefined ? null : resolve(flags.ca),
  };
  const live = new LiveSender({
    ...target,
    outbox,
    onNotice: (notice) => {
      const text = noticeText(notice);
      // Repeated failures are reported once.
      if (text === null || reported.has(notice.kind)) return;
      if (notice.kind !== 'refused') reported.add(notice.kind);
      void say(text);
    },
  });
  const { signal: stop, release } = firstSignal();
  let others: (() => Promise<void>) | null = null;
  try {
    const counts = await sent(live, { file, flags, stop, redaction }, io);
    // Not before: the input may continue a session that was left.
    others = deliverLeft(path, { ...actingOf(flags.trust, io), target });
    return await finish(live, { flags, counts, say }, io);
  } finally {
    await live.close();
    await others?.();
    release();
  }
}

async function redactionOf({ redact }: EmitFlags, state: StateDir, { env }: Io) {
  if (redact === false) return null;
  const patterns = await patternsIn(process.cwd(), redact);
  const hash = openSecretHash(state);
  return createLiveRedaction(openRedactor({ env, redact: patterns, hash }));
}

interface Sending {
  file: string | undefined;
  flags: EmitFlags;
  stop: AbortSignal;
  redaction: LiveRedaction | null;
}

function sent(live: LiveSender, { file, flags, stop, redaction }: Sending, io: Io) {
  const clock = clockOf(io.env);
  let bad = 0;
  return emit(inputOf(file, stop), {
    live,
    clock,
    redaction,
    new_session: flags.session === undefined,
    session_id: flags.session ?? newRunId(clock.now(), randomOf(io.env)).replace(/^r_/, 's_'),
    end: flags.end,
    onBad: (line, why) => {
      bad += 1;
      if (bad <= BAD_SHOWN_MAX) void io.err.write(`line ${line}: ${oneLine(why, SAY_CHARS_MAX)}\n`);
    },
  });
}

const isStdin = (file: string | undefined) => file === undefined || file === '-';

async function* inputOf(file: string | undefined, stop: AbortSignal): AsyncGenerator<Uint8Array> {
  const name = file as string;
  const stream = isStdin(file) ? process.stdin : createReadStream(name);
  const end = () => void stream.destroy();
  stop.addEventListener('abort', end);
  try {
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (!stop.aborted) throw fileError(cause, isStdin(file) ? 'standard input' : name, 'input');
  } finally {
    stop.removeEventListener('abort', end);
  }
}

/** The first signal ends the input, and with it the sessions; the next one ends the process. */
function firstSignal(): { signal: AbortSignal; release: () => void } {
  const first = new AbortController();
  const release = onSignals(() => {
    if (!first.signal.aborted) setTimeout(release, SAME_SIGNAL_MS).unref();
    first.abort();
  });
  return { signal: first.signal, release };
}

async function finish(
  live: LiveSender,
  { flags, counts, say }: { flags: EmitFlags; counts: Emitted; say(text: string): Promise<void> },
  io: Io,
): Promise<number> {
  await live.settled(Math.min(flags.wait * 1000, 2 ** 31 - 1));
  const sessions = live.sessions.map(({ session_id, outbox, sender }) => ({
    session_id,
    last_seq: outbox.last_seq,
    acked: sender.acked,
    error: sender.failure,
  }));
  const left = await live.close();
  for (const one of left) await say(undeliveredText(one));
  if (flags.json) await io.out.json(`${JSON.stringify({ ...counts, sessions })}\n`);
  const refused = sessions.some(({ error }) => error !== null);
  if (counts.bad > 0)
    await io.err.write(
      `tacho: ${counts.bad} of ${counts.lines} lines are invalid, and were not sent\n`,
    );
  if (counts.bad > 0 || refused) return 1;
  return left.length > 0 ? EXIT_LATER : 0;
}
