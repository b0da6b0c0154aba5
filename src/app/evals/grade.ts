/** Grades transcripts or recorded runs by an eval file, for programs: `tacho eval --transcript` and `--run` as a function. */
import { TachoError } from '../../lib/errors.ts';
import { checkTranscript } from '../../model/generated/checks.ts';
import type { Transcript } from '../../model/transcript.ts';
import { openStateDir, resolveStateDir } from '../../store/state-dir.ts';
import { type Asking, needConsent } from '../config/consent.ts';
import { isTrusted } from '../config/own-state.ts';
import { passingRedactor } from '../config/redaction.ts';
import { catchUpState } from '../runs/catch-up.ts';
import { type EvalResult, runEval } from './eval.ts';
import { loadEvalFile, loadEvalText } from './files.ts';
import { redactedRow, redactedSubjects, redactedTools } from './redaction.ts';
import { type OnProblem, type Subject, transcriptsOfRuns } from './subjects.ts';
import { openTools } from './tools.ts';

export interface GradeOptions {
  /** Path of an eval file. Give either this or `text`. */
  file?: string;
  /** Text of an eval file. Names of other files in it are relative to the current folder. */
  text?: string;
  /** Give either these or `runs`. */
  transcripts?: readonly Transcript[];
  /** Recorded runs: ids, prefixes of ids, or `last`. */
  runs?: readonly string[];
  /** Score from which a test passes. Default: as in the file, otherwise 0.8. */
  threshold?: number;
  /** Grade each transcript by every test. Default: by the test that its `test_id` names. */
  each?: boolean;
  /** State folder of `runs`. Default: as for the command line. */
  stateDir?: string;
  /** Agree to the effects of the eval file: commands, endpoints, files outside its project. */
  trust?: boolean;
  /** Parallel gradings. Default: 4. */
  workers?: number;
  /** Stops the grading when it is aborted. */
  signal?: AbortSignal;
  /** Receives messages for people, such as fields of the file that have no effect. */
  onNotice?: (text: string) => void;
}

export interface GradeResult extends EvalResult {
  /** Transcripts that could not be graded, each with the reason. */
  problems: string[];
}

const WORKERS = 4;

const usage = (text: string) => new TachoError('usage', text, { stage: 'eval' });

/**
 * Rejects with a TachoError for mistakes in the eval file, each with its line and column, and if consent is missing.
 */
export async function gradeTranscripts(options: GradeOptions): Promise<GradeResult> {
  const { env } = process;
  const file = await load(options);
  const redactor = await passingRedactor(env, { state_dir: options.stateDir });
  const tools = redactedTools(openTools(env), redactor);
  const problems: string[] = [];
  try {
    const result = await runEval({
      files: [file],
      graded: {
        kind: 'transcripts',
        each: options.each ?? false,
        subjects: (problem) => redactedSubjects(subjectsOf(options, problem), redactor),
      },
      tools,
      threshold: options.threshold ?? null,
      repeat: null,
      workers: options.workers ?? WORKERS,
      fail_fast: false,
      signal: options.signal ?? new AbortController().signal,
      before: [],
      redacted: (row) => redactedRow(row, redactor),
      onRow: () => {},
      onProblem: (text) => void problems.push(redactor.text(text)),
      onLive: () => {},
    });
    return { ...result, problems };
  } finally {
    await tools.close();
  }
}

async function load({ file, text, trust, onNotice: say = () => {} }: GradeOptions) {
  const { env } = process;
  const consenting = { trust: isTrusted(trust, env), say, ask: () => null };
  const agree = (asking: Asking) => needConsent(asking, consenting);
  if ((file === undefined) === (text === undefined)) throw usage('give either file or text');
  const loaded =
    file === undefined
      ? await loadEvalText(text as string, env, agree)
      : await loadEvalFile(file, env, agree);
  agree(loaded.asking);
  for (const note of loaded.file.notes) say(note);
  return loaded.file;
}

async function* subjectsOf(options: GradeOptions, problem: OnProblem): AsyncGenerator<Subject> {
  const { transcripts, runs, stateDir: flag, onNotice: say = () => {} } = options;
  if ((transcripts === undefined) === (runs === undefined))
    throw usage('give either transcripts or runs');
  for (const [i, transcript] of (transcripts ?? []).entries()) {
    if (!checkTranscript(transcript)) throw usage(`transcripts[${i}] is not a transcript`);
    yield { transcript, path: 'transcripts', line: i + 1, changes: null };
  }
  if (runs === undefined) return;
  const state = openStateDir(resolveStateDir({ flag, env: process.env }));
  await catchUpState(state, say);
  yield* transcriptsOfRuns(state, runs, problem);
}
