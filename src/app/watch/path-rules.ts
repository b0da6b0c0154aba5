/** Rules about paths: a folder with everything in it, or a glob. Paths are compared part by part, as text. */
import { realpathSync } from 'node:fs';
import { RecentMap } from '../../lib/bounded.ts';
import { globPattern } from '../../lib/glob.ts';
import { cleanPath, isAbsolutePath } from '../../lib/paths.ts';
import type { Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';

const GLOB = /[*?[{\\]/;

const expanded = (text: string, home: string) =>
  text === '~' || text.startsWith('~/') ? home + text.slice(1) : text;

/** An absolute path or glob; `~` is the home folder. */
const pathRule =
  (home: string): Read<string> =>
  (value, place) => {
    const path = expanded(is.text(value, place), home);
    if (path !== '' && !isAbsolutePath(path) && !path.startsWith('**/'))
      place.mistake('must be an absolute path, or begin with ~/ or **/');
    return cleanPath(path);
  };

export const pathRules = (home: string) => is.listOf(pathRule(home), 'must be a list of paths');

/**
 * The rule, and the same rule for the real path of its folder if a link leads there: agents report either. For
 * example, `/tmp` is a link on macOS.
 */
export function withRealPaths(rules: readonly string[]): string[] {
  return [...new Set(rules.flatMap((rule) => [rule, realRule(rule) ?? rule]))];
}

function realRule(rule: string): string | null {
  const parts = rule.split('/');
  const glob = parts.findIndex((part) => GLOB.test(part));
  const folder = (glob < 0 ? parts : parts.slice(0, glob)).join('/');
  if (folder === '') return null;
  try {
    const rest = glob < 0 ? [] : parts.slice(glob);
    return [realpathSync(folder), ...rest].join('/');
  } catch {
    // Nothing exists there yet.
    return null;
  }
}

const patterns = new RecentMap<string, RegExp>(256);

function patternOf(rule: string): RegExp {
  const known = patterns.get(rule);
  if (known !== undefined) return known;
  const made = new RegExp(globPattern(rule, '[^/]'));
  patterns.set(rule, made);
  return made;
}

/** Whether a rule matches the path or a folder that it is in. */
export function matchesPath(rules: readonly string[], path: string): boolean {
  if (rules.length === 0) return false;
  const folders = foldersOf(cleanPath(path));
  return rules.some((rule) =>
    GLOB.test(rule)
      ? folders.some((folder) => patternOf(rule).test(folder))
      : folders.includes(rule),
  );
}

/** The path and all folders above it. */
function foldersOf(path: string): string[] {
  const found = [path];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
    found.push(path.slice(0, end));
  return path.startsWith('/') ? [...found, '/'] : found;
}
