/** Effects of an eval file: programs that it starts, destinations that it sends to, files that it reads. */
import type { Assertion, EvalFile, ModelRequest, Options } from '../../evals/types.ts';
import { own } from '../../lib/own.ts';
import { words } from '../config/consent.ts';
import { outsideEvalProject, realPath } from '../config/project.ts';
import { destinationOf } from './ask-model.ts';

interface EvalContext {
  /** Path of the eval file, without symbolic links. */
  path: string;
  /** Every file that was read for it. */
  read: readonly string[];
  env: NodeJS.ProcessEnv;
}

/** `file`: null if it has mistakes, so that only reading counts. Without effects, the file needs no consent. */
export function evalEffects(file: EvalFile | null, context: EvalContext) {
  const outside = outsideEvalProject(context.path);
  const tests = file?.tests ?? [];
  const assertions = tests.flatMap((test) => test.assertions.flatMap(withMembers));
  const copied = tests
    .map(({ workspace }) => workspace)
    .filter((path) => path !== null)
    .map(realPath)
    .filter(outside);
  const effects = [
    ...assertions.map((assertion) => assertionEffect(assertion, context.env)),
    ...copied.map((path) => `copies ${path} for an agent to work in`),
    ...context.read.filter(outside).map((path) => `reads ${path}`),
  ];
  const worked_in = assertions
    .filter(({ type }) => type === 'code-grader')
    .map(({ options }) => realPath(options.cwd as string))
    .filter(outside);
  return {
    effects: [...new Set(effects.filter((effect) => effect !== null))],
    /** The folders of the effects outside the file's project, with links resolved. */
    folders: [...new Set([...copied, ...worked_in])],
  };
}

export function withMembers(assertion: Assertion): Assertion[] {
  const members = (assertion.options.members as Assertion[] | undefined) ?? [];
  return [assertion, ...members.flatMap(withMembers)];
}

function assertionEffect({ type, options }: Assertion, env: NodeJS.ProcessEnv): string | null {
  return own(GRADER_EFFECTS, type)?.(options, env) ?? null;
}

/** Grader → the effect that the user must agree to, or null. Graders that are not listed only compare. */
const GRADER_EFFECTS: Readonly<
  Record<string, (options: Options, env: NodeJS.ProcessEnv) => string | null>
> = {
  'code-grader': ({ command, cwd, env }) => commandEffect(command, realPath(cwd as string), env),
  command: ({ command, env }) => commandEffect(command, 'the folder of each run', env),
  'llm-grader': modelEffect,
  rubrics: modelEffect,
};

function commandEffect(command: unknown, folder: string, env: unknown = []): string {
  const names = env as string[];
  const given = names.length === 0 ? '' : `, with the variables ${words(names)}`;
  return `starts ${words(command as string[])} in ${folder}${given}`;
}

/** The API's own host with the API's own key, and the host that the user's environment names, need no consent. */
function modelEffect(options: Options, { TACHO_GRADER_URL }: NodeJS.ProcessEnv): string | null {
  const { api = 'openai', base_url = null, api_key_env = null } = options as Partial<ModelRequest>;
  const { url, key_env, own_host, own_key } = destinationOf({ api, base_url, api_key_env });
  const named = base_url !== null && base_url === TACHO_GRADER_URL;
  return (own_host || named) && own_key ? null : `sends runs and the key in ${key_env} to ${url}`;
}
