/** An eval from start to end: parallel gradings, each result passed on as soon as it is known. */
import { totalTokens } from '../../evals/graders/metrics.ts';
import { type EvalReport, type EvalRow, RESULT_SCHEMA, reportOf } from '../../evals/results.ts';
import { gradeTest, type TestGrade } from '../../evals/score.ts';
import type { EvalFile, EvalTest, Tools } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { AgentRunOptions } from '../run/options.ts';
import { type Graded, type Job, jobsOfRuns, jobsOfSubjects, keyOfJob, nameOf } from './jobs.ts';
import { copyWorkspace, runForTest } from './run-for-test.ts';
import { placeOfRecord, placeOfRun } from './run-place.ts';
import type { OnProblem, Subject } from './subjects.ts';

interface EvalRequest {
  files: readonly EvalFile[];
  /** Only tests with such an id. Default: all. */
  only?: (id: string) => boolean;
  graded: Graded;
  tools: Tools;
  /** Overrides the files. Null: as in the files. */
  threshold: number | null;
  repeat: number | null;
  workers: number;
  fail_fast: boolean;
  signal: AbortSignal;
  /** Rows of an interrupted eval. */
  before: readonly EvalRow[];
  /** A row as it may be stored and shown. */
  redacted(row: EvalRow): EvalRow;
  onStart?(name: string): void;
  onRow(row: EvalRow, name: string): void;
  /** Receives lines that cannot be read, or that belong to no test. */
  onProblem: OnProblem;
  /** Receives problems of the live sessions of its runs. */
  onLive(text: string): void;
}

/** Flags replace the values of the file. */
function withFlags(file: EvalFile, { threshold, repeat }: EvalRequest): EvalFile {
  const tests = file.tests.map((test) => ({
    ...test,
    threshold: threshold ?? test.threshold,
    repeat: repeat === null ? test.repeat : { ...test.repeat, count: repeat },
  }));
  return { ...file, tests };
}

interface Outcome {
  transcript: Transcript | null;
  run_id: string | null;
  grade: TestGrade | null;
  error: string | null;
}

function rowOf(job: Job, key: string, { transcript, run_id, grade, error }: Outcome): EvalRow {
  const { file, test, target, repeat, subject } = job;
  const judged = error === null ? grade : null;
  return {
    schema_version: RESULT_SCHEMA,
    key,
    eval: file.path,
    line: test.line,
    id: test.id,
    target,
    repeat,
    repeats: subject === null ? test.repeat.count : 1,
    strategy: test.repeat.strategy,
    transcript: subject?.path ?? null,
    transcript_line: subject?.line ?? null,
    run_id: transcript?.run_id ?? run_id,
    agent: transcript?.agent ?? null,
    verdict: judged?.verdict ?? 'fail',
    score: judged?.score ?? 0,
    threshold: test.threshold,
    assertions: grade?.assertions ?? [],
    error,
    exit_reason: transcript?.exit_reason ?? null,
    duration_ms: transcript?.duration_ms ?? null,
    cost_usd: transcript?.cost_usd ?? null,
    tokens: transcript === null ? null : totalTokens(transcript),
    tool_calls: transcript?.tool_calls_count ?? null,
    steps: transcript?.steps ?? null,
  };
}

/** The result of a job. Null if it was cancelled, as if it had never started. */
async function outcomeOf(job: Job, request: EvalRequest): Promise<Outcome | null> {
  if (job.run !== null) return runOutcome(job.test, job.run, request);
  const { transcript, changes } = job.subject as Subject;
  const place = placeOfRecord(transcript.source.cwd, changes);
  const grade = await gradeTest(job.test, transcript, request.tools, place);
  return { transcript, run_id: null, grade, error: null };
}

async function runOutcome(
  test: EvalTest,
  given: AgentRunOptions,
  { tools, signal, onLive }: EvalRequest,
): Promise<Outcome | null> {
  try {
    using workspace = test.workspace === null ? null : copyWorkspace(test.workspace);
    const options = { ...given, ...(workspace !== null && { cwd: workspace.path }) };
    const run = await runForTest(options, signal, onLive);
    const { transcript, run_id, changes } = run;
    if (run.cancelled && signal.aborted) return null;
    const place = placeOfRun(options.cwd ?? '.', { template: test.workspace, changes });
    const grade = transcript === null ? null : await gradeTest(test, transcript, tools, place);
    const missing = transcript === null ? 'the run left no transcript' : null;
    return { transcript, run_id, grade, error: run.error ?? missing };
  } catch (error) {
    if (!(error instanceof TachoError)) throw error;
    return { transcript: null, run_id: null, grade: null, error: error.message };
  }
}

/** A test without a transcript has not passed. */
function unmet(files: readonly EvalFile[], rows: readonly EvalRow[]): EvalRow[] {
  const met = new Set(rows.map((row) => JSON.stringify([row.eval, row.id])));
  const missing = files.flatMap((file) =>
    file.tests
      .filter((test) => !met.has(JSON.stringify([file.path, test.id])))
      .map((test): Job => ({ file, test, target: null, repeat: 1, subject: null, run: null })),
  );
  const error =
    'none of the transcripts is for this test: use --each to grade every transcript by every test';
  return missing.map((job) =>
    rowOf(job, keyOfJob(job), { transcript: null, run_id: null, grade: null, error }),
  );
}

export interface EvalResult {
  report: EvalReport;
  rows: EvalRow[];
  /** Tests skipped because one had failed, or because of a signal. */
  stopped: boolean;
}

export async function runEval(request: EvalRequest): Promise<EvalResult> {
  const { graded, workers, fail_fast, signal, onRow, onStart } = request;
  const { only = () => true } = request;
  const all = request.files.map((file) => withFlags(file, request));
  const files = all.map((file) => ({ ...file, tests: file.tests.filter(({ id }) => only(id)) }));
  const left_out = new Set(
    all.flatMap(({ tests }) => tests.map(({ id }) => id)).filter((id) => !only(id)),
  );
  let bad_input = false;
  let stopped = false;
  const onProblem = (say: string) => {
    bad_input = true;
    request.onProblem(say);
  };
  const known = new Map(request.before.map((row) => [row.key, row]));
  const jobs =
    graded.kind === 'transcripts'
      ? jobsOfSubjects({ files, left_out }, graded, onProblem)
      : jobsOfRuns(files, graded);
  const rows: EvalRow[] = [];
  let next = 0;
  const work = async () => {
    for (;;) {
      if (stopped || signal.aborted) break;
      const { value: job, done } = await jobs.next();
      if (done || job === undefined) return;
      const place = next++;
      const key = keyOfJob(job);
      const old = known.get(key);
      if (old === undefined) onStart?.(nameOf(job));
      const outcome = old === undefined ? await outcomeOf(job, request) : null;
      const row = old ?? (outcome === null ? null : request.redacted(rowOf(job, key, outcome)));
      if (row === null) break;
      rows[place] = row;
      if (old === undefined) onRow(row, nameOf(job));
      if (fail_fast && row.verdict === 'fail') stopped = true;
    }
    stopped = true;
  };
  await Promise.all(Array.from({ length: workers }, work));
  const found = rows.filter((row) => row !== undefined);
  if (graded.kind === 'transcripts' && !stopped) {
    for (const row of unmet(files, found)) {
      found.push(row);
      onRow(row, row.id);
    }
  }
  return { report: reportOf(found, bad_input), rows: found, stopped };
}
