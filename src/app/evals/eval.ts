/** An eval from start to end: what is to be graded, several at a time, each result kept as soon as it is known. */
import { type EvalReport, type EvalRow, RESULT_SCHEMA, reportOf } from '../../evals/results.ts';
import { gradeTest, type TestGrade } from '../../evals/score.ts';
import type { EvalFile, EvalTest, Tools } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { AgentRunOptions } from '../run/request.ts';
import { hashOf } from './results.ts';
import { copyWorkspace, runForTest, type Workspace } from './run-for-test.ts';
import type { OnProblem, Subject } from './subjects.ts';

/** What is graded: transcripts that are there, or a run for each test. */
export type Graded =
  | { kind: 'transcripts'; subjects(problem: OnProblem): AsyncIterable<Subject>; each: boolean }
  | { kind: 'runs'; options(test: EvalTest): Promise<AgentRunOptions> };

interface EvalRequest {
  files: readonly EvalFile[];
  graded: Graded;
  tools: Tools;
  /** Over what the files say; null: as they say. */
  threshold: number | null;
  repeat: number | null;
  workers: number;
  fail_fast: boolean;
  signal: AbortSignal;
  /** Rows of an eval that broke off. */
  before: readonly EvalRow[];
  /** A row as it may be kept and shown. */
  redacted(row: EvalRow): EvalRow;
  onStart?(name: string): void;
  onRow(row: EvalRow, name: string): void;
  /** What could not be graded: lines that cannot be read, or that no test is about. */
  onProblem: OnProblem;
  /** Problems of the live sessions of its runs. */
  onLive(text: string): void;
}

interface Job {
  file: EvalFile;
  test: EvalTest;
  target: string | null;
  repeat: number;
  subject: Subject | null;
  run: AgentRunOptions | null;
}

const nameOf = ({ test, repeat, subject }: Job) =>
  `${test.id}${test.repeat.count > 1 && subject === null ? ` #${repeat}` : ''}`;

/** Flags go before the file. */
function withFlags(file: EvalFile, { threshold, repeat }: EvalRequest): EvalFile {
  const tests = file.tests.map((test) => ({
    ...test,
    threshold: threshold ?? test.threshold,
    repeat: repeat === null ? test.repeat : { ...test.repeat, count: repeat },
  }));
  return { ...file, tests };
}

/** A line belongs to the test it was made for; with one test, or when asked, every test grades it. */
async function* jobsOfSubjects(
  files: readonly EvalFile[],
  graded: Extract<Graded, { kind: 'transcripts' }>,
  onProblem: OnProblem,
): AsyncGenerator<Job> {
  const all = files.flatMap((file) => file.tests.map((test) => ({ file, test })));
  const every = graded.each || all.length === 1;
  const byId = Map.groupBy(all, ({ test }) => test.id);
  for await (const subject of graded.subjects(onProblem)) {
    const { test_id, target } = subject.transcript;
    const own = test_id === null ? undefined : byId.get(test_id);
    const tests = graded.each ? all : (own ?? (every ? all : []));
    if (tests.length === 0) {
      const whose = test_id === null ? 'says no test_id' : `is for the test "${test_id}"`;
      onProblem(
        `${subject.path}:${subject.line}: ${whose}, and no test here has that: use --each to grade it by every test`,
      );
    }
    for (const { file, test } of tests) yield { file, test, target, repeat: 1, subject, run: null };
  }
}

async function* jobsOfRuns(
  files: readonly EvalFile[],
  graded: Extract<Graded, { kind: 'runs' }>,
): AsyncGenerator<Job> {
  const prepared: { file: EvalFile; test: EvalTest; run: AgentRunOptions }[] = [];
  // All of them first: a target that is not there is told before anything runs.
  for (const file of files) {
    for (const test of file.tests) prepared.push({ file, test, run: await graded.options(test) });
  }
  for (const { file, test, run } of prepared) {
    const target = run.target ?? null;
    for (let repeat = 1; repeat <= test.repeat.count; repeat++)
      yield { file, test, target, repeat, subject: null, run };
  }
}

/** The line is not what a test is. */
const definitions = new WeakMap<EvalTest, string>();

function definitionOf(test: EvalTest): string {
  const known = definitions.get(test);
  if (known !== undefined) return known;
  const { line: _, ...rest } = test;
  const hash = hashOf(rest);
  definitions.set(test, hash);
  return hash;
}

function keyOfJob({ file, test, target, repeat, subject }: Job): string {
  const run = subject && [subject.path, subject.line, subject.transcript.run_id];
  return JSON.stringify([file.path, definitionOf(test), target, repeat, run]);
}

function tokensOf({ token_usage: { input, output, cache_read, cache_write } }: Transcript) {
  if (input === null || output === null) return null;
  return input + output + (cache_read ?? 0) + (cache_write ?? 0);
}

interface Outcome {
  transcript: Transcript | null;
  run_id: string | null;
  grade: TestGrade | null;
  error: string | null;
}

function rowOf(job: Job, key: string, { transcript, run_id, grade, error }: Outcome): EvalRow {
  const { file, test, target, repeat, subject } = job;
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
    verdict: error === null && grade !== null ? grade.verdict : 'fail',
    score: error === null && grade !== null ? grade.score : 0,
    threshold: test.threshold,
    assertions: grade?.assertions ?? [],
    error,
    exit_reason: transcript?.exit_reason ?? null,
    duration_ms: transcript?.duration_ms ?? null,
    cost_usd: transcript?.cost_usd ?? null,
    tokens: transcript === null ? null : tokensOf(transcript),
    tool_calls: transcript?.tool_calls_count ?? null,
    steps: transcript?.steps ?? null,
  };
}

/** What a job comes to; null: it was cancelled, and is as if never begun. */
async function outcomeOf(job: Job, request: EvalRequest): Promise<Outcome | null> {
  if (job.run !== null) return runOutcome(job.test, job.run, request);
  const transcript = (job.subject as Subject).transcript;
  const grade = await gradeTest(job.test, transcript, request.tools);
  return { transcript, run_id: null, grade, error: null };
}

async function runOutcome(
  test: EvalTest,
  given: AgentRunOptions,
  { tools, signal, onLive }: EvalRequest,
): Promise<Outcome | null> {
  let workspace: Workspace | null = null;
  try {
    workspace = test.workspace === null ? null : copyWorkspace(test.workspace);
    const options = { ...given, ...(workspace !== null && { cwd: workspace.path }) };
    const run = await runForTest(options, signal, onLive);
    const { transcript, run_id } = run;
    if (run.cancelled && signal.aborted) return null;
    const grade = transcript === null ? null : await gradeTest(test, transcript, tools);
    const missing = transcript === null ? 'the run left no transcript' : null;
    return { transcript, run_id, grade, error: run.error ?? missing };
  } catch (error) {
    if (!(error instanceof TachoError)) throw error;
    return { transcript: null, run_id: null, grade: null, error: error.message };
  } finally {
    workspace?.remove();
  }
}

/** A test that nothing was there for has not passed. */
function unmet(files: readonly EvalFile[], rows: readonly EvalRow[]): EvalRow[] {
  const met = new Set(rows.map((row) => JSON.stringify([row.eval, row.id])));
  const missing = files.flatMap((file) =>
    file.tests
      .filter((test) => !met.has(JSON.stringify([file.path, test.id])))
      .map((test): Job => ({ file, test, target: null, repeat: 1, subject: null, run: null })),
  );
  const error = 'there is no transcript for this test';
  return missing.map((job) =>
    rowOf(job, keyOfJob(job), { transcript: null, run_id: null, grade: null, error }),
  );
}

export interface EvalResult {
  report: EvalReport;
  rows: EvalRow[];
  /** Tests left out because one had failed, or a signal came. */
  stopped: boolean;
}

export async function runEval(request: EvalRequest): Promise<EvalResult> {
  const { graded, workers, fail_fast, signal, onRow, onStart } = request;
  const files = request.files.map((file) => withFlags(file, request));
  let bad_input = false;
  let stopped = false;
  const onProblem = (say: string) => {
    bad_input = true;
    request.onProblem(say);
  };
  const known = new Map(request.before.map((row) => [row.key, row]));
  const jobs =
    graded.kind === 'transcripts'
      ? jobsOfSubjects(files, graded, onProblem)
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
