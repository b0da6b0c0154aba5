/** Keeping long streams in flat memory: with much memory free V8 lets garbage of hundreds of MB stand. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LIMITS } from './limits.ts';

let collect: (() => void) | null = null;

/** The chunks as they come; garbage is collected every so many bytes. */
export async function* inFlatMemory(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > LIMITS.collect_every_bytes) {
      bytes = 0;
      if (collect === null) {
        setFlagsFromString('--expose-gc');
        collect = runInNewContext('gc') as () => void;
      }
      collect();
    }
    yield chunk;
  }
}
