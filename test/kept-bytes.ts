/** How much memory something keeps. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of the heap that are kept of all that `work` made, as long as its result is. */
export function keptBytes(work: () => unknown): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = [work()];
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  // Used after the measurement, so that it lives until then.
  kept.length = 0;
  return bytes;
}

/** A long text as a record brings it: in one piece, on the heap. */
export const longText = (n: number): string =>
  JSON.parse(JSON.stringify(`${n} `.repeat(512 * 1024)));
