/** Paths of tacho's own files: next to the bundle, or in the sources if they are run directly. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TachoError } from '../../lib/errors.ts';
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

/** Read on demand. `unknown` in someone else's bundle, which is not inside tacho's package. */
export function packageVersion(): string {
  const path = join(packageRoot(), 'package.json');
  const { name, version } = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  return name === 'tacho' ? version : 'unknown';
}

/** Throws if a file of the package is missing: tacho's code was bundled without it. */
export function needPackageFile(path: string): string {
  if (existsSync(path)) return path;
  const text = `${path} is missing: a bundled program must keep tacho external (esbuild: --external:tacho)`;
  throw new TachoError('not_found', text, { stage: 'package' });
}

/** A published schema. */
export const schemaOf = (name: string): JsonSchema =>
  JSON.parse(readFileSync(needPackageFile(join(packageRoot(), 'schema', `${name}.json`)), 'utf8'));

/** The program that tacho itself includes for an agent. */
export function programEntry(agent: string): string {
  const bundled = join(packageRoot(), 'dist', `${agent}-agent.js`);
  if (here.includes(`${join(packageRoot(), 'dist')}`) || existsSync(bundled)) return bundled;
  return join(packageRoot(), 'src', 'agents', agent, 'program', 'main.ts');
}

/**
 * Folder for temporary data that is too large for memory, for work without its own state folder: the existing state
 * folder, otherwise the user's cache. Creates nothing.
 */
export function tmpFolder(env: NodeJS.ProcessEnv = process.env): string {
  const state = stateDirAt(resolveStateDir({ env }));
  if (existsSync(state.journal)) return state.tmp;
  const { XDG_CACHE_HOME: given = '' } = env;
  return join(isAbsolute(given) ? given : join(homeFolder(), '.cache'), 'tacho');
}
