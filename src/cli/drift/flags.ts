/** `tacho drift`: what an agent says that its adapter does not know. */
import { type Command, Option } from 'commander';
import type { Done, Io } from '../command.ts';
import type { DriftFlags } from './action.ts';

const EXAMPLES = `
Examples:
  $ tacho drift claude --last --fail            is the session used last still understood?
  $ claude -p "…" --output-format stream-json --verbose | tacho drift claude -`;

export function defineDrift(program: Command, io: Io, done: Done): void {
  program
    .command('drift')
    .description(
      "list what an agent's recording holds that tacho does not know, or lacks: types of records, fields, and lines that are no records",
    )
    .argument('<agent>', 'which agent made it')
    .argument('[file]', 'the recording; -: standard input')
    .option('--last', "the agent's session that was used last")
    .addOption(
      new Option(
        '--from <channel>',
        'what the file is (default: stdout; with --last: session)',
      ).choices(['stdout', 'session']),
    )
    .option('--fail', 'exit 1 when there is anything to list')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (agent: string, file: string | undefined, flags: DriftFlags) => {
      const { driftCommand } = await import('./action.ts');
      done(await driftCommand(agent, file, flags, io));
    });
}
