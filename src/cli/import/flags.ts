/** `tacho import`: sessions that agents kept → runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { APP_LIMITS } from '../../app/limits.ts';
import { FORCE_FLAG, redactOption } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { timeArgument } from '../run-filter.ts';
import type { ImportFlags } from './action.ts';

const EXAMPLES = `
Examples:
  $ tacho import --last                         the session that was used last, of any agent
  $ tacho import claude --all --since 2026-11-01
  $ tacho import pi session.jsonl`;

function jobs(text: string): number {
  const most = APP_LIMITS.import_jobs_max;
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most)
    throw new InvalidArgumentError(`Give a whole number from 1 to ${most}.`);
  return count;
}

export function defineImport(program: Command, io: Io, done: Done): void {
  program
    .command('import')
    .description(
      'store sessions that agents kept as runs; importing again adds nothing; exit 1 when one could not be read',
    )
    .argument('[agent]', 'whose sessions; default: those of all agents')
    .argument('[files...]', 'session files, wherever they lie')
    .option('--session <id>', 'the session with this id')
    .option('--last', 'the session that was used last')
    .option('--all', 'all sessions where the agents keep them')
    .option(
      '--since <time>',
      'with --all or --last: only sessions used since then: 2026-11-01, 12h, 2d, yesterday',
      (text: string) => timeArgument(text).from_ms,
    )
    .addOption(
      new Option('--jobs <n>', 'import with this many processes at once')
        .default(1)
        .argParser(jobs),
    )
    .addOption(new Option('--share').hideHelp())
    .option(...FORCE_FLAG)
    .addOption(redactOption())
    .option('--json', 'as JSON lines')
    .addHelpText('after', EXAMPLES)
    .action(async (agent: string | undefined, files: string[], flags: ImportFlags) => {
      const { importCommand } = await import('./action.ts');
      done(await importCommand(agent ?? null, files, flags, io));
    });
}
