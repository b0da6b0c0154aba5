/** Commands that read several files: each is judged separately, and an unreadable one does not stop the others. */
import { TachoError } from '../lib/errors.ts';
import { forTerminal } from '../lib/terminal-text.ts';
import type { Io } from './command.ts';

export interface FileResult<T> {
  path: string;
  found: T;
}

/** The files that could be read, and how many could not. A single unreadable file fails the command. */
export async function eachFile<T>(
  paths: readonly string[],
  read: (path: string) => Promise<T>,
  { err }: Io,
): Promise<{ results: FileResult<T>[]; unread: number }> {
  const results: FileResult<T>[] = [];
  for (const path of paths) {
    try {
      results.push({ path, found: await read(path) });
    } catch (error) {
      if (paths.length === 1 || !(error instanceof TachoError)) throw error;
      await err.write(`error: ${forTerminal(error.message)}\n`);
    }
  }
  return { results, unread: paths.length - results.length };
}
