/** `tacho drift`: the flags. The action is loaded only when it runs. */
import { type Command, Option } from 'commander';
import type { Done, Io } from '../command.ts';
import type { DriftFlags } from './action.ts';

const EXAMPLES = `
With several files, --json prints an array with one report per file.

Exit codes: 0 compared · 1 if a file cannot be read, or with --fail if something was found

Examples:
  $ tacho drift claude --last --fail
  $ tacho drift claude ~/.claude/projects/*/*.jsonl --from session
  $ claude -p "…" --output-format stream-json --verbose | tacho drift claude -`;

export function defineDrift(program: Command, io: Io, done: Done): void {
  program
    .command('drift')
    .description(
      'List the parts of the recordings of an agent that tacho does not know: record types, fields, and lines that are not records. Missing fields are listed as well.',
    )
    .argument('<agent>', 'the agent that wrote the recordings')
    .argument('[files...]', 'the recordings; "-" reads standard input')
    .option('--last', 'compare the session that the agent used last')
    .addOption(
      new Option(
        '--from <channel>',
        'what was recorded: standard output or session file (default: stdout; with --last: session)',
      ).choices(['stdout', 'session']),
    )
    .option('--fail', 'exit 1 when there is anything to report')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (agent: string, files: string[], flags: DriftFlags) => {
      const { driftCommand } = await import('./action.ts');
      done(await driftCommand(agent, files, flags, io));
    });
}
