/** `tacho show RUN`: a run's transcript, for people. */
import type { Command } from 'commander';
import type { Io } from '../command.ts';
import type { ShowFlags } from './action.ts';

const EXAMPLES = `
Examples:
  $ tacho show last
  $ tacho show last --tool Bash --full
  $ tacho show run.transcript.jsonl --json`;

export function defineShow(program: Command, io: Io): void {
  program
    .command('show')
    .description("show a run's transcript: what was asked, said and called, folded to be read")
    .argument('[run]', 'run id, the beginning of one, "last", or a transcript file')
    .option('--last', 'the last run')
    .option('--full', 'nothing folded: whole texts, inputs and outputs')
    .option('--thinking', "the model's thinking too")
    .option('--tool <name>', 'only calls of this tool')
    .option('--json', 'the transcript as one line of JSON')
    .option('--no-pager', 'print at once, also on a terminal')
    .addHelpText('after', EXAMPLES)
    .action(async (run: string | undefined, flags: ShowFlags, command: Command) => {
      const named = run ?? (flags.last ? 'last' : undefined);
      if (named === undefined || (run !== undefined && flags.last))
        command.error('error: say which run to show: RUN, a transcript file, or --last');
      const { show } = await import('./action.ts');
      await show(named as string, flags, io);
    });
}
