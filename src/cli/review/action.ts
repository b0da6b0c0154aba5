/** Runs `tacho review`. */
import { passingRedactor } from '../../app/config/redaction.ts';
import {
  findSampled,
  type Review,
  type ReviewVerdict,
  reviewTally,
  type Sampled,
  sampledMessages,
  saveReview,
} from '../../app/live/review.ts';
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { sessionName } from '../../lib/ids.ts';
import { isoTime } from '../../lib/iso-time.ts';
import { jsonIn } from '../../lib/json.ts';
import { localTime } from '../../lib/local-time.ts';
import { forTerminal, oneLine } from '../../lib/terminal-text.ts';
import { type Redactor, redactRecord } from '../../redact/gate.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import { type Io, print } from '../command.ts';

export interface ReviewFlags {
  list?: true;
  json?: true;
  session?: string;
}

const TEXT_CHARS_MAX = 20_000;
const ANSWER_CHARS_MAX = 10_000;

const stateOf = ({ state_flag: flag, env }: Io) => resolveStateDir({ flag, env });

export async function sayCommand(review: Omit<Review, 'at'>, io: Io): Promise<number> {
  const { seq, verdict } = review;
  const state_dir = stateOf(io);
  const { session_id } = await findSampled(state_dir, review.session_id, seq);
  saveReview(state_dir, { ...review, session_id, at: new Date().toISOString() });
  await io.out.write(`${forTerminal(sessionName(session_id))} ${seq} ${verdict}\n`);
  return 0;
}

export async function reviewCommand(flags: ReviewFlags, io: Io): Promise<number> {
  const state_dir = stateOf(io);
  const session = flags.session ?? null;
  const redactor = await passingRedactor(io.env, { state_dir: io.state_flag });
  if (flags.list || flags.json)
    return list(sampledMessages(state_dir, session), flags, io, redactor);
  if (!io.in_is_terminal || !io.out_is_terminal)
    throw new TachoError(
      'not_a_terminal',
      'tacho review asks on a terminal; elsewhere, use tacho review --list, then tacho review accept or reject SESSION SEQ',
      { stage: 'review' },
    );
  const before = await reviewTally(state_dir, session);
  if (before.sampled === 0) return nothing(io);
  if (before.open > 0) await io.out.write(CRITERIA);
  await ask(state_dir, session, io, redactor);
  const { sampled, accepted, rejected, open } = await reviewTally(state_dir, session);
  const counts = `${accepted} accepted, ${rejected} rejected, ${open} open`;
  await io.out.write(`${plural(sampled, 'sampled message')}: ${counts}\n`);
  return 0;
}

const CRITERIA = `Accept a message if its data is what really happened: the tool and its input,
the output and status of a call, the text. Compare it with the run (tacho show
SESSION), with the files, or with the agent's own output. Reject it if something
is wrong or missing, and say what in the note.
`;

async function nothing(io: Io): Promise<number> {
  await io.out.write(
    'No messages to review: the sample has one in a hundred of the messages that tacho serve stored.\n',
  );
  return 0;
}

async function list(
  messages: AsyncIterable<Sampled>,
  flags: ReviewFlags,
  io: Io,
  redactor: Redactor,
): Promise<number> {
  let any = false;
  for await (const message of messages) {
    if (io.out.gone) break;
    any = true;
    const sampled = redactRecord(message, redactor);
    await print(io, flags, sampled, () => rowOf(sampled));
  }
  return any || flags.json ? 0 : nothing(io);
}

function rowOf({ session_id, seq, text, review }: Sampled): string {
  const note = review?.note ? ` (${oneLine(review.note, 60)})` : '';
  const word = review?.verdict ?? 'open';
  const { time, type } = aboutOf(text);
  return `${word.padEnd(8)}  ${forTerminal(sessionName(session_id))} ${seq}  ${time}  ${type}${note}\n`;
}

/** The time and type of a message. */
function aboutOf(text: string): { time: string; type: string } {
  const { timestamp, type } = (jsonIn(text) ?? {}) as Record<string, unknown>;
  const at_ms = typeof timestamp === 'string' ? (isoTime(timestamp) ?? null) : null;
  const shown_type = typeof type === 'string' ? oneLine(type, 40) : 'no type';
  return { time: localTime(at_ms) ?? 'unknown time', type: shown_type };
}

/** The message in readable form, with foreign text escaped. */
function shown({ session_id, seq, text }: Sampled): string {
  const value = jsonIn(text);
  const pretty = value === undefined ? text : JSON.stringify(value, null, 2);
  const more = pretty.length - TEXT_CHARS_MAX;
  const cut = more > 0 ? `${pretty.slice(0, TEXT_CHARS_MAX)}\n… ${more} characters more` : pretty;
  const { time, type } = aboutOf(text);
  return `\nSession ${forTerminal(sessionName(session_id))}, message ${seq}, ${time}: ${type}\n${forTerminal(cut)}\n`;
}

type Word = ReviewVerdict | 'skip' | 'quit';

/** Whole words or their first letters: text that was typed too early is not a verdict. */
const WORDS: ReadonlyMap<string, Word> = new Map(
  Object.entries({
    accept: 'accepted',
    reject: 'rejected',
    skip: 'skip',
    quit: 'quit',
  } as const).flatMap(([word, meant]) => [
    [word, meant],
    [word.slice(0, 1), meant],
  ]),
);

async function ask(state_dir: string, session: string | null, io: Io, redactor: Redactor) {
  const answers = typedLines();
  const answer = async (question: string): Promise<string | null> => {
    await io.out.write(question);
    const { value, done } = await answers.next();
    return done ? null : value.trim();
  };
  try {
    for await (const sampled of sampledMessages(state_dir, session)) {
      if (sampled.review !== null) continue;
      await io.out.write(shown(redactRecord(sampled, redactor)));
      const word = await verdictOf(answer);
      if (word === 'quit') return;
      if (word === 'skip') continue;
      const note = (await answer('Note (may be empty): ')) || null;
      const { session_id, seq } = sampled;
      const at = new Date().toISOString();
      saveReview(state_dir, { session_id, seq, verdict: word, note, at });
    }
  } finally {
    await answers.return(undefined);
  }
}

async function verdictOf(answer: (question: string) => Promise<string | null>): Promise<Word> {
  for (;;) {
    const word = await answer('Accept, reject, skip or quit? [a/r/s/q] ');
    if (word === null) return 'quit';
    const meant = WORDS.get(word.toLowerCase());
    if (meant !== undefined) return meant;
  }
}

/** The lines that are typed. */
async function* typedLines(): AsyncGenerator<string, undefined> {
  let held = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    held = (held + chunk).slice(-ANSWER_CHARS_MAX);
    const lines = held.split('\n');
    held = lines.pop() ?? '';
    yield* lines;
  }
}
