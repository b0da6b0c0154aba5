/** `tacho search QUERY`: the flags. The action is loaded only when it runs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Done, Io } from '../command.ts';
import { withRunFilters } from '../run-filter.ts';
import type { SearchFlags } from './action.ts';

const countOrAll = (text: string) => {
  if (text === 'all') return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give a number from 1, or all.');
  return Number(text);
};

const HELP = `
A query has words, "phrases", prefixes*, -excluded words, and fields. An event
matches if it contains all words; fields of runs restrict the runs.
  agent:ID          model:NAME        project:NAME     label:ci label:build=7
  since:yesterday   until:2026-11-01  cost:>1          status:timeout
  is:failed is:ok   is:waiting is:working is:stuck     has:problem
  tool:Bash         file:src/cart.ts  (events of this tool, or with this path)
A minus sign excludes: -tool:Bash. A repeated field accepts any of its values;
label:, since:, until: and cost: must all match. Case and accents do not matter.
user and userName find getUserName; CJK text is found by any of its characters.

Exit codes: 0 found · 1 nothing found · 2 usage

Examples:
  $ tacho search "connection refused"
  $ tacho search 'rate limit -test agent:codex since:7d'
  $ tacho search 'tool:Bash docker* is:failed' --sort time
  $ tacho search getUserName --here --limit all --hits all --json`;

export function defineSearch(program: Command, io: Io, done: Done): void {
  const command = program
    .command('search')
    .description(
      'Search all runs: prompts, answers, thinking, tool inputs and outputs, files, errors.',
    )
    .argument('<query...>', 'what to search for (see below); quote it');
  withRunFilters(command)
    .addOption(
      new Option('--sort <order>', 'order of the runs')
        .choices(['relevance', 'time'])
        .default('relevance'),
    )
    .option('--limit <n>', 'at most N runs, or all', countOrAll, 10)
    .option('--hits <n>', 'at most N hits of each run, or all', countOrAll, 3)
    .option('--json', 'print a JSON object per hit, one per line')
    .addHelpText('after', HELP)
    .action(async (words: string[], flags: SearchFlags) => {
      const { search } = await import('./action.ts');
      done(await search(words.join(' '), flags, io));
    });
}
