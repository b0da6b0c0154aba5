/** Measures how much memory a result keeps. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Heap bytes that the result of `work` keeps alive. */
export function keptBytes(work: () => unknown): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = [work()];
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  // Used after the measurement, so that it is alive until then.
  kept.length = 0;
  return bytes;
}

/** A long text as in a record: in one piece, on the heap. */
export const longText = (n: number): string =>
  JSON.parse(JSON.stringify(`${n} `.repeat(512 * 1024)));
