/** The transcripts to grade: from files, or of recorded runs. */
import { jsonFault } from '../../lib/json.ts';
import { type LineSink, linesIn } from '../../lib/lines.ts';
import { schemaFault } from '../../lib/schema/json-schema.ts';
import { checkTranscript } from '../../model/generated/checks.ts';
import type { Transcript } from '../../model/transcript.ts';
import { openIndex } from '../../store/index/index-db.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { schemaOf } from '../config/paths.ts';
import { APP_LIMITS } from '../limits.ts';
import { withCostOf } from '../prices/costs.ts';
import { runIdIn } from '../runs/replay.ts';
import { transcriptOnDemand } from '../runs/transcript-writer.ts';
import { chunksOf } from '../sessions/session-chunks.ts';

export interface Subject {
  transcript: Transcript;
  /** The file as it was named, and the line; or the id of the run. */
  path: string;
  line: number;
  /** Paths that the run changed. Null if the transcript has no record of them. */
  changes: readonly string[] | null;
}

/** Receives each line that cannot be graded, as `FILE:LINE: why`. */
export type OnProblem = (say: string) => void;

function transcriptIn(text: string): Transcript | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not JSON: ${jsonFault(error)}`;
  }
  if (checkTranscript(value)) return value as Transcript;
  // The check detects a fault; the published schema locates it.
  return `not a transcript: ${schemaFault(schemaOf('transcript'), value) ?? 'it does not match the schema'}`;
}

/** Transcripts of a file, line by line. A line that cannot be read is reported and skipped. */
export async function* transcriptsIn(path: string, problem: OnProblem): AsyncGenerator<Subject> {
  const sink = (put: (item: { text: string; line: number }) => void): LineSink => ({
    line: (bytes, start, end, { line }) => put({ text: bytes.toString('utf8', start, end), line }),
    oversize: ({ line, bytes }) =>
      problem(`${path}:${line}: the line is too long (${bytes} bytes)`),
  });
  for await (const lines of linesIn(chunksOf(path), sink, APP_LIMITS.transcript_line_bytes_max))
    for (const { text, line } of lines) {
      if (text.trim() === '') continue;
      const transcript = transcriptIn(text);
      if (typeof transcript === 'string') problem(`${path}:${line}: ${transcript}`);
      else yield { transcript, path, line, changes: null };
    }
}

/** The transcripts of recorded runs. A missing one is built from the journal and saved. */
export async function* transcriptsOfRuns(
  state: StateDir,
  runs: readonly string[],
  problem: OnProblem,
): AsyncGenerator<Subject> {
  using index = openIndex(state);
  for (const run of runs) {
    const run_id = runIdIn(state, index, run);
    const path = await transcriptOnDemand(state, index, run_id);
    const outcome = index.getRun(run_id);
    const changes = outcome?.artifacts.map((artifact) => artifact.path) ?? null;
    for await (const { transcript: recorded, line } of transcriptsIn(path, problem)) {
      const transcript = outcome === null ? recorded : withCostOf(recorded, outcome);
      yield { transcript, path: run_id, line, changes };
    }
  }
}
