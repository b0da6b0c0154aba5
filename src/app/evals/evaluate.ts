/** The parts of an eval that the command and the library share: loading files, runs of tests, redaction, tools. */
import type { EvalFile, EvalTest } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import { EVAL_TEST_LABEL } from '../../model/words.ts';
import type { Redactor } from '../../redact/gate.ts';
import { type Asking, type Consenting, needConsent } from '../config/consent.ts';
import { passingRedactor } from '../config/redaction.ts';
import type { AgentRunOptions, RunOptions } from '../run/options.ts';
import { withTarget } from '../run/with-target.ts';
import { checkBeforeRuns } from './before-runs.ts';
import { type EvalRequest, type EvalResult, runEval } from './eval.ts';
import { type LoadedEval, loadEvalFile, loadEvalText } from './files.ts';
import type { Graded } from './jobs.ts';
import { redactedRow, redactedSubjects, redactedTools } from './redaction.ts';
import { openTools } from './tools.ts';

const usage = (text: string) => new TachoError('usage', text, { stage: 'eval' });

/** A file by its path, or the text of one. */
export type EvalSource = { path: string } | { text: string };

/**
 * The mistakes of all files are reported together. Consent is needed for all of them before anything is done, unless
 * the tests are only read.
 */
export async function loadEvals(
  sources: readonly EvalSource[],
  env: NodeJS.ProcessEnv,
  consenting: Consenting,
  { only_read = false } = {},
): Promise<EvalFile[]> {
  const agree = (asking: Asking) => needConsent(asking, consenting);
  const loaded: LoadedEval[] = [];
  const mistakes: TachoError[] = [];
  for (const source of sources) {
    try {
      const load =
        'path' in source
          ? loadEvalFile(source.path, env, agree)
          : loadEvalText(source.text, env, agree);
      loaded.push(await load);
    } catch (error) {
      if (!(error instanceof TachoError)) throw error;
      mistakes.push(error);
    }
  }
  const [first, ...others] = mistakes;
  if (first !== undefined && others.length === 0) throw first;
  if (first !== undefined) {
    const text = mistakes.map(({ message }) => message).join('\n');
    throw new TachoError('config_invalid', text, { stage: 'eval' });
  }
  if (!only_read) for (const { asking } of loaded) agree(asking);
  for (const { file } of loaded) for (const note of file.notes) consenting.say(`note: ${note}`);
  return loaded.map(({ file }) => file);
}

/** The options of a test's run: those given, completed by the test and by tacho.yaml. */
export async function optionsOfTest(
  test: EvalTest,
  asked: Omit<RunOptions, 'prompt'>,
  consenting: Consenting,
): Promise<AgentRunOptions> {
  const prompt = test.input.map(({ content }) => content).join('\n\n');
  const target = asked.agent === undefined ? (asked.target ?? test.target ?? undefined) : undefined;
  const options = {
    ...asked,
    target,
    prompt,
    timeoutMs: test.timeout_ms ?? asked.timeoutMs,
    labels: { ...asked.labels, [EVAL_TEST_LABEL]: test.id },
    outputMode: 'json' as const,
  };
  return withTarget(options, consenting);
}

export const SHARED_FOLDER =
  'note: the agent works in the current folder or in the cwd of its target; a workspace in the eval file gives each run a copy of a folder';

/**
 * Reports mistakes that need no run, and agents that would change each other's files. Returns whether tests have no
 * workspace.
 */
export function checkRuns(
  files: readonly EvalFile[],
  { workers = 1, env }: { workers?: number | undefined; env: NodeJS.ProcessEnv },
): boolean {
  checkBeforeRuns(files, env);
  const shared = files.flatMap(({ path, tests }) =>
    tests.filter(({ workspace }) => workspace === null).map(({ id }) => ({ path, id })),
  );
  const [first] = shared;
  if (first !== undefined && workers > 1)
    throw usage(
      `${first.path}: --workers ${workers} would run agents in one folder: give the file, or the test "${first.id}", a workspace (a folder of which each run gets a copy), or leave out --workers`,
    );
  return first !== undefined;
}

interface Evaluation extends Omit<EvalRequest, 'tools' | 'redacted'> {
  /** Undefined: as for the command line. */
  state_dir: string | undefined;
  env: NodeJS.ProcessEnv;
}

/** Grades without the secrets of the environment, and with the tools of this machine. */
export async function evaluate({
  state_dir,
  env,
  graded,
  onProblem,
  ...request
}: Evaluation): Promise<EvalResult> {
  const redactor = await passingRedactor(env, { state_dir });
  const tools = redactedTools(openTools(env), redactor);
  try {
    const result = await runEval({
      ...request,
      tools,
      graded: redactedGraded(graded, redactor),
      redacted: (row) => redactedRow(row, redactor),
      onProblem: (text) => onProblem(redactor.text(text)),
    });
    if (graded.kind !== 'runs') return result;
    const { withRepeats } = await import('./repeats.ts');
    return await withRepeats(result, { state_dir, env });
  } finally {
    await tools.close();
  }
}

function redactedGraded(graded: Graded, redactor: Redactor): Graded {
  if (graded.kind === 'runs') return graded;
  return {
    ...graded,
    subjects: (problem) => redactedSubjects(graded.subjects(problem), redactor),
  };
}
