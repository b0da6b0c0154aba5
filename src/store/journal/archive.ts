/**
 * Compressed archives of runs removed from the store: the original lines of the journal, so that restoring a run means
 * appending them again. Contract: an archive is either complete or missing, even after a power failure.
 */
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { constants, createZstdDecompress, zstdCompressSync } from 'node:zlib';
import { errnoOf, fileError, TachoError } from '../../lib/errors.ts';
import { bytesText } from '../../lib/figures.ts';
import { createLines, type LineSink } from '../../lib/lines.ts';
import { startPrivate, unlinkQuietly } from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import { ownFolder, type StateDir } from '../state-dir.ts';
import { type JournalEntry, readLine } from './line.ts';
import { framesOf } from './zstd-frames.ts';

const STAGE = 'archive';
/** Bytes compressed together: enough to compress well, few enough to keep in memory. */
const PIECE_BYTES = 4 * 1024 * 1024;

export function createArchive(state: StateDir, name: string) {
  ownFolder(state.archive, false);
  // Only one gc runs at a time: an unfinished file here was left by one that was killed.
  for (const left of readdirSync(state.archive))
    if (left.endsWith('.tmp')) unlinkQuietly(join(state.archive, left));
  const path = join(state.archive, `${name}.jsonl.zst`);
  const file = startPrivate(path, STAGE);
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  // Frames follow each other: any zstd decoder treats them as one text.
  const flush = () => {
    if (bytes > 0) file.write(zstdCompressSync(Buffer.concat(pieces, bytes)));
    pieces = [];
    bytes = 0;
  };
  return {
    path,
    /** A journal line, including LF. */
    add(line: Uint8Array) {
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

export interface ArchiveEntry extends JournalEntry {
  body: string;
  crc: number;
  /** Its line number in the unpacked text. */
  line: number;
}

export interface ArchiveRead {
  /** Damaged lines so far; they are skipped. */
  damaged: number;
  /** Bytes unpacked so far. */
  bytes: number;
}

/** Archives consist of frames of at most 4 MB; a larger window only costs memory. */
const WINDOW_LOG_MAX = 25;

/**
 * The entries of an archive in journal order. Throws as soon as more is decompressed than an archive of its size can
 * contain, unless `any_size`.
 */
export async function* readArchive(
  path: string,
  read: ArchiveRead,
  any_size: boolean,
): AsyncGenerator<ArchiveEntry> {
  let found: ArchiveEntry[] = [];
  const sink: LineSink = {
    line(bytes, from, to, { line }) {
      const head = readLine(bytes, from, to);
      if (head === null) {
        read.damaged += 1;
        return;
      }
      const { session, source, seq, crc, start, end } = head;
      found.push({ session, source, seq, crc, line, body: bytes.toString('utf8', start, end) });
    },
    oversize({ line, bytes }) {
      throw refused(`${path}:${line}: an entry of ${bytesText(bytes)} is over the limit`);
    },
  };
  const lines = createLines(sink, STORE_LIMITS.entry_bytes_max + 64 * 1024);
  try {
    const { size } = statSync(path);
    const most = Math.max(STORE_LIMITS.restore_free_bytes, size * STORE_LIMITS.restore_ratio_max);
    for await (const chunk of unpacked(path)) {
      read.bytes += chunk.length;
      if (!any_size && read.bytes > most) throw tooLarge(path, size);
      lines.push(chunk);
      yield* found;
      found = [];
    }
    lines.end();
  } catch (cause) {
    if (errnoOf(cause).startsWith('ZSTD_'))
      throw refused(
        `${path}: is damaged, or is not an archive of tacho: ${(cause as Error).message}`,
      );
    throw fileError(cause, path, STAGE);
  }
  yield* found;
}

async function* unpacked(path: string): AsyncGenerator<Buffer> {
  const params = { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX };
  for (const { from, to } of framesOf(path)) {
    const packed = createReadStream(path, { start: from, end: Math.max(from, to - 1) });
    // The last stream raises an error of the first one.
    yield* pipeline(packed, createZstdDecompress({ params }), () => {});
  }
}

export const refused = (text: string) => new TachoError('refused', text, { stage: STAGE });

function tooLarge(path: string, size: number): TachoError {
  const { restore_ratio_max } = STORE_LIMITS;
  return refused(
    `${path}: unpacks to more than ${restore_ratio_max} times its ${bytesText(size)}: restore it with --any-size if you trust it`,
  );
}
