/** `tacho usage`: the flags. The action is loaded only when it runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Done, Io } from '../command.ts';
import { withRunFilters } from '../run-filter.ts';
import { stateIfAny } from '../state.ts';
import type { UsageFlags } from './action.ts';

const KEYS = ['day', 'week', 'month', 'agent', 'model', 'project'];
const KEYS_MAX = 2;
const isKey = (word: string) => KEYS.includes(word) || /^label:./.test(word);

function keysArgument(text: string): string[] {
  const keys = text.split(',');
  const same = new Set(keys).size < keys.length;
  if (!keys.every(isKey) || keys.length > KEYS_MAX || same)
    throw new InvalidArgumentError(
      `Give one or two of ${KEYS.join(', ')}, label:NAME, such as day,model.`,
    );
  return keys;
}

const HELP = `
Usage belongs to the local day on which it happened: a session that continues on
the next day counts on both days. Weeks begin on Monday. Unless you give a time,
the table begins 30 days ago, 12 weeks with --by week, 12 months with --by month.

Columns:
  RUNS    runs with usage in this line; each attempt of --retries is a run
  OK      share of the finished runs that succeeded
  INPUT   tokens that were not cached
  CACHED  tokens read from the cache or written to it
  COST    dollars that the agents reported; ~ if tacho computed a part from prices;
          "3 runs unknown": the cost of 3 runs is not, or only partly, included

Usage of sub-agents is included. Forks, resumed sessions and copies count once.

--explain lists the runs behind the figures, the lines of the agent's output or
session file with their figures, and the prices. GROUP is the text in the first
column, or in both columns with a comma: 2026-11-18, 2026-W47, gpt-5.5,my-project

--statusline prints today's cost and tokens, for prompts and status lines. If an
agent writes JSON with a session_id to standard input, it adds that session. It
always exits with 0.

Examples:
  $ tacho usage
  $ tacho usage --by model --since 7d
  $ tacho usage --by month,project --since 2026-01-01
  $ tacho usage --by agent --here --sub-agents
  $ tacho usage --explain 2026-11-18
  $ tacho usage --by label:build --json`;

export function defineUsage(program: Command, io: Io, done: Done): void {
  const command = program
    .command('usage')
    .description('Sum up tokens and costs by day, agent, model, project or label.')
    .addOption(
      new Option(
        '--by <keys>',
        'day, week, month, agent, model, project or label:NAME; or two of them: day,model',
      )
        .argParser(keysArgument)
        .default(['day'], 'day'),
    );
  withRunFilters(command, { timed: 'usage', of_model: 'usage' })
    .option('--sub-agents', 'list the usage of sub-agents separately')
    .option('--explain [group]', 'list the runs, lines and prices behind the figures')
    .option('--statusline', 'print one short line about today and the current session')
    .option('--json', 'print the report as JSON, with exact figures')
    .addHelpText('after', HELP)
    .action(async (flags: UsageFlags) => {
      if (flags.statusline) {
        const { statusline } = await import('./statusline.ts');
        return done(await statusline(io));
      }
      const { showUsage } = await import('./action.ts');
      await showUsage(await stateIfAny(io), flags, io);
    });
}
