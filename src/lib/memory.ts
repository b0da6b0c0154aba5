/**
 * Keeps memory flat for long streams: if much memory is free, V8 keeps hundreds of MB of garbage. This is the only place
 * that sets V8 flags at run time, and only flags that V8 reads at each use: none of them changes compiled code, or the
 * contents or layout of the heap. The launcher's code cache depends on this.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LIMITS } from './limits.ts';

/**
 * V8 flushes code that is not called for several collections, and collections are much more frequent here. Not
 * `--no-flush-bytecode`: if set at run time, V8 would no longer check for code that it flushed before.
 */
const CODE_STAYS = '--bytecode-old-age=60000';

let collect: ((options?: object) => void) | null = null;

/** V8's optimising compiler does not pay off for a second of work: its threads would use a tenth of the CPU time. */
const LATE_COMPILING = '--invocation-count-for-turbofan=200000';

/** The young generation is large enough at this point, but would double every few hundred MB of input. */
const YOUNG_SPACE_STAYS = '--semi-space-growth-factor=1';

/** Call it with the number of bytes read. Collects garbage at fixed intervals of input. */
export function createCollecting(every_bytes: number): (bytes: number) => void {
  let bytes = 0;
  return (more) => {
    bytes += more;
    if (bytes <= every_bytes) return;
    bytes = 0;
    collecting()();
  };
}

function collecting(): NonNullable<typeof collect> {
  if (collect === null) {
    setFlagsFromString('--expose-gc');
    setFlagsFromString(YOUNG_SPACE_STAYS);
    setFlagsFromString(CODE_STAYS);
    collect = runInNewContext('gc') as NonNullable<typeof collect>;
  }
  return collect;
}

/** Gives back what was needed only to start, before a long time of rest. V8 would do so only after minutes of work. */
export function giveBackMemory(): void {
  collecting()({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Shared by all streams of a process: many short streams leave as much garbage as a long one. */
let read = createCollecting(LIMITS.collect_every_bytes);

/** For work that allocates more per byte than a conversion does. */
export function collectEvery(every_bytes: number): void {
  read = createCollecting(every_bytes);
}

/** Passes the chunks through and collects garbage between them. */
export async function* inFlatMemory(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  setFlagsFromString(LATE_COMPILING);
  for await (const chunk of chunks) {
    read(chunk.length);
    yield chunk;
  }
}
