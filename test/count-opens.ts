/** Counts how often files are opened, so that a test can say how much work something is. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

/** Until the test has ended. Gives how often a path that counts was opened so far. */
export function countOpens(counts: (path: string) => boolean): () => number {
  const { openSync } = fs;
  let opens = 0;
  fs.openSync = (path, ...rest) => {
    if (counts(String(path))) opens += 1;
    return openSync(path, ...rest);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  });
  return () => opens;
}
