/** The scripts that come with the demo: a folder beside the bundled program, or beside the sources' folder. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LIMITS } from '../../../lib/limits.ts';
import { loadScript, type Script, ScriptError } from './script.ts';

const DEFAULT = 'default';
const NAME = /^[a-z0-9-]+$/;

/** The build copies `scripts/` to `demo-scripts/` beside the bundle, whose chunks lie a folder below. */
function folder(): string {
  const places = ['./demo-scripts/', '../demo-scripts/', '../scripts/'];
  const paths = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  const found = paths.find((path) => existsSync(join(path, `${DEFAULT}.yaml`)));
  if (found === undefined) throw new ScriptError(`no scripts found in ${paths.join(' or ')}`);
  return found;
}

export function shippedNames(): string[] {
  const files = readdirSync(folder()).filter((name) => name.endsWith('.yaml'));
  return files.map((name) => basename(name, '.yaml')).sort();
}

/** A shipped script by its name, or a file by its path; null: the default one. */
export function openScript(given: string | null, cwd: string): Script {
  const name = given ?? DEFAULT;
  const shipped = NAME.test(name) ? join(folder(), `${name}.yaml`) : null;
  const path = shipped !== null && existsSync(shipped) ? shipped : resolve(cwd, name);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) {
    throw new ScriptError(`${name}: no such script; --list names those that come with the demo`);
  }
  if (found.size > LIMITS.script_bytes_max)
    throw new ScriptError(`${name}: the script is too large`);
  return loadScript(readFileSync(path, 'utf8'), path === shipped ? basename(path) : name);
}
