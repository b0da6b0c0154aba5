/** Transcripts to show: of recorded runs, built from their journal, or from files. */
import { createReadStream } from 'node:fs';
import { fileError, TachoError } from '../../lib/errors.ts';
import { jsonIn, nestsDeeper } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type LineSink, linesIn } from '../../lib/lines.ts';
import { checkTranscript } from '../../model/generated/checks.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { UnfinishedState } from '../../model/unfinished.ts';
import { type TranscriptView, viewOf } from '../../projections/transcript.ts';
import { openIndex } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { withStoredCost } from '../prices/costs.ts';
import { findRunId, journalledEvents } from './replay.ts';
import { TranscriptWriter } from './transcript-writer.ts';
import { unfinishedOf } from './unfinished.ts';

/** A transcript on one line: for a session of 1 GB it has some hundred MB. */
const TRANSCRIPT_BYTES_MAX = 512 * 1024 * 1024;

export interface Shown {
  view: TranscriptView;
  /** Null for a transcript from a file. */
  outcome: RunOutcome | null;
  /** Its state, if it may not be finished. */
  unfinished: UnfinishedState | null;
  /** The transcript as one line of JSON. */
  json(): Iterable<string | Buffer>;
}

/** The transcript of a recorded run, in constant memory. */
export async function showRun(
  state: StateDir,
  run: string,
  show: (shown: Shown) => Promise<void>,
): Promise<void> {
  const run_id = await findRunId(state, run);
  using writer = new TranscriptWriter({ tmp: state.tmp });
  const outcome = storedOutcome(state, run_id);
  const recorded = await writer.pushAll(journalledEvents(state, run_id));
  const { view, pieces } = writer.finish(withStoredCost(recorded, outcome));
  await show({ view, outcome, unfinished: await unfinishedOf(state, run_id), json: pieces });
}

/** The outcome of a run as stored in the index. */
export function storedOutcome(state: StateDir, run_id: string): RunOutcome {
  using index = openIndex(state);
  return index.getRun(run_id) as RunOutcome;
}

/** The call or step that the event with this number belongs to. Null if there is no such event. */
export async function placeOfEvent(
  state: StateDir,
  run_id: string,
  seq: number,
): Promise<{ call: string } | { step: number } | null> {
  for await (const event of journalledEvents(state, run_id)) {
    if (event.seq !== seq) continue;
    const { call_id } = event.data as { call_id?: string | null };
    return typeof call_id === 'string' ? { call: call_id } : { step: event.step };
  }
  return null;
}

/** The transcripts of a file, one per line. */
export async function* readTranscripts(path: string): AsyncGenerator<Transcript> {
  const sink = (put: (transcript: Transcript) => void): LineSink => ({
    line(bytes, start, end, { line }) {
      if (start < end) put(transcriptAt(bytes.toString('utf8', start, end), path, line));
    },
    oversize({ line, bytes }) {
      throw invalid(`${path}:${line}: a line of ${bytes} bytes is over the limit`);
    },
  });
  try {
    for await (const found of linesIn(createReadStream(path), sink, TRANSCRIPT_BYTES_MAX))
      yield* found;
  } catch (cause) {
    throw fileError(cause, path, 'show');
  }
}

const IMPORT_FIRST =
  'show reads transcripts of tacho: import a session file with tacho import AGENT FILE, then show the run';

/** A call's input is slightly deeper in a transcript than in its original record. */
const DEPTH_MAX = LIMITS.depth_max + 20;

function transcriptAt(text: string, path: string, line: number): Transcript {
  if (nestsDeeper(text, DEPTH_MAX))
    throw invalid(`${path}:${line}: nests deeper than ${DEPTH_MAX}`);
  const value = jsonIn(text);
  if (value === undefined) throw invalid(`${path}:${line}: is not JSON; ${IMPORT_FIRST}`);
  if (!checkTranscript(value))
    throw invalid(`${path}:${line}: is not a transcript; ${IMPORT_FIRST}`);
  return value as Transcript;
}

export const shownFile = (transcript: Transcript): Shown => ({
  view: viewOf(transcript),
  outcome: null,
  unfinished: null,
  json: () => [`${JSON.stringify(transcript)}\n`],
});

const invalid = (text: string) => new TachoError('usage', text, { stage: 'show' });
