/** Manual verification (CF-5): one of a hundred stored messages is shown to a person, who accepts or rejects it. */
import { existsSync } from 'node:fs';
import { isSampled } from '../../conformance/sample.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { nativeOf, textOf } from '../../lib/foreign.ts';
import { appendDurably, readPrivate } from '../../store/files.ts';
import { ownFolder } from '../../store/own-folder.ts';
import { livePaths } from './paths.ts';
import { storedMessages } from './stored.ts';

const REVIEW_VERDICTS = ['accepted', 'rejected'] as const;
export type ReviewVerdict = (typeof REVIEW_VERDICTS)[number];

export interface Review {
  session_id: string;
  seq: number;
  verdict: ReviewVerdict;
  note: string | null;
  at: string;
}

export interface Sampled {
  session_id: string;
  seq: number;
  /** The line as it was received. */
  text: string;
  /** A person's verdict. Null if no one has reviewed it yet. */
  review: Review | null;
}

export interface ReviewTally {
  sampled: number;
  accepted: number;
  rejected: number;
  open: number;
}

const STAGE = 'review';
const keyOf = (session_id: string, seq: number) => `${session_id}\n${seq}`;

function reviewOf(line: string): Review | null {
  try {
    const found = nativeOf(JSON.parse(line));
    const { session_id, seq, verdict, note, at } = found ?? {};
    if (typeof session_id !== 'string' || typeof seq !== 'number') return null;
    if (!(REVIEW_VERDICTS as readonly unknown[]).includes(verdict)) return null;
    const said = { verdict: verdict as ReviewVerdict, note: textOf(note), at: textOf(at) ?? '' };
    return { session_id, seq, ...said };
  } catch {
    // A line cut off when its writer died: the message is reviewed again.
    return null;
  }
}

/** Verdicts by message. The last one counts. */
function readReviews(path: string): Map<string, Review> {
  const reviews = new Map<string, Review>();
  if (!existsSync(path)) return reviews;
  try {
    for (const line of readPrivate(path).toString('utf8').split('\n')) {
      const review = line === '' ? null : reviewOf(line);
      if (review !== null) reviews.set(keyOf(review.session_id, review.seq), review);
    }
  } catch (cause) {
    throw fileError(cause, path, STAGE);
  }
  return reviews;
}

/** The sampled messages that a collector stored, in its order, each once. */
export async function* sampledMessages(
  state_dir: string,
  session: string | null = null,
): AsyncGenerator<Sampled> {
  const reviews = readReviews(livePaths(state_dir).review);
  const given = new Set<string>();
  for await (const { session: session_id, seq, body } of storedMessages(state_dir, session)) {
    const key = keyOf(session_id, seq);
    if (!isSampled(session_id, seq) || given.has(key)) continue;
    given.add(key);
    yield { session_id, seq, text: body, review: reviews.get(key) ?? null };
  }
}

export async function reviewTally(
  state_dir: string,
  session: string | null = null,
): Promise<ReviewTally> {
  const tally: ReviewTally = { sampled: 0, accepted: 0, rejected: 0, open: 0 };
  for await (const { review } of sampledMessages(state_dir, session)) {
    tally.sampled += 1;
    tally[review === null ? 'open' : review.verdict] += 1;
  }
  return tally;
}

/** Refuses messages that are not in the sample: reviewers do not choose it. */
export async function findSampled(
  state_dir: string,
  session_id: string,
  seq: number,
): Promise<Sampled> {
  for await (const sampled of sampledMessages(state_dir, session_id))
    if (sampled.seq === seq) return sampled;
  const text = `message ${seq} of session ${session_id} is not in the sample: tacho review --list shows the sample`;
  throw new TachoError('not_found', text, { stage: STAGE });
}

/** Appends one verdict. An earlier one on the same message stays in the file but no longer counts. */
export function saveReview(state_dir: string, review: Review): void {
  const { dir, review: path } = livePaths(state_dir);
  ownFolder(dir, false);
  try {
    appendDurably(path, `${JSON.stringify(review)}\n`);
  } catch (cause) {
    throw fileError(cause, path, STAGE);
  }
}
