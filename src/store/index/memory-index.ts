/** Known facts about the segments of a journal without an index, kept while it is open. */
import type { Cover, Position, PositionIndex } from './position-index.ts';
import { fileName, type KnownFolder, NO_BOOK, type SegmentBook } from './segment-book.ts';

/** For a writer that performs no lookups: collects its writes, so that they can be indexed later. */
export function coversOnly(covers: Cover[]): PositionIndex {
  return {
    getPositions: () => [],
    coveredBytes: () => 0,
    cover: (segment, bytes, positions) => void covers.push({ segment, bytes, positions }),
    coverAll: (more) => void covers.push(...more),
    forgetSegment: () => {},
    book: NO_BOOK,
  };
}

export function memoryIndex() {
  const sessions = new Map<string, Position[]>();
  const bytes_of = new Map<string, number>();
  const book = memoryBook();
  function cover(segment: string, bytes: number, positions: readonly Position[]): void {
    bytes_of.set(segment, Math.max(bytes, bytes_of.get(segment) ?? 0));
    for (const position of positions) {
      const list = sessions.get(position.session) ?? [];
      list.push(position);
      sessions.set(position.session, list);
    }
  }
  return {
    getPositions: (session: string) => sessions.get(session) ?? [],
    covered: () => bytes_of,
    coveredBytes: (segment: string) => bytes_of.get(segment) ?? 0,
    cover,
    coverAll(covers: readonly Cover[]) {
      for (const { segment, bytes, positions } of covers) cover(segment, bytes, positions);
    },
    forgetSegment(segment: string) {
      bytes_of.delete(segment);
      book.reopen([segment]);
      for (const [session, list] of sessions)
        sessions.set(
          session,
          list.filter((position) => position.segment !== segment),
        );
    },
    book,
  };
}

function memoryBook(): SegmentBook {
  const closed = new Map<string, string>();
  let known: KnownFolder | null = null;
  const change = (part: Partial<KnownFolder>) => {
    const before = known ?? { identity: '', stamp: '', open: [], generation: 0 };
    known = { ...before, ...part, generation: before.generation + 1 };
  };
  return {
    folder: () =>
      known === null ? null : { ...known, open: known.open.filter((one) => !closed.has(one)) },
    saveFolder(folder) {
      if (folder.generation === known?.generation) known = folder;
    },
    closedFiles: () => [...closed.values()].sort().join(''),
    close(identity, segments) {
      if (known === null) change({ identity });
      if (known?.identity !== identity) return;
      for (const { segment, packed } of segments)
        closed.set(segment, `${fileName(segment, packed)}\n`);
    },
    reopen(segments) {
      for (const segment of segments) closed.delete(segment);
      change({ stamp: '' });
    },
    moveTo(identity) {
      closed.clear();
      change({ identity, stamp: '' });
    },
  };
}
