/** `tacho trust`: the flags. The action is loaded only when it runs. */
import type { Command } from 'commander';
import type { Done, Io } from '../command.ts';
import type { TrustFlags } from './action.ts';

const EXAMPLES = `
Files of a repository can choose programs, send data and widen permissions. They
do so only after your consent. It holds for the content you saw: a changed file
asks again. In CI, set TACHO_TRUST=1 or give --trust instead.

Examples:
  $ tacho trust                     everything that belongs to this folder
  $ tacho trust evals/skills.yaml
  $ tacho trust --list
  $ tacho trust --remove`;

export function defineTrust(program: Command, io: Io, done: Done): void {
  program
    .command('trust')
    .description('Show what the files of a folder ask for, and agree to it.')
    .argument('[path]', 'a folder, a state folder, or an eval file (default: this folder)')
    .option('--list', 'list what you agreed to; nothing changes')
    .option('--remove', 'withdraw your consent for everything in the folder')
    .option('--json', 'print a JSON object per file, one per line')
    .addHelpText('after', EXAMPLES)
    .action(async (path: string | undefined, flags: TrustFlags) => {
      const { trustCommand } = await import('./action.ts');
      done(await trustCommand(path, flags, io));
    });
}
