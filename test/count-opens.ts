/** Counts file system calls, so that a test can measure the amount of work. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

type Counted = 'openSync' | 'lstatSync' | 'readdirSync';

/** Until the end of the test. Returns a function that gives the number of matching opens so far. */
export const countOpens = (counts: (path: string) => boolean) => countCalls('openSync', counts);

/** The same for another function. */
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
