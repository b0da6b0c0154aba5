/** The streams, the terminal and the environment of this process, for its command. */
import { fstatSync } from 'node:fs';
import { createColours } from '../lib/colours.ts';
import { createFdWriter } from '../lib/fd-writer.ts';
import {
  createActionsFilter,
  createJsonFilter,
  forColourTerminal,
  forTerminal,
} from '../lib/foreign-text.ts';
import type { Io, Output } from './command.ts';

/** https://no-color.org and its opposite take precedence over the terminal. */
function takesColour(env: NodeJS.ProcessEnv, terminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0';
  return terminal && env.TERM !== 'dumb';
}

function takesUnicode(env: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '');
}

/** COLUMNS, for an output without its own width. */
function columnsIn({ COLUMNS = '' }: NodeJS.ProcessEnv): number | null {
  return /^\d{2,4}$/.test(COLUMNS) ? Math.max(20, Number(COLUMNS)) : null;
}

/** Text for people in chunks, escaped for a terminal or the log of GitHub Actions. */
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

/** Text for stderr. On a terminal, the word `error:` at the beginning of a message is red. */
export function createErrorFilter(env: NodeJS.ProcessEnv): (piece: string) => string {
  const filter = createTextFilter(env, () => false);
  return (piece) => {
    const text = filter(piece);
    if (!text.startsWith(ERROR)) return text;
    const { red } = createColours(
      takesColour(
        env,
        isTerminal(2, () => process.stderr),
      ),
    );
    return red(ERROR) + text.slice(ERROR.length);
  };
}

const ERROR = 'error:';

export function createOutput(fd: number, filter: (piece: string) => string): Output {
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

/** A pipe or a file is recognised by its kind: opening Node's streams to ask them takes a good part of a start. */
function isTerminal(fd: number, stream: () => { isTTY?: boolean }): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && stream().isTTY === true;
  } catch {
    return false;
  }
}

/** The terminal is inspected only on demand. */
export function createIo(): Io {
  const { env } = process;
  const io: Io = {
    out: createOutput(
      1,
      createTextFilter(env, () => io.colour),
    ),
    err: createOutput(2, createErrorFilter(env)),
    env,
    get out_is_terminal() {
      return isTerminal(1, () => process.stdout);
    },
    get in_is_terminal() {
      return isTerminal(0, () => process.stdin);
    },
    get colour() {
      return takesColour(env, this.out_is_terminal);
    },
    get unicode() {
      return this.out_is_terminal && takesUnicode(env);
    },
    get width() {
      return (this.out_is_terminal && process.stdout.columns) || columnsIn(env) || 100;
    },
  };
  return io;
}
