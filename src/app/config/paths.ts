/** Where tacho's own files lie: beside the bundle, or in the sources when they are run as they are. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { homeFolder } from '../../lib/home.ts';
import type { JsonSchema } from '../../lib/schema/json-schema.ts';
import { resolveStateDir, stateDirAt } from '../../store/state-dir.ts';

const here = dirname(fileURLToPath(import.meta.url));

/** The package's root: the nearest folder above with a package.json. */
export function packageRoot(): string {
  let folder = here;
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder)
    folder = dirname(folder);
  return folder;
}

/** Read when it is asked for. */
export const packageVersion = (): string =>
  JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version;

/** A schema as it is published. */
export const schemaOf = (name: string): JsonSchema =>
  JSON.parse(readFileSync(join(packageRoot(), 'schema', `${name}.json`), 'utf8'));

/** The program that tacho itself brings for an agent, where it does. */
export function programEntry(agent: string): string {
  const bundled = join(packageRoot(), 'dist', `${agent}-agent.js`);
  if (here.includes(`${join(packageRoot(), 'dist')}`) || existsSync(bundled)) return bundled;
  return join(packageRoot(), 'src', 'agents', agent, 'program', 'main.ts');
}

/**
 * Where work without a state folder of its own holds what is too large for memory: the state folder that is there, or
 * else the user's cache. Nothing is made here.
 */
export function tmpFolder(env: NodeJS.ProcessEnv = process.env): string {
  const state = stateDirAt(resolveStateDir({ env }));
  if (existsSync(state.journal)) return state.tmp;
  const { XDG_CACHE_HOME: given = '' } = env;
  return join(isAbsolute(given) ? given : join(homeFolder(), '.cache'), 'tacho');
}
