/**
 * Runs that left the store, compressed: the journal's own lines, as they stood there, so that putting them back is
 * appending them again. Contract: an archive is whole or not there, also after a power cut.
 */
import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createZstdDecompress, zstdCompressSync } from 'node:zlib';
import { fileError } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import { createLines, type LineSink } from '../lib/lines.ts';
import { type PrivateFile, startPrivate, unlinkQuietly } from './files.ts';
import { type JournalEntry, readLine } from './line.ts';
import { ownFolder, type StateDir } from './state-dir.ts';

const STAGE = 'archive';
/** Compressed at once: large enough to compress well, small enough to hold. */
const PIECE_BYTES = 4 * 1024 * 1024;

export interface Archive {
  readonly path: string;
  /** A line of the journal, LF included. */
  add(line: Uint8Array): void;
  commit(): void;
  abandon(): void;
}

export function createArchive(state: StateDir, name: string): Archive {
  ownFolder(state.archive, false);
  // One gc at a time: what is unfinished here was left by one that was killed.
  for (const left of readdirSync(state.archive))
    if (left.endsWith('.tmp')) unlinkQuietly(join(state.archive, left));
  const path = join(state.archive, `${name}.jsonl.zst`);
  const file: PrivateFile = startPrivate(path, STAGE);
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  // Frames follow each other: any reader of the format takes them as one text.
  const flush = () => {
    if (bytes > 0) file.write(zstdCompressSync(Buffer.concat(pieces, bytes)));
    pieces = [];
    bytes = 0;
  };
  return {
    path,
    add(line) {
      pieces.push(Buffer.from(line));
      bytes += line.length;
      if (bytes >= PIECE_BYTES) flush();
    },
    commit() {
      flush();
      file.commit();
    },
    abandon: file.abandon,
  };
}

/** The entries of an archive, in the order they stood in the journal; a line that is damaged says nothing. */
export async function* readArchive(path: string): AsyncGenerator<JournalEntry> {
  let found: JournalEntry[] = [];
  const sink: LineSink = {
    line(bytes, from, to) {
      const head = readLine(bytes, from, to);
      if (head === null) return;
      const { session, source, seq, start, end } = head;
      found.push({ session, source, seq, body: bytes.toString('utf8', start, end) });
    },
    oversize: () => {},
  };
  const lines = createLines(sink, LIMITS.entry_bytes_max + 64 * 1024);
  try {
    for await (const chunk of createReadStream(path).pipe(createZstdDecompress())) {
      lines.push(chunk as Buffer);
      yield* found;
      found = [];
    }
  } catch (cause) {
    throw fileError(cause, path, STAGE);
  }
  lines.end();
  yield* found;
}
