/** Eval files and the files they name, from disk. */
import { realpathSync, statSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { parseEvalFile } from '../../evals/files/eval-file.ts';
import type { Files } from '../../evals/files/suite.ts';
import type { EvalFile } from '../../evals/types.ts';
import { TachoError } from '../../lib/errors.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { hashOf } from '../../store/user-state.ts';
import { type Asking, withoutSecrets } from '../config/consent.ts';
import { APP_LIMITS } from '../limits.ts';
import { evalEffects } from './effects.ts';
import { toolNames } from './tool-names.ts';

const usage = (say: string) => new TachoError('usage', say, { stage: 'eval' });

/** A file that is named on the command line must exist. */
export function checkInput(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw usage(`${path}: there is no such file`);
  if (stat.isDirectory()) throw usage(`${path}: is a folder, not a file`);
}

/** The sources of an eval file: its own text and those of the files it names. */
class EvalSources implements Files {
  readonly read = new Map<string, string>();

  text(path: string): string {
    const file = readTextFile(path, { bytes_max: APP_LIMITS.eval_file_bytes_max, stage: 'eval' });
    this.read.set(realpathSync(path), hashOf(file.bytes));
    return file.text;
  }

  /** A text passed in by a program. Relative names in it are resolved from `path`. */
  given(path: string, text: string): string {
    this.read.set(path, hashOf(text));
    return text;
  }

  open(from: string, name: string): { path: string; text: string } | null {
    const path = resolve(dirname(from), name);
    try {
      return { path, text: this.text(path) };
    } catch (error) {
      if ((error as TachoError).code === 'config_invalid') throw error;
      return null;
    }
  }

  folder(from: string, name: string | undefined): string {
    return resolve(dirname(from), name ?? '.');
  }

  /** Hash of the texts, and of the locations of the folders. */
  hash(folders: readonly string[]): string {
    const places = folders.map((path) => [path, 'folder']);
    return hashOf(JSON.stringify([...this.read, ...places].sort()));
  }
}

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

export interface LoadedEval {
  file: EvalFile;
  /** The effects that the user must agree to. */
  asking: Asking;
}

/**
 * `agree`: throws if the user does not agree. A message about a mistake may quote files without consent to read them.
 */
export async function loadEvalFile(
  path: string,
  env: NodeJS.ProcessEnv,
  agree: (asking: Asking) => void,
): Promise<LoadedEval> {
  checkInput(path);
  const sources = new EvalSources();
  return loadEval(
    { path, text: sources.text(path), real: realpathSync(path) },
    sources,
    env,
    agree,
  );
}

/** The same for the text of an eval file. Names in it are relative to the current folder. */
export async function loadEvalText(
  text: string,
  env: NodeJS.ProcessEnv,
  agree: (asking: Asking) => void,
): Promise<LoadedEval> {
  const path = 'eval.yaml';
  const real = join(realpathSync('.'), path);
  const sources = new EvalSources();
  return loadEval({ path, text: sources.given(real, text), real }, sources, env, agree);
}

async function loadEval(
  { path, text, real }: { path: string; text: string; real: string },
  sources: EvalSources,
  env: NodeJS.ProcessEnv,
  agree: (asking: Asking) => void,
): Promise<LoadedEval> {
  const asking = (file: EvalFile | null): Asking => {
    const read = [...sources.read.keys()];
    const { effects, folders } = evalEffects(file, { path: real, read, env });
    return { path: real, sha256: sources.hash(folders), effects: withoutSecrets(effects) };
  };
  try {
    // The same file has the same name, for comparing and resuming.
    const known = { model: modelOf(env), toolNames };
    const file = await parseEvalFile(normalize(path), text, sources, known);
    return { file, asking: asking(file) };
  } catch (error) {
    agree(asking(null));
    throw error;
  }
}
