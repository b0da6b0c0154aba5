/** What the journal on disk already holds of sessions, read when first needed. */
import { join } from 'node:path';
import { LIMITS } from '../../lib/limits.ts';
import { type Catalogue, CONFLICT, type Position, sessionLines } from '../index/catalogue.ts';
import { newReport, unreadable } from '../journal/scan.ts';
import { syncSegment } from '../journal/segment.ts';
import { createSource, type SourceState } from '../journal/state.ts';

/** By source. */
export type SessionState = Map<string, SourceState>;

export interface Sessions {
  get(id: string): SessionState | undefined;
  load(id: string): Promise<SessionState>;
  /** A session of which nothing is on disk. */
  begin(id: string): void;
  /** Was used: it is forgotten last. */
  used(id: string): void;
  /** Forgets the sessions unused longest. Only between groups: what a group took is known here alone. */
  trim(): void;
}

export function createSessions(load: (id: string) => Promise<SessionState>): Sessions {
  const known = new Map<string, SessionState>();
  const loading = new Map<string, Promise<SessionState>>();
  return {
    get: (id) => known.get(id),
    load(id) {
      const state = known.get(id);
      if (state !== undefined) return Promise.resolve(state);
      let job = loading.get(id);
      if (job === undefined) {
        job = load(id)
          .then((loaded) => {
            known.set(id, loaded);
            return loaded;
          })
          .finally(() => loading.delete(id));
        loading.set(id, job);
      }
      return job;
    },
    begin(id) {
      if (!known.has(id)) known.set(id, new Map());
    },
    used(id) {
      const state = known.get(id);
      if (state === undefined) return;
      known.delete(id);
      known.set(id, state);
    },
    trim() {
      for (const id of known.keys()) {
        if (known.size <= LIMITS.journal_sessions_max) return;
        known.delete(id);
      }
    },
  };
}

export function sourceOf(state: SessionState, id: string): SourceState {
  let source = state.get(id);
  if (source === undefined) {
    source = createSource();
    state.set(id, source);
  }
  return source;
}

/**
 * Reads the hashes of a session's entries. A writer that was killed may have left entries in the page cache only, so
 * their segments are synced before anything is acknowledged as a duplicate of them.
 */
export async function loadSession(options: {
  dir: string;
  catalogue: Catalogue;
  session: string;
  /** Segments that this process wrote: what it acknowledged of them is synced. */
  own: ReadonlySet<string>;
}): Promise<SessionState> {
  const { dir, catalogue, session, own } = options;
  const state: SessionState = new Map();
  await catalogue.refresh(newReport());
  for (const positions of Map.groupBy(catalogue.positions(session), (p) => p.segment).values()) {
    const { segment } = positions[0] as Position;
    if (!own.has(segment)) await syncSegment(dir, segment);
    const report = newReport();
    for await (const line of sessionLines(dir, positions, { report, to_end: false })) {
      const conflict = line.source.startsWith(CONFLICT);
      const id = conflict ? line.source.slice(CONFLICT.length) : line.source;
      const source = sourceOf(state, id);
      if (conflict) source.addConflict(line.seq, line.crc);
      else source.know(line.seq, line.crc);
    }
    // What is stored would be taken as new.
    if (report.unreadable > 0) throw unreadable(join(dir, segment));
  }
  for (const source of state.values()) source.commit();
  return state;
}
