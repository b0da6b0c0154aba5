/** Compares paths as text, without accessing files. */

const WINDOWS = /^[A-Za-z]:[\\/]/;

export const isAbsolutePath = (path: string) => path.startsWith('/') || WINDOWS.test(path);

/** Without `.`, `..` and repeated separators. */
export function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of (WINDOWS.test(path) ? path.replaceAll('\\', '/') : path).split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return (path.startsWith('/') ? '/' : '') + parts.join('/');
}

/** `bases` are clean. A relative path is relative to the first one. Null: outside of all bases. */
export function pathInside(path: string, bases: readonly string[]): string | null {
  const [first] = bases;
  if (!isAbsolutePath(path) && first === undefined) {
    const clean = cleanPath(path);
    return /^\.\.(?:\/|$)/.test(clean) ? null : clean;
  }
  const clean = cleanPath(isAbsolutePath(path) ? path : `${first}/${path}`);
  for (const base of bases) {
    if (clean === base) return '';
    if (clean.startsWith(base === '/' ? base : `${base}/`))
      return clean.slice(base === '/' ? 1 : base.length + 1);
  }
  return null;
}

/** Relative to a base if the path is inside it, otherwise unchanged. */
export function shortestPath(path: string, bases: readonly string[]): string {
  return pathInside(path, bases) || (isAbsolutePath(path) ? path : cleanPath(path));
}

/** A folder that paths can be relative to; null if the text is not one. */
export const baseOf = (path: string | null): string | null =>
  path !== null && isAbsolutePath(path) ? cleanPath(path) : null;

/** Canonical tool input fields that contain a path. */
export const PATH_FIELDS: ReadonlySet<string> = new Set(['file_path', 'path']);
