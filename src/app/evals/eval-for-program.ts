/** Runs the tests of eval files with an agent, for programs: `tacho eval --agent` as a function. */
import type { EvalRow } from '../../evals/results.ts';
import { TachoError } from '../../lib/errors.ts';
import { isTrusted } from '../config/own-state.ts';
import type { LimitOptions, RunOptions } from '../run/options.ts';
import type { EvalResult } from './eval.ts';
import { checkRuns, evaluate, loadEvals, optionsOfTest, SHARED_FOLDER } from './evaluate.ts';
import { onlyTests, selectedOf } from './only-tests.ts';
import { startResults } from './results.ts';

/** Options of `runEval`. Limits, retries and the options of the agent apply to each run. */
export interface RunEvalOptions
  extends LimitOptions,
    Pick<
      RunOptions,
      | 'agent'
      | 'target'
      | 'model'
      | 'approve'
      | 'args'
      | 'env'
      | 'command'
      | 'timeoutMs'
      | 'bestEffortLimits'
      | 'retries'
      | 'retryWaitMs'
      | 'labels'
      | 'live'
      | 'acceptInput'
      | 'stateDir'
    > {
  /** Paths of eval files. Give either these or `text`. */
  files?: readonly string[] | undefined;
  /** Text of an eval file. Names of other files in it are relative to the current folder. */
  text?: string | undefined;
  /** Run only the tests with these ids; `*` matches any text. Default: all. */
  tests?: readonly string[] | undefined;
  /** Score from which a test passes, 0 to 1. Default: as in the file, otherwise 0.8. */
  threshold?: number | undefined;
  /** Run each test this many times. Default: as in the file, otherwise once. */
  repeat?: number | undefined;
  /** Number of agents that run at a time. More than 1 needs a workspace in the eval file. Default: 1. */
  workers?: number | undefined;
  /** Stop at the first test that fails. Default: false. */
  failFast?: boolean | undefined;
  /** Path of a file to write: one JSON line per result, as soon as it is known. Default: none. */
  results?: string | undefined;
  /** Path of the results file of an interrupted eval: its results are kept, the rest is added. Default: none. */
  resume?: string | undefined;
  /** Agree to the effects of the eval files and of tacho.yaml. Default: the consent given by `tacho trust`. */
  trust?: boolean | undefined;
  /** Ends the running agents and the eval when it is aborted. Finished results are kept. */
  signal?: AbortSignal | undefined;
  /** Receives each result as soon as it is known. */
  onResult?: ((row: EvalRow) => void) | undefined;
  /** Receives messages for people, such as fields of the file that have no effect. */
  onNotice?: ((text: string) => void) | undefined;
}

const usage = (text: string) => new TachoError('usage', text, { stage: 'eval' });

export async function evalForProgram(options: RunEvalOptions): Promise<EvalResult> {
  const { files: paths, text, tests, threshold, repeat, workers = 1, failFast, ...more } = options;
  const { results, resume, trust, signal, onResult, onNotice: say = () => {}, ...runs } = more;
  const { env } = process;
  const consenting = { trust: isTrusted(trust, env), say, ask: () => null };
  if ((paths === undefined) === (text === undefined))
    throw usage('runEval: give either files or text');
  if (options.agent !== undefined && options.target !== undefined)
    throw usage('runEval: give either agent or target');
  const sources = paths?.map((path) => ({ path })) ?? [{ text: text as string }];
  const files = await loadEvals(sources, env, consenting);
  const only = onlyTests(files, tests);
  if (checkRuns(selectedOf(files, only), { workers, env })) say(SHARED_FOLDER);
  using writing = startResults({ results, resume });
  return await evaluate({
    env,
    files,
    only,
    graded: { kind: 'runs', options: (test) => optionsOfTest(test, runs, consenting) },
    state_dir: options.stateDir,
    threshold: threshold ?? null,
    repeat: repeat ?? null,
    workers,
    fail_fast: failFast ?? false,
    signal: signal ?? new AbortController().signal,
    before: writing.before,
    onRow(row) {
      writing.add(row);
      onResult?.(row);
    },
    onProblem: say,
    onLive: say,
  });
}
