/** `tacho usage`: the flags. The action is loaded only when it runs. */
import { type Command, InvalidArgumentError } from 'commander';
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
Usage belongs to the local day on which it happened, so a session that continues
the next day counts in both. Weeks begin on Monday. The first days shown are
those of the last 30 days, 12 weeks (--by week) or 12 months (--by month).

INPUT is without cached tokens. CACHED is read from and written to the cache.
RUNS counts every attempt of a run as a run, like tacho runs list. OK is the
share of the finished runs that succeeded. Usage of sub-agents is included.
Forks, resumed sessions and copies of sessions count once.

Costs are those that the agent reported. ~ marks costs with a part that tacho
computed from prices. A sum with an unknown part has the number of its runs:
$12.40, 3 runs unknown.

--explain lists the runs behind the figures: for each, the lines of the agent's
output or session file with their figures, and the prices. GROUP is a cell of
the first column, or of both: 2026-11-18 or 2026-11-18,claude-opus-5-5.

--statusline prints the cost and the tokens of today, for prompts and status
lines of agents. It reads the session from the JSON that an agent such as Claude
Code writes to its standard input. It always exits with 0.

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
    .option(
      '--by <keys>',
      'group by day, week, month, agent, model, project or label:NAME; or by two: day,model',
      keysArgument,
      ['day'],
    );
  withRunFilters(command, 'usage')
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
