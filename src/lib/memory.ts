/** Keeping long streams in flat memory: with much memory free V8 lets garbage of hundreds of MB stand. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LIMITS } from './limits.ts';

let collect: (() => void) | null = null;

/** A second of work earns V8's last compiler too little: its threads would cost a tenth of all. */
const LATE_COMPILING = '--invocation-count-for-turbofan=200000';

/** The space for young objects, by now as large as this work needs, would double every few hundred MB read. */
const YOUNG_SPACE_STAYS = '--semi-space-growth-factor=1';

/** The chunks as they come; garbage is collected every so many bytes. */
export async function* inFlatMemory(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  setFlagsFromString(LATE_COMPILING);
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > LIMITS.collect_every_bytes) {
      bytes = 0;
      if (collect === null) {
        setFlagsFromString('--expose-gc');
        setFlagsFromString(YOUNG_SPACE_STAYS);
        collect = runInNewContext('gc') as () => void;
      }
      collect();
    }
    yield chunk;
  }
}
