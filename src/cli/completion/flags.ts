/** `tacho completion SHELL` prints a script for the shell; the script asks `tacho __complete` for every word. */
import { Argument, type Command } from 'commander';
import type { Io } from '../command.ts';
import { SCRIPTS } from './scripts.ts';

const EXAMPLES = `
Examples:
  $ source <(tacho completion bash)                                 in ~/.bashrc
  $ source <(tacho completion zsh)                                  in ~/.zshrc
  $ tacho completion fish > ~/.config/fish/completions/tacho.fish`;

export function defineCompletion(program: Command, io: Io): void {
  program
    .command('completion')
    .description('Print a completion script for bash, zsh or fish.')
    .addArgument(new Argument('<shell>', 'the shell to print it for').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', EXAMPLES)
    .action(async (shell: keyof typeof SCRIPTS) => {
      await io.out.write(SCRIPTS[shell]);
    });
}

/**
 * The words that may come next, for the scripts above. Contract: prints no errors, creates nothing, starts no program.
 * `whole`: the program with all its commands.
 */
export function defineComplete(program: Command, io: Io, whole: () => Command): void {
  program
    .command('__complete', { hidden: true })
    .argument('<shell>')
    .argument('[words...]')
    .action(async (shell: string, words: string[]) => {
      const { completeCommand } = await import('./action.ts');
      await completeCommand(whole(), { shell, words }, io);
    });
}
