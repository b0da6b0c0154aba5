/** What a command has of the outside world: its streams, its terminal, its environment. */
import { createFdWriter, type FdWriter } from '../lib/fd-writer.ts';

export interface Io {
  out: FdWriter;
  err: FdWriter;
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

/** The terminal is looked at only when somebody asks: opening Node's streams costs a good part of a start. */
export function createIo(): Io {
  const { env } = process;
  return {
    out: createFdWriter(1),
    err: createFdWriter(2),
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
}
