/** Eval files and what they name, from disk. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, normalize, resolve } from 'node:path';
import { parseEvalFile } from '../evals/eval-file.ts';
import type { Files } from '../evals/suite.ts';
import type { EvalFile } from '../evals/types.ts';
import { TachoError } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';

const usage = (say: string) => new TachoError('usage', say, { stage: 'eval' });

/** A file that is named on the command line must be there. */
export function checkInput(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw usage(`${path}: there is no such file`);
  if (stat.isDirectory()) throw usage(`${path}: is a folder, not a file`);
}

function textOf(path: string): string {
  if (statSync(path).size > LIMITS.eval_file_bytes_max)
    throw usage(`${path}: is over ${LIMITS.eval_file_bytes_max} bytes`);
  return readFileSync(path, 'utf8');
}

const FILES: Files = {
  open(from, name) {
    const path = resolve(dirname(from), name);
    try {
      return { path, text: textOf(path) };
    } catch (error) {
      if (error instanceof TachoError) throw error;
      return null;
    }
  },
  folder: (from, name) => resolve(dirname(from), name ?? '.'),
};

const VARIABLES = {
  TACHO_GRADER_API: 'api',
  TACHO_GRADER_URL: 'base_url',
  TACHO_GRADER_MODEL: 'model',
} as const;

function modelOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const given = Object.entries(VARIABLES).flatMap(([name, field]) =>
    env[name] ? [[field, env[name]] as const] : [],
  );
  const model: Record<string, string> = Object.fromEntries(given);
  if (model.api !== undefined && !['openai', 'anthropic'].includes(model.api))
    throw usage(`TACHO_GRADER_API must be openai or anthropic, not ${model.api}`);
  return model;
}

export async function loadEvalFile(path: string, env: NodeJS.ProcessEnv): Promise<EvalFile> {
  checkInput(path);
  // The same file has the same name, for comparing and going on.
  return parseEvalFile(normalize(path), textOf(path), FILES, modelOf(env));
}
