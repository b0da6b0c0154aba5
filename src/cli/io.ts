/** What a command has of the outside world: its streams, its terminal, its environment. */
import { createFdWriter, type FdWriter } from '../lib/fd-writer.ts';

export interface Io {
  out: FdWriter;
  err: FdWriter;
  env: NodeJS.ProcessEnv;
  out_is_terminal: boolean;
  in_is_terminal: boolean;
  colour: boolean;
  unicode: boolean;
  width: number;
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

export function createIo(): Io {
  const { env } = process;
  const out_is_terminal = process.stdout.isTTY === true;
  return {
    out: createFdWriter(1),
    err: createFdWriter(2),
    env,
    out_is_terminal,
    in_is_terminal: process.stdin.isTTY === true,
    colour: takesColour(env, out_is_terminal),
    unicode: out_is_terminal && takesUnicode(env),
    width: process.stdout.columns || 100,
  };
}
