/** `tacho trust`: the flags. The action is loaded only when it runs. */
import type { Command } from 'commander';
import type { Done, Io } from '../command.ts';
import type { TrustFlags } from './action.ts';

const EXAMPLES = `
Files of a repository choose programs, send data and widen rights only after your consent. It holds for
the content that was shown: a changed file asks again. In CI, set TACHO_TRUST=1 or give --trust instead.

Examples:
  $ tacho trust                  the tacho.yaml, the eval files and the state folder that belong to this folder
  $ tacho trust evals/skills.yaml
  $ tacho trust --list
  $ tacho trust --remove`;

export function defineTrust(program: Command, io: Io, done: Done): void {
  program
    .command('trust')
    .description('show what the files of a folder ask for, and agree to it')
    .argument('[path]', 'a folder, a state folder, or an eval file (default: this folder)')
    .option('--list', 'show what you agreed to, and change nothing')
    .option('--remove', 'take back your consent for everything in the folder')
    .option('--json', 'as JSON lines')
    .addHelpText('after', EXAMPLES)
    .action(async (path: string | undefined, flags: TrustFlags) => {
      const { trustCommand } = await import('./action.ts');
      done(await trustCommand(path, flags, io));
    });
}
