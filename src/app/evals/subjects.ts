/** What is graded: transcripts out of files, or of recorded runs. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonFault } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createLines } from '../../lib/lines.ts';
import { type JsonSchema, schemaFault } from '../../lib/schema/json-schema.ts';
import type { Event } from '../../model/event.ts';
import { checkTranscript } from '../../model/generated/checks.ts';
import type { Transcript } from '../../model/transcript.ts';
import { transcriptOf } from '../../projections/transcript.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { transcriptPath } from '../../store/spool/run-files.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { packageRoot } from '../config/paths.ts';
import { findRunId, journalledEvents } from '../runs/replay.ts';
import { chunksOf } from '../sessions/session-source.ts';

export interface Subject {
  transcript: Transcript;
  /** File as it was named, and line; the run's id where it was asked for by that. */
  path: string;
  line: number;
}

/** What cannot be graded, as `FILE:LINE: why`. */
export type OnProblem = (say: string) => void;

/** The check finds out whether there is a fault; the published schema, where. */
function faultOf(value: unknown): string {
  const schema = JSON.parse(
    readFileSync(join(packageRoot(), 'schema', 'transcript.json'), 'utf8'),
  ) as JsonSchema;
  return schemaFault(schema, value) ?? 'is no transcript';
}

function transcriptIn(text: string): Transcript | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `no JSON: ${jsonFault(error)}`;
  }
  return checkTranscript(value) ? (value as Transcript) : `no transcript: ${faultOf(value)}`;
}

/** Transcripts of a file, line by line; one that cannot be read is told and left out. */
export async function* transcriptsIn(path: string, problem: OnProblem): AsyncGenerator<Subject> {
  let ready: { text: string; line: number }[] = [];
  const lines = createLines(
    {
      line: (bytes, start, end, place) =>
        void ready.push({ text: bytes.toString('utf8', start, end), line: place.line }),
      oversize: ({ line, bytes }) => problem(`${path}:${line}: ${bytes} bytes are too long a line`),
    },
    LIMITS.transcript_line_bytes_max,
  );
  function* taken(): Generator<Subject> {
    const now = ready;
    ready = [];
    for (const { text, line } of now) {
      if (text.trim() === '') continue;
      const transcript = transcriptIn(text);
      if (typeof transcript === 'string') problem(`${path}:${line}: ${transcript}`);
      else yield { transcript, path, line };
    }
  }
  for await (const chunk of chunksOf(path)) {
    lines.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    yield* taken();
  }
  lines.end();
  yield* taken();
}

function agentOfRun(state: StateDir, run_id: string): string {
  const index = openIndex(state);
  try {
    return index.getRun(run_id)?.agent ?? '';
  } finally {
    index.close();
  }
}

/** The transcript of a recorded run; where it was not written, made again from the journal. */
export async function* transcriptOfRun(
  state: StateDir,
  run: string,
  problem: OnProblem,
): AsyncGenerator<Subject> {
  const run_id = await findRunId(state, run);
  const path = transcriptPath(state, agentOfRun(state, run_id), run_id);
  if (existsSync(path)) {
    for await (const { transcript, line } of transcriptsIn(path, problem))
      yield { transcript, path: run_id, line };
    return;
  }
  const events: Event[] = [];
  for await (const event of journalledEvents(state, run_id)) events.push(event);
  yield { transcript: transcriptOf(events), path: run_id, line: 1 };
}
