/** `tacho show [RUN]`: a run for people, its outcome and its transcript. */
import type { Command } from 'commander';
import { RUN_HELP } from '../arguments.ts';
import type { Io } from '../command.ts';
import type { ShowFlags } from './action.ts';

const EXAMPLES = `
--at starts at a point of the run:
  3           step 3
  toolu_01ab  the call with this id or prefix
  seq:120     event 120, as numbered in --events files and problem reports

Related commands: "tacho runs show" prints only the stored outcome, like
"tacho show --summary"; "tacho replay" prints what "tacho run" printed.

Examples:
  $ tacho show                              the last run
  $ tacho show last~1 --at 3                the run before it, from step 3 on
  $ tacho show last --tool Bash --full
  $ tacho show run.transcript.jsonl --json`;

export function defineShow(program: Command, io: Io): void {
  program
    .command('show')
    .description('Read a run: its outcome, then its transcript.')
    .argument('[run]', `${RUN_HELP}; or a transcript file (default: last)`)
    .option('--last', 'the last run')
    .option('--at <point>', 'start at a step, a call or an event (see below)')
    .option('--summary', 'only the outcome')
    .option('--full', 'print texts, inputs and outputs in full')
    .option('--thinking', "include the model's thinking")
    .option('--tool <name>', 'only calls of this tool')
    .option('--json', 'print the transcript as one line of JSON; with --summary the outcome')
    .option('--no-pager', 'do not start a pager')
    .addHelpText('after', EXAMPLES)
    .action(async (run: string | undefined, flags: ShowFlags, command: Command) => {
      if (run !== undefined && flags.last)
        command.error('error: give either a run or --last, not both');
      const { show } = await import('./action.ts');
      await show(run ?? 'last', flags, io);
    });
}
