/** `tacho validate`: the flags. The action is loaded only when it runs. */
import { type Command, Option } from 'commander';
import type { Done, Io } from '../command.ts';
import type { ValidateFlags } from './action.ts';

const EXAMPLES = `
With several files, --json prints an array of reports, each with its path.

Exit codes: 0 passed · 1 a rule failed, nothing could be judged, or a file
  cannot be read · 2 usage

Examples:
  $ tacho validate stream.jsonl                          a live session
  $ tacho validate .tacho/transcripts/demo/*.jsonl       each file, and a total
  $ tacho validate received.jsonl --against sent.jsonl   compares the content
  $ tacho run --agent demo --output json "try it" | tacho validate -
  $ tacho validate --stored --junit conformance.xml      everything stored here
  $ tacho validate --board                               live counters`;

export function defineValidate(program: Command, io: Io, done: Done): void {
  program
    .command('validate')
    .description(
      'Check streams against the rules of their format. Each rule has a threshold, the share of messages that must follow it.',
    )
    .argument(
      '[files...]',
      'the streams; "-" reads standard input; on a terminal the default is --stored',
    )
    .addOption(
      new Option('--format <format>', 'format of the files (default: by their first line)').choices(
        ['live', 'run-event', 'transcript'],
      ),
    )
    .option('--against <file>', 'the live stream as it was sent; the content must be the same')
    .option('--strict', 'also fail when a rule, or a part of one, could not be judged')
    .option('--json', 'print the report as JSON')
    .option('--junit <path>', 'also write the verdicts as JUnit XML')
    .option('--stored', 'judge everything that the collector of the state folder has stored')
    .option('--session <id>', 'judge only this stored session: its id or its name in tacho tail')
    .option('--board', 'show the verdicts of the collector at the arrival of each message')
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: ValidateFlags) => {
      const { validateCommand } = await import('./action.ts');
      done(await validateCommand(files, flags, io));
    });
}
