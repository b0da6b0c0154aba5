/** `tacho import`: the flags. The action is loaded only when it runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { SESSION_PLACES } from '../../agents/session-places.ts';
import { APP_LIMITS } from '../../app/limits.ts';
import { FORCE_FLAG, redactOption } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import { timeArgument } from '../run-filter.ts';
import type { ImportFlags } from './action.ts';

const INDENT = ' '.repeat(12);
/** Lines of at most 80 columns. */
const wrapped = (text: string) => text.match(/\S.{0,66}(?=\s|$)/g)?.join(`\n${INDENT}`);

const PLACES = Object.entries(SESSION_PLACES)
  .map(([agent, where]) => `  ${agent.padEnd(9)} ${wrapped(where)}`)
  .join('\n');

const EXAMPLES = `
Sessions are looked for in:
${PLACES}

Exit codes: 0 done · 1 some sessions cannot be read · 2 usage

Examples:
  $ tacho import --last                        the session that was used last
  $ tacho import --all --since yesterday       every session used since then
  $ tacho import claude --all --verbose        one line per session
  $ tacho import pi session.jsonl              a file from elsewhere`;

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
      'Import the sessions that agents recorded themselves, as runs. Importing a session again adds nothing. A session that has grown replaces its earlier import.',
    )
    .argument('[agent]', 'import sessions of this agent (default: of all agents)')
    .argument('[files...]', 'session files from any folder')
    .option('--last', 'import the session that was used last')
    .option('--all', 'import every session')
    .option('--session <id>', 'import the session with this id')
    .option(
      '--since <time>',
      'with --all or --last: only sessions used since then: 2026-11-01, 12h, 2d, yesterday',
      (text: string) => timeArgument(text).from_ms,
    )
    .addOption(
      new Option('--jobs <n>', 'import with N parallel processes').default(1).argParser(jobs),
    )
    .addOption(new Option('--share').hideHelp())
    .option(...FORCE_FLAG)
    .addOption(redactOption())
    .option('--verbose', 'print a line per session: state, run, date, agent, prompt, path')
    .option('--json', 'print a JSON object per session, one per line')
    .addHelpText('after', EXAMPLES)
    .action(async (agent: string | undefined, files: string[], flags: ImportFlags) => {
      const { importCommand } = await import('./action.ts');
      done(await importCommand(agent ?? null, files, flags, io));
    });
}
