/** What the journal on disk already holds of sessions, read when first needed. */
import { join } from 'node:path';
import { type Catalogue, CONFLICT, type Position, sessionLines } from '../index/catalogue.ts';
import { STORE_LIMITS } from '../limits.ts';
import { newReport, unreadable } from './scan.ts';
import { syncSegment } from './segment.ts';
import { SourceState } from './state.ts';

/** By source. */
export type SessionState = Map<string, SourceState>;

export class Sessions {
  readonly #load: (id: string) => Promise<SessionState>;
  readonly #known = new Map<string, SessionState>();
  readonly #loading = new Map<string, Promise<SessionState>>();

  constructor(load: (id: string) => Promise<SessionState>) {
    this.#load = load;
  }

  get(id: string): SessionState | undefined {
    return this.#known.get(id);
  }

  async load(id: string): Promise<SessionState> {
    const known = this.#known.get(id) ?? this.#loading.get(id);
    if (known !== undefined) return known;
    const job = this.#load(id);
    this.#loading.set(id, job);
    try {
      const loaded = await job;
      this.#known.set(id, loaded);
      return loaded;
    } finally {
      this.#loading.delete(id);
    }
  }

  /** A session of which nothing is on disk. */
  begin(id: string): void {
    if (!this.#known.has(id)) this.#known.set(id, new Map());
  }

  /** Was used: it is forgotten last. */
  used(id: string): void {
    const state = this.#known.get(id);
    if (state === undefined) return;
    this.#known.delete(id);
    this.#known.set(id, state);
  }

  /** Forgets the sessions unused longest. Only between groups: what a group took is known here alone. */
  trim(): void {
    for (const id of this.#known.keys()) {
      if (this.#known.size <= STORE_LIMITS.journal_sessions_max) return;
      this.#known.delete(id);
    }
  }
}

export function sourceOf(state: SessionState, id: string): SourceState {
  const source = state.get(id) ?? new SourceState();
  state.set(id, source);
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
