/** `tacho replay RUN`: what a run printed, from its journal (ST-10). */
import { type Command, Option } from 'commander';
import type { OutputMode } from '../../model/words.ts';
import { RUN_ARGUMENT } from '../arguments.ts';
import type { Io } from '../command.ts';
import { runsOf } from '../state.ts';

export function defineReplay(program: Command, io: Io): void {
  program
    .command('replay')
    .description('print a recorded run again, from its journal')
    .argument(...RUN_ARGUMENT)
    .addOption(
      new Option('--output <mode>', 'human text or JSON records')
        .choices(['human', 'json'])
        .default('human'),
    )
    .addHelpText('after', '\nExamples:\n  $ tacho replay last\n  $ tacho replay last --output json')
    .action(async (run: string, { output }: { output: OutputMode }) => {
      const { replay } = await import('../../app/runs/replay.ts');
      const { createPresenter } = await import('../present.ts');
      const present = (stream: boolean, cwd: string) =>
        createPresenter(io, { output, stream, cwd });
      await replay(await runsOf(io), run, present);
    });
}
