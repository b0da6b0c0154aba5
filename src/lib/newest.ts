/** Files by modification time. */
import { type Stats, statSync } from 'node:fs';

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The candidates that exist and are files, newest first, each with its modification time. */
export async function* newestFirst<T extends { path: string }>(
  candidates: AsyncIterable<T> | Iterable<T>,
): AsyncGenerator<T & { modified_ms: number }> {
  const files: (T & { modified_ms: number })[] = [];
  for await (const candidate of candidates) {
    const found = statOf(candidate.path);
    if (found?.isFile()) files.push({ ...candidate, modified_ms: Math.floor(found.mtimeMs) });
  }
  files.sort((a, b) => b.modified_ms - a.modified_ms || (a.path < b.path ? -1 : 1));
  yield* files;
}
