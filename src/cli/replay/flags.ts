/** `tacho replay RUN`: what a run printed, from its journal (ST-10). */
import { type Command, Option } from 'commander';
import type { OutputMode } from '../../model/words.ts';
import type { Io } from '../command.ts';
import { runsOf } from '../state.ts';

export function defineReplay(program: Command, io: Io): void {
  program
    .command('replay')
    .description('print a recorded run again, from its journal')
    .argument('<run>', 'run id, the beginning of one, or "last"')
    .addOption(
      new Option('--output <mode>', 'human text or JSON records')
        .choices(['human', 'json'])
        .default('human'),
    )
    .addHelpText('after', '\nExamples:\n  $ tacho replay last\n  $ tacho replay last --output json')
    .action(async (run: string, flags: { output: OutputMode }, command: Command) => {
      const { replay } = await import('../../app/runs/replay.ts');
      const { createPresenter } = await import('../present.ts');
      const state = await runsOf(command, io);
      await replay(state, run, async (stream, cwd) =>
        createPresenter(io, { output: flags.output, stream, cwd }),
      );
    });
}
