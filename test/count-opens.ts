/** Counts calls for files, so that a test can say how much work something is. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

type Counted = 'openSync' | 'lstatSync' | 'readdirSync';

/** Until the test has ended. Gives how often a path that counts was opened so far. */
export const countOpens = (counts: (path: string) => boolean) => countCalls('openSync', counts);

/** The same of another function. */
export function countCalls(name: Counted, counts: (path: string) => boolean): () => number {
  const original = fs[name] as (path: fs.PathLike, ...rest: unknown[]) => unknown;
  let calls = 0;
  const counting = (path: fs.PathLike, ...rest: unknown[]) => {
    if (counts(String(path))) calls += 1;
    return original(path, ...rest);
  };
  Object.assign(fs, { [name]: counting });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { [name]: original });
    syncBuiltinESMExports();
  });
  return () => calls;
}
