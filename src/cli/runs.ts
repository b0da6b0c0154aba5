/** `tacho runs …`: the recorded runs. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from './io.ts';
import type { Done } from './program.ts';
import { stateOf } from './state.ts';

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('Give a whole number over 0.');
  return value;
}

export function defineRuns(program: Command, io: Io, done: Done): void {
  const runs = program
    .command('runs')
    .description('the recorded runs: list, show, verify, recover, reindex, remove');
  defineReading(runs, io, done);
  defineKeeping(runs, io, done);
}

function defineReading(runs: Command, io: Io, done: Done): void {
  runs
    .command('list')
    .description('list runs, newest first')
    .option('--limit <n>', 'at most so many', count, 20)
    .option('--agent <id>', 'only of this agent')
    .option('--status <status>', 'ok, failed, or an exit reason')
    .option('--json', 'as JSON lines')
    .addHelpText('after', '\nExample:\n  $ tacho runs list --status failed --limit 5')
    .action(
      async (
        flags: { limit: number; agent?: string; status?: string; json?: true },
        command: Command,
      ) => {
        const { listRuns } = await import('./runs-command.ts');
        await listRuns(await stateOf(command, io), flags, io);
      },
    );
  runs
    .command('show')
    .description("show a run's outcome")
    .argument('<run>', 'run id, the beginning of one, or "last"')
    .option('--json', 'the outcome as JSON')
    .addHelpText('after', '\nExample:\n  $ tacho runs show last --json')
    .action(async (run: string, flags: { json?: true }, command: Command) => {
      const { showRun } = await import('./runs-command.ts');
      await showRun(await stateOf(command, io), run, flags, io);
    });
  runs
    .command('verify')
    .description(
      "check a run's record: sequence, hashes, form, completeness; exit 1 when something is wrong",
    )
    .argument('<run>', 'run id, the beginning of one, or "last"')
    .option('--json', 'the report as JSON')
    .addHelpText('after', '\nExample:\n  $ tacho runs verify last')
    .action(async (run: string, flags: { json?: true }, command: Command) => {
      const { verify } = await import('./runs-command.ts');
      done(await verify(await stateOf(command, io), run, flags, io));
    });
}

function defineKeeping(runs: Command, io: Io, done: Done): void {
  runs
    .command('recover')
    .description('finish captures whose tacho was killed; waits for agents that still run')
    .argument('[run]', 'only this run')
    .option('--no-wait', 'leave agents that still run alone')
    .option('--json', 'as JSON lines')
    .addHelpText('after', '\nExample:\n  $ tacho runs recover')
    .action(
      async (run: string | undefined, flags: { wait: boolean; json?: true }, command: Command) => {
        const { recover } = await import('./runs-command.ts');
        done(
          await recover(
            await stateOf(command, io),
            { run_id: run, wait: flags.wait, json: flags.json ?? false },
            io,
          ),
        );
      },
    );
  runs
    .command('reindex')
    .description('make the index again from the journal')
    .option('--json', 'the result as JSON')
    .addHelpText('after', '\nExample:\n  $ tacho runs reindex')
    .action(async (flags: { json?: true }, command: Command) => {
      const { reindexRuns } = await import('./runs-command.ts');
      await reindexRuns(await stateOf(command, io), flags, io);
    });
  runs
    .command('rm')
    .description('delete runs for good')
    .argument('<runs...>', 'run ids, or beginnings of them')
    .addHelpText('after', '\nExample:\n  $ tacho runs rm r_01kx3')
    .action(async (names: string[], _flags: object, command: Command) => {
      const { removeRuns } = await import('./runs-command.ts');
      done(await removeRuns(await stateOf(command, io), names, io));
    });
}
