/** `tacho review`: the flags. A person judges the sampled messages (CF-5). */
import type { Command } from 'commander';
import { numberLike } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import type { ReviewFlags } from './action.ts';

const EXAMPLES = `
Accept a message if its data is what really happened: the tool and its input,
the output and status of a call, the text. Compare it with the run (tacho show
SESSION), with the files, or with the agent's own output. Reject it if something
is wrong or missing, and say what in a note. tacho validate --stored counts the
verdicts.

Examples:
  $ tacho review                                       ask about each message
  $ tacho review --list                                list them with verdicts
  $ tacho review reject SESSION 17 --note "wrong diff"`;

const seqOf = numberLike(
  'a whole number of at least 1',
  (seq) => Number.isSafeInteger(seq) && seq >= 1,
);

export function defineReview(program: Command, io: Io, done: Done): void {
  const review = program
    .command('review')
    .description(
      'Show a sample of the messages that the collector stored, one in a hundred, and ask whether each is right.',
    )
    .option('--list', 'list the sampled messages instead of asking')
    .option('--json', 'with --list: print a JSON object per message, one per line')
    .option('--session <id>', 'only messages of this session')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ReviewFlags) => {
      const { reviewCommand } = await import('./action.ts');
      done(await reviewCommand(flags, io));
    });
  for (const name of ['accept', 'reject'] as const) {
    const verdict = `${name}ed` as const;
    review
      .command(name)
      .description(`Mark one sampled message as ${verdict}.`)
      .argument('<session>', 'session of the message, as tacho review --list shows it')
      .argument('<seq>', 'number of the message in its session', seqOf)
      .option('--note <text>', 'reason for the verdict, stored with it')
      .addHelpText('after', `\nExample:\n  $ tacho review ${name} build-7 17 --note "checked"`)
      .action(
        async (session_id: string, seq: number, { note = null }: { note?: string | null }) => {
          const { sayCommand } = await import('./action.ts');
          done(await sayCommand({ session_id, seq, verdict, note }, io));
        },
      );
  }
}
