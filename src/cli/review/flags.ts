/** `tacho review`: a person looks at the sampled messages (CF-5). */
import { type Command, InvalidArgumentError } from 'commander';
import type { ReviewVerdict } from '../../app/live/review.ts';
import type { Done, Io } from '../command.ts';
import type { ReviewFlags } from './action.ts';

const EXAMPLES = `
Examples:
  $ tacho review                                       one sampled message after the other
  $ tacho review --list                                which are open, and what was said of the others
  $ tacho review reject SESSION 17 --note "wrong diff"`;

function seqOf(text: string): number {
  const seq = Number(text);
  if (!Number.isSafeInteger(seq) || seq < 1)
    throw new InvalidArgumentError('Give a number from 1 on.');
  return seq;
}

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
    .action(async (flags: ReviewFlags, command: Command) => {
      const { reviewCommand } = await import('./action.ts');
      done(await reviewCommand({ flags, command }, io));
    });
  const verdicts: [string, ReviewVerdict][] = [
    ['accept', 'accepted'],
    ['reject', 'rejected'],
  ];
  for (const [name, verdict] of verdicts) {
    review
      .command(name)
      .description(`say of one sampled message that it is ${verdict}`)
      .argument('<session>', 'its session')
      .argument('<seq>', 'its number', seqOf)
      .option('--note <text>', 'why')
      .action(async (session_id: string, seq: number, flags: { note?: string }, command) => {
        const { sayCommand } = await import('./action.ts');
        const note = flags.note ?? null;
        done(await sayCommand({ session_id, seq, verdict, note, command }, io));
      });
  }
}
