/** `tacho compare`: the flags. The action is loaded only when it runs. */
import { type Command, Option } from 'commander';
import { RUN_HELP } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import type { CompareFlags } from './action.ts';

const EXAMPLES = `
Two calls are the same call if they use the same tool and their inputs are
equal or similar. Marks of calls, from the first run to the second:
  =  equal
  ~  another input or another result
  >  moved: the same call, at another place
  +  only in the second run
  -  only in the first run

Of three or more runs, the medoid is the run that is nearest to all others.
The calls that all runs share are those that can be aligned with it.

Exit codes: 0 compared · 1 with --fail-on divergence, if any call differs

Related: "tacho eval compare" compares the results of two evals.

Examples:
  $ tacho compare last~1 last
  $ tacho compare last~1 last --fail-on divergence
  $ tacho compare last~4 last~3 last~2 last~1 last --json`;

export function defineCompare(program: Command, io: Io, done: Done): void {
  program
    .command('compare')
    .description('Compare runs call by call, with cost, tokens, time, files and outcome.')
    .argument('<run...>', `two or more runs: ${RUN_HELP}`)
    .option('--all', 'list equal calls too')
    .option('--ignore-outputs', 'compare results by status and exit code only')
    .addOption(
      new Option('--fail-on <condition>', 'exit with 1 if any call differs').choices([
        'divergence',
      ]),
    )
    .option('--json', 'print the comparison as one line of JSON (tacho schema comparison)')
    .addHelpText('after', EXAMPLES)
    .action(async (runs: string[], flags: CompareFlags) => {
      const { compareCommand } = await import('./action.ts');
      done(await compareCommand(runs, flags, io));
    });
}
