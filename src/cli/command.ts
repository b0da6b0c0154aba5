/** The interface of a command: the outside world, and a way to return its exit code. */
import type { Command } from 'commander';
import type { FdWriter } from '../lib/fd-writer.ts';
import { own } from '../lib/own.ts';

/**
 * An output stream. Foreign text is escaped here, as close to the stream as possible, so that no command can forget
 * it. Our own colours pass on standard output if enabled; standard error has none.
 */
export interface Output extends Pick<FdWriter, 'gone' | 'failure'> {
  /** Text for people. */
  write(text: string): Promise<void>;
  /** JSON text, whole or in chunks. */
  json(piece: string | Uint8Array): Promise<void>;
  /** Trusted bytes: terminal control, commands to GitHub Actions, files of the package. Written unchanged. */
  own(bytes: string | Uint8Array): Promise<void>;
}

export interface Io {
  out: Output;
  err: Output;
  env: NodeJS.ProcessEnv;
  /** `--state-dir`, before or after the command's name. */
  state_flag?: string | undefined;
  readonly out_is_terminal: boolean;
  readonly in_is_terminal: boolean;
  readonly colour: boolean;
  readonly unicode: boolean;
  readonly width: number;
}

/** Takes the exit code of the command. */
export type Done = (code: number) => void;

/** Adds a command with its flags to its parent. `args`: the arguments after its name. */
export type Define = (parent: Command, io: Io, done: Done, args: readonly string[]) => void;

/** Only the named command, so that a start defines no others. All of them if none is named. */
export function namedOf(table: Readonly<Record<string, Define>>, name = ''): Define[] {
  const named = own(table, name);
  return named === undefined ? Object.values(table) : [named];
}

const printer =
  (indent: number) =>
  ({ out }: Io, { json }: { json?: true }, value: unknown, text: () => string): Promise<void> =>
    json ? out.json(`${JSON.stringify(value, null, indent)}\n`) : out.write(text());

/** A result as one line of JSON if requested, otherwise as text. */
export const print = printer(0);

/** The same with readable JSON. */
export const printPretty = printer(2);
