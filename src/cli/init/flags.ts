/** `tacho init`: the flags. The action is loaded only when it runs. */
import type { Command } from 'commander';
import type { Io } from '../command.ts';

const TEXT = `
Without a .tacho folder here or above, runs are stored in your own store,
which is shared by all projects.

Example:
  $ tacho init`;

export function defineInit(program: Command, io: Io): void {
  program
    .command('init')
    .description('Create a .tacho folder. Runs started here and below are stored in it.')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', TEXT)
    .action(async (flags: { json?: true }) => {
      const { init } = await import('./action.ts');
      await init(flags, io);
    });
}
