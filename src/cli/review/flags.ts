/** `tacho review`: a person looks at the sampled messages (CF-5). */
import type { Command } from 'commander';
import { numberLike } from '../arguments.ts';
import type { Done, Io } from '../command.ts';
import type { ReviewFlags } from './action.ts';

const EXAMPLES = `
Examples:
  $ tacho review                                       one sampled message after the other
  $ tacho review --list                                which are open, and what was said of the others
  $ tacho review reject SESSION 17 --note "wrong diff"`;

const seqOf = numberLike('a number from 1 on', (seq) => Number.isSafeInteger(seq) && seq >= 1);

export function defineReview(program: Command, io: Io, done: Done): void {
  const review = program
    .command('review')
    .description(
      'look at one of a hundred messages that the collector stored, and accept or reject each; the tallies are in tacho validate --stored',
    )
    .option('--list', 'list the sampled messages instead of asking')
    .option('--json', 'with --list: one JSON object a line')
    .option('--session <id>', 'only of this session')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ReviewFlags) => {
      const { reviewCommand } = await import('./action.ts');
      done(await reviewCommand(flags, io));
    });
  for (const name of ['accept', 'reject'] as const) {
    const verdict = `${name}ed` as const;
    review
      .command(name)
      .description(`say of one sampled message that it is ${verdict}`)
      .argument('<session>', 'its session')
      .argument('<seq>', 'its number', seqOf)
      .option('--note <text>', 'why')
      .action(
        async (session_id: string, seq: number, { note = null }: { note?: string | null }) => {
          const { sayCommand } = await import('./action.ts');
          done(await sayCommand({ session_id, seq, verdict, note }, io));
        },
      );
  }
}
