/** `tacho completion SHELL`: made from the commands themselves, so it cannot fall behind. */

import type { Command } from 'commander';
import { TachoError } from '../../lib/errors.ts';
import { own } from '../../lib/own.ts';
import type { Io } from '../command.ts';

interface Words {
  /** Command path, as in `runs list`; '' for the program. */
  path: string;
  words: string[];
}

function wordsOf(command: Command, path: string): Words[] {
  const options = command.options
    .filter((option) => option.long && !option.hidden)
    .map((option) => option.long as string);
  const children = command.commands.map((child) => child.name());
  const own = { path, words: [...children, ...options, '--help'] };
  return [
    own,
    ...command.commands.flatMap((child) =>
      wordsOf(child, path === '' ? child.name() : `${path} ${child.name()}`),
    ),
  ];
}

function bash(all: Words[]): string {
  const cases = all
    .map(({ path, words }) => `    "${path}") words="${words.join(' ')}" ;;`)
    .join('\n');
  return `_tacho() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) case " ${all.map(({ path }) => path).join(' | ')} " in *" \${path:+$path }$word "*) path="\${path:+$path }$word" ;; esac ;; esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [ \${#COMPREPLY[@]} -eq 0 ] && COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _tacho tacho
`;
}

function zsh(all: Words[]): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bash(all)}`;
}

function fish(all: Words[]): string {
  const lines = all.flatMap(({ path, words }) => {
    const names = path.split(' ').filter(Boolean);
    const condition =
      path === ''
        ? '__fish_use_subcommand'
        : names.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ');
    return words.map(
      (word) =>
        `complete -c tacho -f -n "${condition}" ${word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`}`,
    );
  });
  return `${lines.join('\n')}\n`;
}

const SHELLS: Record<string, (all: Words[]) => string> = { bash, zsh, fish };

/** `whole`: the program with all its commands. */
export function defineCompletion(program: Command, io: Io, whole: () => Command): void {
  program
    .command('completion')
    .description('print a completion script for your shell')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText(
      'after',
      '\nExamples:\n  $ source <(tacho completion bash)\n  $ tacho completion fish > ~/.config/fish/completions/tacho.fish',
    )
    .action(async (shell: string) => {
      const script = own(SHELLS, shell);
      if (script === undefined)
        throw new TachoError('usage', `unknown shell "${shell}": there are bash, zsh, fish`, {
          stage: 'completion',
        });
      await io.out.write(script(wordsOf(whole(), '')));
    });
}
