/** `tacho validate`: judges a stream by the rules of its format. */
import { type Command, Option } from 'commander';
import type { Done, Io } from '../command.ts';
import type { ValidateFlags } from './action.ts';

const EXAMPLES = `
Examples:
  $ tacho validate stream.jsonl                          the messages of a live session, judged
  $ tacho validate received.jsonl --against sent.jsonl   also: is what arrived what was sent?
  $ tacho run --agent demo --output json "try it" | tacho validate -
  $ tacho validate --stored --junit conformance.xml      all that the collector here has stored
  $ tacho validate --board                               what the running collector has counted`;

export function defineValidate(program: Command, io: Io, done: Done): void {
  program
    .command('validate')
    .description(
      'judge a stream by the rules of its format, each with a threshold; exit 1 when one fails',
    )
    .argument('[file]', 'the stream; -: standard input; nothing in a terminal: as --stored')
    .addOption(
      new Option('--format <format>', 'what the stream is (default: by its first line)').choices([
        'live',
        'run-event',
        'transcript',
      ]),
    )
    .option('--against <file>', 'the live stream as it was sent: content must be the same')
    .option('--strict', 'fail also when a rule, or a part of one, could not be judged')
    .option('--json', 'as JSON')
    .option('--junit <path>', 'write the verdicts as JUnit XML too')
    .option('--stored', 'what the collector of this state folder has stored')
    .option('--session <id>', 'only this session of what is stored')
    .option('--board', "the counters of this state folder's collector, as it wrote them last")
    .addHelpText('after', EXAMPLES)
    .action(async (file: string | undefined, flags: ValidateFlags) => {
      const { validateCommand } = await import('./action.ts');
      done(await validateCommand(file, flags, io));
    });
}
