/** Mistakes that would fail a test only after its run, which costs time and money. They are reported before any run. */
import { statSync } from 'node:fs';
import type { Assertion, EvalFile, EvalTest, ModelRequest } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import { missingKey } from './ask-model.ts';
import { withMembers } from './effects.ts';

/** Throws a TachoError with every mistake. */
export function checkBeforeRuns(files: readonly EvalFile[], env: NodeJS.ProcessEnv): void {
  const mistakes = files.flatMap(({ path, tests }) =>
    tests.flatMap((test) =>
      mistakesIn(test, env).map((why) => `${path}:${test.line}: the test "${test.id}" ${why}`),
    ),
  );
  if (mistakes.length > 0)
    throw new TachoError('config_invalid', mistakes.join('\n'), { stage: 'eval' });
}

function mistakesIn(test: EvalTest, env: NodeJS.ProcessEnv): string[] {
  const { input, workspace, assertions } = test;
  const empty = input.every(({ content }) => content.trim() === '');
  const judged = new Set(assertions.flatMap(withMembers).map((one) => judgeMistake(one, env)));
  return [
    empty ? 'has no input: add one, or grade a recorded run with --run' : null,
    workspace === null || isFolder(workspace)
      ? null
      : `has no workspace: ${workspace} is not a folder`,
    ...judged,
  ].filter((why) => why !== null);
}

const isFolder = (path: string) =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function judgeMistake({ type, options }: Assertion, env: NodeJS.ProcessEnv): string | null {
  if (type !== 'llm-grader' && type !== 'rubrics') return null;
  const {
    model,
    api = 'openai',
    base_url = null,
    api_key_env = null,
  } = options as Partial<ModelRequest>;
  if (model === undefined)
    return 'is judged by a model: name it under grader in the file, or in TACHO_GRADER_MODEL';
  const key = missingKey({ api, base_url, api_key_env }, env);
  return key === null ? null : `is judged by a model: set its key in ${key}`;
}
