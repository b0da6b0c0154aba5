/** The bytes of a session's files: plain, compressed, or from the agent's own reader. */
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createZstdDecompress } from 'node:zlib';
import { isCompressed } from '../../lib/compressed.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Agent } from '../../model/agent.ts';
import { APP_LIMITS } from '../limits.ts';

/** Chunks of a file from an offset on, each valid until the next is requested. Errors name the file. */
export async function* chunksOf(path: string, from = 0): AsyncGenerator<Buffer> {
  let fd: number | null = null;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const buffer = Buffer.allocUnsafe(chunkBytes(fd, from));
    for (let at = from; ; ) {
      // A local file: reading it synchronously is cheaper.
      const count = readSync(fd, buffer, 0, buffer.length, from === 0 ? null : at);
      if (count === 0) return;
      at += count;
      yield buffer.subarray(0, count);
    }
  } catch (cause) {
    throw fileError(cause, path, 'read');
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** A growing file is read in small pieces. One byte more than the rest shows that the file has ended. */
function chunkBytes(fd: number, from: number): number {
  const found = fstatSync(fd);
  if (!found.isFile()) return LIMITS.read_chunk_bytes;
  return Math.min(LIMITS.read_chunk_bytes, Math.max(found.size - from, 0) + 1);
}

/**
 * Chunks of a part of a session, whether it is a file or read by the agent's own code, from an offset on. Offsets in a
 * compressed file are those of its text.
 */
export async function* sessionChunks(
  { session }: Agent,
  path: string,
  from = 0,
): AsyncGenerator<Buffer> {
  try {
    let lines: Iterable<Buffer> | AsyncIterable<Buffer> | null =
      session?.read?.(path) ?? (isCompressed(path) ? unpacked(path) : null);
    if (lines === null && session?.rewritten === true) {
      const whole = await rewritten(path);
      lines = whole && [whole];
    }
    yield* lines === null ? chunksOf(path, from) : behind(lines, from);
  } catch (cause) {
    throw fileError(cause, path, 'read');
  }
}

/**
 * A file that its CLI rewrites as a whole, in a state in which nobody writes it. Null if it is too large to be compared, or stays
 * incomplete: it is read as it is.
 */
async function rewritten(path: string): Promise<Buffer | null> {
  for (let waited_ms = 0; waited_ms < APP_LIMITS.rewrite_wait_ms; waited_ms += LOOK_MS) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isFile() || found.size > APP_LIMITS.rewrite_bytes_max) return null;
    const bytes = readFileSync(path);
    if (isWhole(bytes)) return bytes;
    if (Date.now() - found.mtimeMs > APP_LIMITS.rewrite_wait_ms) return null;
    await sleep(LOOK_MS);
  }
  return null;
}

const LOOK_MS = 20;

function isWhole(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

async function* unpacked(path: string): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: LIMITS.read_chunk_bytes });
  const text = createZstdDecompress({ chunkSize: LIMITS.read_chunk_bytes });
  file.on('error', (error) => text.destroy(error));
  let bytes = 0;
  try {
    for await (const chunk of file.pipe(text) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      const free = bytes <= APP_LIMITS.unpacked_bytes_free;
      if (!free && bytes > file.bytesRead * APP_LIMITS.unpacked_ratio_max) throw tooLong(path);
      yield chunk;
    }
  } finally {
    file.destroy();
    text.destroy();
  }
}

const tooLong = (path: string) =>
  new TachoError(
    'input_unreadable',
    `${path}: its text is more than ${APP_LIMITS.unpacked_ratio_max} times as long as the file, as in a file that was made to fill a disk`,
    { stage: 'read' },
  );

/** The bytes after the first `skipped` ones. */
async function* behind(
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
  skipped: number,
): AsyncGenerator<Buffer> {
  let at = 0;
  for await (const chunk of chunks) {
    const begin = Math.max(skipped - at, 0);
    at += chunk.length;
    if (begin < chunk.length) yield chunk.subarray(begin);
  }
}
