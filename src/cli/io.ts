/** What a command has of the outside world: its streams, its terminal, its environment. */
import { createFdWriter, type FdWriter } from '../lib/fd-writer.ts';
import {
  createActionsFilter,
  createJsonFilter,
  forColourTerminal,
  forTerminal,
} from '../lib/foreign-text.ts';

/**
 * An output stream. Foreign text is made harmless here, as near to the stream as possible, so that no command can forget it.
 * Our own colours pass on standard output where they are wanted; standard error has none.
 */
export interface Output extends Pick<FdWriter, 'gone' | 'failure'> {
  /** Text for people. */
  write(text: string): Promise<void>;
  /** JSON text, whole or in pieces. */
  json(piece: string | Uint8Array): Promise<void>;
  /** Nothing foreign: control of the terminal, commands to GitHub Actions, files of the package. Written as it is. */
  own(bytes: string | Uint8Array): Promise<void>;
}

export interface Io {
  out: Output;
  err: Output;
  env: NodeJS.ProcessEnv;
  readonly out_is_terminal: boolean;
  readonly in_is_terminal: boolean;
  readonly colour: boolean;
  readonly unicode: boolean;
  readonly width: number;
}

/** https://no-color.org, and its opposite, before what the terminal says. */
function takesColour(env: NodeJS.ProcessEnv, terminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  return terminal && env.TERM !== 'dumb';
}

function takesUnicode(env: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '');
}

/** Text for people in pieces, as it may be written to a terminal or to the log of GitHub Actions. */
export function createTextFilter(
  env: NodeJS.ProcessEnv,
  colour: () => boolean,
): (piece: string) => string {
  const actions = env.GITHUB_ACTIONS === 'true' ? createActionsFilter() : null;
  return (piece) => {
    const coloured = piece.includes('\u001b') && colour();
    const safe = coloured ? forColourTerminal(piece) : forTerminal(piece);
    return actions === null ? safe : actions(safe);
  };
}

function createOutput(fd: number, filter: (piece: string) => string): Output {
  const writer = createFdWriter(fd);
  const json = createJsonFilter();
  return {
    write: (text) => writer.write(filter(text)),
    json: (piece) => writer.write(json(piece)),
    own: (bytes) => writer.write(bytes),
    get gone() {
      return writer.gone;
    },
    get failure() {
      return writer.failure;
    },
  };
}

/** The terminal is looked at only when somebody asks: opening Node's streams costs a good part of a start. */
export function createIo(): Io {
  const { env } = process;
  const io: Io = {
    out: createOutput(
      1,
      createTextFilter(env, () => io.colour),
    ),
    err: createOutput(
      2,
      createTextFilter(env, () => false),
    ),
    env,
    get out_is_terminal() {
      return process.stdout.isTTY === true;
    },
    get in_is_terminal() {
      return process.stdin.isTTY === true;
    },
    get colour() {
      return takesColour(env, this.out_is_terminal);
    },
    get unicode() {
      return this.out_is_terminal && takesUnicode(env);
    },
    get width() {
      return process.stdout.columns || 100;
    },
  };
  return io;
}
