/** Grades transcripts or recorded runs by an eval file, for programs: `tacho eval --transcript` and `--run` as a function. */
import { TachoError } from '../../lib/errors.ts';
import { checkTranscript } from '../../model/generated/checks.ts';
import type { Transcript } from '../../model/transcript.ts';
import { openStateDir, resolveStateDir } from '../../store/state-dir.ts';
import { isTrusted } from '../config/own-state.ts';
import { catchUpState } from '../runs/catch-up.ts';
import type { EvalResult } from './eval.ts';
import { evaluate, loadEvals } from './evaluate.ts';
import { type OnProblem, type Subject, transcriptsOfRuns } from './subjects.ts';

/** Options of `grade`. */
export interface GradeOptions {
  /** Path of an eval file. Give either this or `text`. */
  file?: string | undefined;
  /** Text of an eval file. Names of other files in it are relative to the current folder. */
  text?: string | undefined;
  /** Transcripts to grade. Give either these or `runs`. */
  transcripts?: readonly Transcript[] | undefined;
  /** Recorded runs to grade: ids, prefixes of ids, `last` or `last~1`. */
  runs?: readonly string[] | undefined;
  /** Score from which a test passes, 0 to 1. Default: as in the file, otherwise 0.8. */
  threshold?: number | undefined;
  /** Grade each transcript by every test. Default: by the test that its `test_id` names. */
  each?: boolean | undefined;
  /** State folder of `runs`. Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  stateDir?: string | undefined;
  /**
   * Agree to the effects of the eval file: commands, endpoints, files outside its project. Default: the consent given by
   * `tacho trust`.
   */
  trust?: boolean | undefined;
  /** Number of transcripts that are graded at a time. Default: 4. */
  workers?: number | undefined;
  /** Stops the grading when it is aborted. */
  signal?: AbortSignal | undefined;
  /** Receives messages for people, such as fields of the file that have no effect. */
  onNotice?: ((text: string) => void) | undefined;
}

/** The result of `grade`. */
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
  const { file: path, text, onNotice: say = () => {} } = options;
  if ((path === undefined) === (text === undefined)) throw usage('grade: give either file or text');
  const source = path === undefined ? { text: text as string } : { path };
  const consenting = { trust: isTrusted(options.trust, env), say, ask: () => null };
  const problems: string[] = [];
  const result = await evaluate({
    env,
    files: await loadEvals([source], env, consenting),
    graded: {
      kind: 'transcripts',
      each: options.each ?? false,
      subjects: (problem) => subjectsOf(options, problem),
    },
    state_dir: options.stateDir,
    threshold: options.threshold ?? null,
    repeat: null,
    workers: options.workers ?? WORKERS,
    fail_fast: false,
    signal: options.signal ?? new AbortController().signal,
    before: [],
    onRow: () => {},
    onProblem: (text) => void problems.push(text),
    onLive: () => {},
  });
  return { ...result, problems };
}

async function* subjectsOf(options: GradeOptions, problem: OnProblem): AsyncGenerator<Subject> {
  const { transcripts, runs, stateDir: flag, onNotice: say = () => {} } = options;
  if ((transcripts === undefined) === (runs === undefined))
    throw usage('grade: give either transcripts or runs');
  for (const [i, transcript] of (transcripts ?? []).entries()) {
    if (!checkTranscript(transcript)) throw usage(`transcripts[${i}] is not a transcript`);
    yield { transcript, path: 'transcripts', line: i + 1, changes: null };
  }
  if (runs === undefined) return;
  const state = openStateDir(resolveStateDir({ flag, env: process.env }));
  await catchUpState(state, say);
  yield* transcriptsOfRuns(state, runs, problem);
}
