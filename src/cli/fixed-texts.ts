/** Texts that need no computation: the build writes them to files, and the launcher prints them. */
import type { Command } from 'commander';
import { packageVersion } from '../app/config/paths.ts';
import type { Io } from './command.ts';
import { createProgram } from './program.ts';

/** Each text by the name of its file: `version`, `tacho` for the help of the program, `tacho-runs-list` for a command's. */
export function fixedTexts(): Map<string, string> {
  let printed = '';
  const out = {
    async write(text: string) {
      printed += text;
    },
  };
  const io = { out, err: out, env: {}, width: Number.POSITIVE_INFINITY } as unknown as Io;
  const texts = new Map([['version', `${packageVersion()}\n`]]);
  const add = (command: Command, name: string) => {
    printed = '';
    command.outputHelp();
    texts.set(name, printed);
    for (const child of command.commands) add(child, `${name}-${child.name()}`);
  };
  add(
    createProgram([], io, () => {}),
    'tacho',
  );
  return texts;
}
