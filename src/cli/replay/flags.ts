/** `tacho replay [RUN]`: the output of a run again, from its journal (ST-10). */
import { type Command, Option } from 'commander';
import type { OutputMode } from '../../model/words.ts';
import { RUN_ARGUMENT } from '../arguments.ts';
import type { Io } from '../command.ts';
import { runsOf } from '../state.ts';

const EXAMPLES = `
Prints what "tacho run" printed. To read a run, use "tacho show".

Examples:
  $ tacho replay
  $ tacho replay last --output json > run.jsonl`;

export function defineReplay(program: Command, io: Io): void {
  program
    .command('replay')
    .description('Print the output of a recorded run again, from its journal.')
    .argument(...RUN_ARGUMENT)
    .addOption(
      new Option('--output <mode>', 'human text, or the JSON records of the run, byte for byte')
        .choices(['human', 'json'])
        .default('human'),
    )
    .addHelpText('after', EXAMPLES)
    .action(async (run: string, { output }: { output: OutputMode }) => {
      const { replay } = await import('../../app/runs/replay.ts');
      const { createPresenter } = await import('../present.ts');
      const present = (stream: boolean, cwd: string) =>
        createPresenter(io, { output, stream, cwd });
      await replay(await runsOf(io), run, present);
    });
}
