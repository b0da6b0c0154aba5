/** Transcripts to show: of recorded runs, made from their journal, or of files. */
import { createReadStream } from 'node:fs';
import { fileError, TachoError } from '../../lib/errors.ts';
import { nestsDeeper } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createLines } from '../../lib/lines.ts';
import { checkTranscript } from '../../model/generated/checks.ts';
import type { Transcript } from '../../model/transcript.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { type TranscriptView, viewOf } from '../../projections/transcript.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { findRunId, journalledEvents } from './replay.ts';
import { TranscriptWriter } from './transcript-writer.ts';

/** A transcript in one line: of a session of 1 GB it has some hundred MB. */
const TRANSCRIPT_BYTES_MAX = 512 * 1024 * 1024;

export interface Shown {
  view: TranscriptView;
  /** The transcript as one line of JSON. */
  json(): Iterable<string | Buffer>;
}

/** The transcript of a recorded run, in flat memory. */
export async function showRun(
  state: StateDir,
  run: string,
  show: (shown: Shown) => Promise<void>,
): Promise<void> {
  const run_id = await findRunId(state, run);
  const writer = new TranscriptWriter({ tmp: state.tmp });
  const fold = createOutcomeFold({ keepIo: false, onCall: () => undefined });
  try {
    for await (const event of journalledEvents(state, run_id)) {
      fold.push(event);
      writer.push(event);
    }
    const made = writer.finish(fold.finish());
    await show({ view: made.view, json: () => made.pieces() });
  } finally {
    writer.close();
  }
}

/** The transcripts of a file, one a line. */
export async function* readTranscripts(path: string): AsyncGenerator<Transcript> {
  const found: Transcript[] = [];
  const lines = createLines(
    {
      line(bytes, start, end, { line }) {
        if (start < end) found.push(transcriptAt(bytes.toString('utf8', start, end), path, line));
      },
      oversize({ line, bytes }) {
        throw invalid(`${path}:${line}: a line of ${bytes} bytes is over the limit`);
      },
    },
    TRANSCRIPT_BYTES_MAX,
  );
  try {
    for await (const chunk of createReadStream(path)) {
      lines.push(chunk as Buffer);
      yield* found.splice(0);
    }
    lines.end();
    yield* found.splice(0);
  } catch (cause) {
    throw fileError(cause, path, 'show');
  }
}

/** A call's input is a little deeper in a transcript than in the record that it came with. */
const DEPTH_MAX = LIMITS.depth_max + 20;

function transcriptAt(text: string, path: string, line: number): Transcript {
  if (nestsDeeper(text, DEPTH_MAX))
    throw invalid(`${path}:${line}: nests deeper than ${DEPTH_MAX}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(`${path}:${line}: is no JSON`);
  }
  if (!checkTranscript(value))
    throw invalid(`${path}:${line}: is no transcript of the form tacho.transcript.v1`);
  return value as Transcript;
}

export const shownFile = (transcript: Transcript): Shown => ({
  view: viewOf(transcript),
  json: () => [`${JSON.stringify(transcript)}\n`],
});

const invalid = (text: string) => new TachoError('usage', text, { stage: 'show' });
