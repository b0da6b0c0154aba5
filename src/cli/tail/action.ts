/** Runs `tacho tail`. */
import { livePaths } from '../../app/live/paths.ts';
import { type TailFilter, tailStored } from '../../app/live/stored.ts';
import { tail } from '../../app/live/tail.ts';
import { createColours } from '../../lib/colours.ts';
import { TachoError } from '../../lib/errors.ts';
import { unknownWord } from '../../lib/schema/read.ts';
import { forTerminal } from '../../lib/terminal-text.ts';
import {
  type Address,
  addressText,
  parseAddress,
  sendingUrl,
  socketPath,
} from '../../live/protocol/address.ts';
import type { WireMessage } from '../../live/protocol/messages.ts';
import { readToken } from '../../live/token-file.ts';
import { LIVE_TYPES } from '../../model/live-words.ts';
import { LiveHuman } from '../../projections/live/human.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { warnInsecure } from '../insecure.ts';
import { onSignals } from '../signals.ts';
import { VERSION } from '../version.ts';

export interface TailFlags {
  to?: string;
  session?: string[];
  from?: string;
  type?: string[];
  json?: true;
  follow: boolean;
  tokenFile?: string;
  ca?: string;
  insecure?: true;
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'request' });

export async function tailCommand(flags: TailFlags, io: Io): Promise<number> {
  const state_dir = resolveStateDir({ flag: io.state_flag, env: io.env });
  const { types, ...chosen } = filterOf(flags);
  // For people every message is read: a response is shown with the tool that its request named.
  const filter = { ...chosen, types: flags.json ? types : null };
  const stop = new AbortController();
  let any = false;
  const print = printer(flags, io, stop);
  const show = async (message: WireMessage, text: string): Promise<void> => {
    const is_wanted = types === null || types.has(message.type);
    any ||= is_wanted;
    await print(message, text, is_wanted);
  };
  const release = onSignals(() => stop.abort());
  try {
    if (!flags.follow && flags.to === undefined) {
      await tailStored(state_dir, filter, async (message, text) => {
        await show(message, text);
        return !stop.signal.aborted;
      });
      if (!any) await io.err.write(`tacho: ${nothingStored(flags, state_dir)}\n`);
      return 0;
    }
    const address = addressOf(flags, state_dir);
    await warnInsecure(addressText(address), io);
    await tail({
      ...filter,
      address,
      version: VERSION,
      token: flags.tokenFile === undefined ? null : readToken(flags.tokenFile),
      ca: flags.ca ?? null,
      follow: flags.follow,
      signal: stop.signal,
      show,
      note: (text) => void io.err.write(`tacho: ${forTerminal(text)}\n`),
      // A person sees that it works before the first message arrives, and after a lost connection.
      onConnected: (url) => {
        if (io.out_is_terminal && flags.follow)
          void io.err.write(`tacho: watching ${forTerminal(url)}\n`);
      },
    });
    return 0;
  } finally {
    release();
  }
}

function nothingStored({ session, type, from }: TailFlags, state_dir: string): string {
  const { dir } = livePaths(state_dir);
  const wanted = session !== undefined || type !== undefined || from !== undefined;
  return wanted
    ? `no stored message matches; tacho tail --no-follow shows all messages in ${forTerminal(dir)}`
    : `no messages are stored in ${forTerminal(dir)}; tacho serve stores them`;
}

function filterOf({ session, from, type = [], follow }: TailFlags): TailFilter {
  const number = from === undefined ? null : Number(from);
  if (number !== null && !(Number.isSafeInteger(number) && number >= 0))
    throw usage(`--from ${from}: use the number of a message, such as 1`);
  const unknown = type.find((name) => !(LIVE_TYPES as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw usage(`--type: ${unknownWord('message type', unknown, LIVE_TYPES)}`);
  return {
    sessions: session ?? null,
    // Without --follow, everything stored is shown.
    from: number ?? (follow ? null : 1),
    types: type.length === 0 ? null : new Set(type),
  };
}

function addressOf({ to, insecure }: TailFlags, state_dir: string): Address {
  if (to === undefined) return { kind: 'unix', path: socketPath(livePaths(state_dir).socket) };
  const address = parseAddress(sendingUrl(to, insecure ?? false));
  if (address.kind === 'stdio')
    throw usage('--to stdio: cannot be used: tail prints on standard output');
  return address;
}

/** Stops when the reader of standard output has closed it. */
function printer(flags: TailFlags, io: Io, stop: AbortController) {
  const { unicode, width } = io;
  const human = new LiveHuman({ colour: createColours(io.colour), unicode, width });
  return async (message: WireMessage, text: string, is_wanted: boolean): Promise<void> => {
    if (flags.json) await io.out.json(`${text}\n`);
    else {
      const lines = human.project(message);
      if (is_wanted) await io.out.write(lines);
    }
    if (io.out.gone) stop.abort();
  };
}
