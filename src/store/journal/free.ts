/**
 * Frees the bytes of deleted runs, in files and in the journal. Contract: the index shows where to look, but the
 * segment decides what is removed: only lines that a scan shows to belong to deleted sessions, and a whole segment
 * only if it contains nothing else. Requires the store lock. A segment that a live process may append to is skipped for
 * now.
 */
import { join } from 'node:path';
import { fileError } from '../../lib/errors.ts';
import { systemRandom } from '../../lib/ids.ts';
import { dieHere, failsAt } from '../failpoint.ts';
import { removeFile } from '../files.ts';
import { createCatalogue } from '../index/catalogue.ts';
import type { Index } from '../index/index-db.ts';
import { purgeSearch } from '../search/purge.ts';
import type { StateDir } from '../state-dir.ts';
import { eachLine, isSegment, listSegments, newReport } from './scan.ts';
import { createSegment, mayGrow, type SegmentWriter, segmentName } from './segment.ts';
import {
  isThere,
  isWhole,
  openSegment,
  PACKED,
  readFirst,
  type SegmentFile,
} from './segment-file.ts';
import { readHeader } from './segment-owner.ts';
import { finishDeletions } from './tombstones.ts';

export interface Freed {
  removed: string[];
  /** Segments that were rewritten without their deleted lines. */
  rewritten: string[];
  /** Segments that still contain deleted runs: a process is writing them, or they cannot be fully read or decompressed. */
  left: string[];
}

export async function freeDeleted(state: StateDir, index: Index): Promise<Freed> {
  const { journal } = state;
  const deleted = finishDeletions(state, index);
  await removeCopies(state, index);
  await createCatalogue(journal, index).refresh(newReport());
  await purgeSearch(state, index, deleted);
  const freed: Freed = { removed: [], rewritten: [], left: [] };
  const hold = index.segmentsWith(deleted);
  for (const segment of listSegments(journal)) {
    if (!hold.has(segment)) continue;
    const found = mayGrow(journal, segment) ? null : await lookAt(journal, segment, deleted);
    if (found === null) freed.left.push(segment);
    else if (found.dead === 0) continue;
    else if (found.alive === 0) {
      removeSegment(state, index, segment);
      freed.removed.push(segment);
    } else {
      await rewrite(state, index, segment, found.kept).catch((cause) => {
        throw fileError(cause, join(journal, segment), 'journal');
      });
      freed.rewritten.push(segment);
    }
  }
  if (freed.rewritten.length > 0) await createCatalogue(journal, index).refresh(newReport());
  return freed;
}

interface Range {
  from: number;
  to: number;
}

interface Contents {
  /** Lines of deleted sessions, and all others, including damaged ones. */
  dead: number;
  alive: number;
  /** Everything but dead lines, the first line, which names the writer, and a torn last line. */
  kept: Range[];
}

/** Null if the segment cannot be read to its end, or a part of its packed form is damaged. */
async function lookAt(
  dir: string,
  segment: string,
  deleted: ReadonlySet<string>,
): Promise<Contents | null> {
  const header_end = headerEnd(join(dir, segment));
  if (header_end === null) return null;
  const report = newReport();
  const found: Contents = { dead: 0, alive: 0, kept: [] };
  let from = header_end;
  const keepUpTo = (to: number) => {
    if (to > from) found.kept.push({ from, to });
  };
  const end = await eachLine(dir, segment, { report }, (line) => {
    if (deleted.has(line.session)) {
      found.dead += 1;
      keepUpTo(line.offset);
      from = line.next;
    } else found.alive += 1;
  });
  keepUpTo(end);
  found.alive += report.corrupt;
  if (report.unreadable > 0 || (report.corrupt > 0 && !isWhole(join(dir, segment)))) return null;
  return found;
}

/** The end of the first line: damaged lines after it are kept. Null if it cannot be read. */
function headerEnd(path: string): number | null {
  try {
    const bytes = readFirst(path, 4096);
    return bytes.toString('latin1').startsWith('{"v":') ? bytes.indexOf(LF) + 1 : 0;
  } catch {
    return null;
  }
}

function removeSegment({ journal }: StateDir, index: Index, segment: string): void {
  if (failsAt('before_remove')) dieHere();
  // First: segments unknown to the index are read again, whereas outdated positions would be trusted.
  index.forgetSegment(segment);
  // The plain form last: if both exist, it takes precedence.
  for (const end of [PACKED, '']) removeFile(join(journal, `${segment}${end}`), 'journal');
}

/**
 * Copies the part to keep to a new segment, byte for byte and durably, before the old one is removed. The new first
 * line names the old segment.
 */
async function rewrite(
  state: StateDir,
  index: Index,
  segment: string,
  kept: readonly Range[],
): Promise<void> {
  const { journal } = state;
  const name = segmentName(Date.now(), systemRandom);
  const out = createSegment(journal, name, segment);
  const file = openSegment(join(journal, segment));
  try {
    const copy = createCopy(file, out);
    for (const range of kept) await copy.range(range);
    await copy.flush();
  } finally {
    file.close();
    out.close();
  }
  removeSegment(state, index, segment);
  await out.pack();
}

const COPY_BYTES = 1024 * 1024;
const LF = 10;

function createCopy(file: SegmentFile, out: SegmentWriter) {
  let held: Buffer[] = [];
  let bytes = 0;
  const flush = async () => {
    if (bytes > 0) await out.write(Buffer.concat(held, bytes));
    held = [];
    bytes = 0;
  };
  const put = async (chunk: Buffer) => {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes >= COPY_BYTES) await flush();
  };
  return {
    flush,
    async range({ from, to }: Range): Promise<void> {
      for (let at = from; at < to; ) {
        const chunk = Buffer.allocUnsafe(Math.min(COPY_BYTES, to - at));
        const count = await file.read(chunk, 0, chunk.length, at);
        if (count === 0) throw new Error('a segment became shorter while it was read');
        await put(chunk.subarray(0, count));
        at += count;
        // Damaged bytes before a removed line must not be joined to the next line.
        if (at === to && chunk[count - 1] !== LF) await put(Buffer.from('\n'));
      }
    },
  };
}

/** A killed rewrite left its copy next to the original. The copy is removed once every line of it is found there. */
async function removeCopies(state: StateDir, index: Index): Promise<void> {
  const { journal } = state;
  for (const copy of listSegments(journal)) {
    const original = readHeader(join(journal, copy))?.replaces ?? null;
    if (original === null || !isSegment(original) || original === copy) continue;
    if (!isThere(join(journal, original)) || mayGrow(journal, copy)) continue;
    const there = await linesOf(journal, original);
    const copied = there === null ? null : await linesOf(journal, copy);
    if (there === null || copied === null || !copied.isSubsetOf(there)) continue;
    removeSegment(state, index, copy);
  }
}

/** Null if the segment cannot be fully read. A torn last line is ignored. */
async function linesOf(dir: string, segment: string): Promise<Set<string> | null> {
  const report = newReport();
  const found = new Set<string>();
  await eachLine(dir, segment, { report }, ({ session, source, seq, crc }) =>
    found.add(`${session}\n${source}\n${seq}\n${crc}`),
  );
  return report.unreadable > 0 ? null : found;
}
