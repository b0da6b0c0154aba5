/** Existing entries of sessions in the journal on disk, read when first needed. */
import { join } from 'node:path';
import { type Catalogue, CONFLICT, sessionLines } from '../index/catalogue.ts';
import type { Position } from '../index/position-index.ts';
import { STORE_LIMITS } from '../limits.ts';
import { headOf, type SourceHead } from './line.ts';
import { newReport, unreadable } from './scan.ts';
import { syncSegment } from './segment.ts';
import { SourceState } from './state.ts';

/** One source of a session: its known entries, and the start of its lines. */
export class Source extends SourceState {
  readonly session: string;
  readonly id: string;
  readonly head: SourceHead;
  #conflict_head: SourceHead | null = null;

  constructor(session: string, id: string) {
    super();
    this.session = session;
    this.id = id;
    this.head = headOf(session, id);
  }

  get conflict_head(): SourceHead {
    this.#conflict_head ??= headOf(this.session, CONFLICT + this.id);
    return this.#conflict_head;
  }
}

/** By source. */
export type SessionState = Map<string, Source>;

/**
 * The most recently used sessions, in two generations: when the young one is full, the old one is dropped and the young
 * one replaces it. A session with entries that wait for the disk stays, because they are known only here.
 */
export class Sessions {
  readonly #load: (id: string) => Promise<SessionState>;
  readonly #most: number;
  #young = new Map<string, SessionState>();
  #old = new Map<string, SessionState>();
  readonly #loading = new Map<string, Promise<SessionState>>();

  constructor(
    load: (id: string) => Promise<SessionState>,
    most: number = STORE_LIMITS.journal_sessions_max,
  ) {
    this.#load = load;
    this.#most = most;
  }

  get(id: string): SessionState | undefined {
    const young = this.#young.get(id);
    if (young !== undefined) return young;
    const old = this.#old.get(id);
    if (old === undefined) return undefined;
    this.#old.delete(id);
    return this.#add(id, old);
  }

  async load(id: string): Promise<SessionState> {
    const known = this.get(id) ?? this.#loading.get(id);
    if (known !== undefined) return known;
    const job = this.#load(id);
    this.#loading.set(id, job);
    try {
      return this.#add(id, await job);
    } finally {
      this.#loading.delete(id);
    }
  }

  /** Starts a session without entries on disk. */
  begin(id: string): void {
    if (this.get(id) === undefined) this.#add(id, new Map());
  }

  /** Forgets all sessions without entries that wait for the disk. */
  forget(): void {
    const waiting = [...this.#old, ...this.#young].filter(([, state]) => !isDurable(state));
    this.#old = new Map();
    this.#young = new Map(waiting);
  }

  #add(id: string, state: SessionState): SessionState {
    if (this.#young.size >= this.#most / 2) {
      for (const [other, waiting] of this.#old)
        if (!isDurable(waiting)) this.#young.set(other, waiting);
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, state);
    return state;
  }
}

const isDurable = (state: SessionState) => state.values().every(({ is_durable }) => is_durable);

export function sourceOf(state: SessionState, session: string, id: string): Source {
  const known = state.get(id);
  if (known !== undefined) return known;
  const source = new Source(session, id);
  state.set(id, source);
  return source;
}

/**
 * Reads the hashes of a session's entries. A killed writer may have left entries only in the page cache, so their
 * segments are synced before anything is acknowledged as a duplicate of them.
 */
export async function loadSession(options: {
  dir: string;
  catalogue: Catalogue;
  session: string;
  /** Segments written by this process: their acknowledged entries are synced. */
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
      const source = sourceOf(state, session, id);
      if (conflict) source.addConflict(line.seq, line.crc);
      else source.know(line.seq, line.crc);
    }
    // Stored entries would be mistaken for new ones.
    if (report.unreadable > 0) throw unreadable(join(dir, segment));
  }
  for (const source of state.values()) {
    source.seal();
    source.commit();
  }
  return state;
}
