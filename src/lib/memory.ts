/**
 * Keeping long streams in flat memory: with much memory free V8 lets garbage of hundreds of MB lie. The only place that
 * sets flags of V8 at run time, and only such as V8 reads anew at each use: none changes the code that is compiled, what
 * is on the heap, or how it is laid out. The launcher keeps compiled code on this condition.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LIMITS } from './limits.ts';

/**
 * Code counts as unused by the collections it was not called between, which come much more often here. Not
 * `--no-flush-bytecode`: set at run time, V8 would no longer look at what it has dropped before.
 */
const CODE_STAYS = '--bytecode-old-age=60000';

let collect: (() => void) | null = null;

/** A second of work earns V8's last compiler too little: its threads would cost a tenth of all. */
const LATE_COMPILING = '--invocation-count-for-turbofan=200000';

/** The space for young objects, by now as large as this work needs, would double every few hundred MB read. */
const YOUNG_SPACE_STAYS = '--semi-space-growth-factor=1';

/** To be told of the bytes that were read; garbage is collected every so many of them. */
export function createCollecting(every_bytes: number): (bytes: number) => void {
  let bytes = 0;
  return (more) => {
    bytes += more;
    if (bytes <= every_bytes) return;
    bytes = 0;
    if (collect === null) {
      setFlagsFromString('--expose-gc');
      setFlagsFromString(YOUNG_SPACE_STAYS);
      setFlagsFromString(CODE_STAYS);
      collect = runInNewContext('gc') as () => void;
    }
    collect();
  };
}

/** One for all streams of a process: many short ones leave as much garbage as a long one. */
let read = createCollecting(LIMITS.collect_every_bytes);

/** For work that makes more of what it reads than a conversion does. */
export function collectEvery(every_bytes: number): void {
  read = createCollecting(every_bytes);
}

/** The chunks as they come, with garbage collected meanwhile. */
export async function* inFlatMemory(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  setFlagsFromString(LATE_COMPILING);
  for await (const chunk of chunks) {
    read(chunk.length);
    yield chunk;
  }
}
