/**
 * Facts about session files that were read, identified by their paths, sizes, times and inodes, so that unchanged
 * files are not read again, and grown ones only from where they were read before. Contract: a cache. Without it, an
 * import reads more and decides the same.
 */
import { hash } from 'node:crypto';
import { type BigIntStats, statSync } from 'node:fs';
import { dieHere, failsAt } from '../../store/failpoint.ts';
import type { Index } from '../../store/index/index-db.ts';
import type { SourceRow } from '../../store/index/sources-table.ts';
import { packageVersion } from '../config/paths.ts';
import { type Head, headOf } from './import-source.ts';
import { type KnownPlace, knownPlace, partName } from './part-places.ts';
import type { PartPlace } from './part-reader.ts';
import type { SessionSource } from './session-source.ts';

/**
 * A file that changed less than this before it was read may change again within the same tick of its file system's
 * clock.
 */
const RACY_MS = 2_000n;
/** Rows that are written together. */
const ROWS_TOGETHER = 256;

export interface Facts {
  /** The state of the main file, as a watcher saw it before it was read. */
  main?: string;
  /** The state of the session's other files before they were read. */
  parts?: string;
  /** Why the file could not be imported in that state. */
  failed?: string;
  whole?: Head;
  /** Facts from a time on. */
  since?: { ms: number; head: Head };
  /** How far each file was read, by name. Absent if the session has no run. */
  places?: Record<string, KnownPlace>;
  /** Places in the record are of an earlier file: they say nothing about this one. */
  rewritten?: true;
}

interface KeptRun {
  run_id: string;
  places?: ReadonlyMap<string, PartPlace>;
  rewritten?: boolean;
  /** Whether it lacks a last line without an end: the files must be looked at again. */
  torn?: boolean;
}

export interface KnownSession {
  /** Whether the files are unchanged since they were read, and their whole head known. */
  readonly known: boolean;
  /** The run that has all of the unchanged files. Null if they changed, or have no run. */
  readonly run_id: string | null;
  head(since_ms: number | null): Promise<Head>;
  /** Whether the run was recorded from these files, in any state. */
  isOf(run_id: string): boolean;
  /** How far the files were read for a run, by name. Empty if unknown. */
  placesIn(run_id: string): Readonly<Record<string, KnownPlace>>;
  /** Stores the facts for the next import. `recorded`: the run that has all of the files now, and how far they were read. */
  keep(recorded: KeptRun | null): void;
}

const sha256Of = (text: string) => hash('sha256', text);

/** The key of a session's file. Not its path, which may contain text that must not be stored. */
export const sourceId = (agent: string, path: string) => sha256Of(JSON.stringify([agent, path]));

export class KnownFiles {
  readonly #index: Index;
  readonly #safe: (text: string) => boolean;
  /** Another version may read the same files differently. */
  readonly #version = packageVersion();
  #held: SourceRow[] = [];

  /** `safe`: whether a text may be stored unchanged. */
  constructor(index: Index, safe: (text: string) => boolean) {
    this.#index = index;
    this.#safe = safe;
  }

  /** `main`: the state of the main file, as a watcher saw it. */
  of(source: SessionSource, main?: string): KnownSession {
    const now_ms = BigInt(Date.now());
    const id = sourceId(source.agent.id, source.path);
    const stamp = this.#stampOf(source);
    const beside = partsStamp(source.parts);
    const row = this.#index.getSource(id);
    const same = row !== null && row.stamp === stamp;
    const facts: Facts = same ? (JSON.parse(row.facts) as Facts) : {};
    let read = false;
    return {
      known: facts.whole !== undefined,
      run_id: same ? row.run_id : null,
      head: async (since_ms) => {
        if (since_ms === null) {
          read ||= facts.whole === undefined;
          facts.whole ??= await headOf(source, null);
          return facts.whole;
        }
        if (facts.since?.ms !== since_ms) {
          read = true;
          facts.since = { ms: since_ms, head: await headOf(source, since_ms) };
        }
        return facts.since.head;
      },
      isOf: (run_id) => row?.run_id === run_id,
      placesIn: (run_id) => {
        const rows = [row, ...this.#index.sourcesOf(run_id)];
        return furthest(rows.filter((one) => one?.run_id === run_id) as SourceRow[]);
      },
      keep: (recorded) => {
        const run_id = recorded?.run_id ?? null;
        const seen = main === undefined || (facts.main === main && facts.parts === beside);
        if (!read && same && row.run_id === run_id && seen) return;
        // It changed while it was read, or may change again without a trace: it is read again, from there on.
        const sure =
          stamp !== null &&
          recorded?.torn !== true &&
          this.#stampOf(source) === stamp &&
          !this.#racy(source, now_ms);
        if (!sure && recorded?.places === undefined) return;
        const heads = [facts.whole, facts.since?.head];
        const texts = heads.flatMap((head) => [head?.session_id ?? '', head?.cwd ?? '']);
        const safe = texts.every((text) => this.#safe(text));
        const places =
          recorded?.places === undefined ? facts.places : placesOf(recorded.places, source.path);
        const kept: Facts = {
          ...(safe ? facts : {}),
          ...(places && { places }),
          ...(recorded?.rewritten && { rewritten: true }),
          ...(main !== undefined && recorded?.torn !== true && { main, parts: beside }),
        };
        const text = JSON.stringify(kept);
        this.#held.push({ source: id, stamp: sure ? stamp : '', run_id, facts: text });
        if (this.#held.length >= ROWS_TOGETHER) this.flush();
      },
    };
  }

  flush(): void {
    const rows = this.#held;
    this.#held = [];
    if (rows.length === 0) return;
    if (failsAt('before_places')) dieHere();
    this.#index.saveSources(rows);
  }

  /** Null if it is unknown whether the session is unchanged. */
  #stampOf({ agent, parts, left_out }: SessionSource): string | null {
    // Such a session is not a separate file, or some of its files are inaccessible.
    if (agent.session?.read !== undefined || left_out.length > 0) return null;
    const files = parts.map((part) => ({ path: part.path, stat: statOf(part.path) }));
    if (files.some(({ stat }) => stat?.isFile() !== true)) return null;
    const facts = files.map((file) => {
      const { size, mtimeNs, ctimeNs, ino, dev } = file.stat as BigIntStats;
      return [file.path, ...[size, mtimeNs, ctimeNs, ino, dev].map(String)];
    });
    return sha256Of(JSON.stringify([this.#version, facts]));
  }

  #racy({ parts }: SessionSource, read_ms: bigint): boolean {
    return parts.some(({ path }) => {
      const stat = statOf(path);
      if (stat === undefined) return true;
      return stat.mtimeMs + RACY_MS >= read_ms || stat.ctimeMs + RACY_MS >= read_ms;
    });
  }
}

/** By name: the last place of all files that the run was recorded from. Empty if a place means nothing. */
function furthest(rows: readonly SourceRow[]): Record<string, KnownPlace> {
  const found = rows.map(({ facts }) => JSON.parse(facts) as Facts);
  if (found.some(({ rewritten }) => rewritten)) return {};
  const places = new Map<string, KnownPlace>();
  for (const [name, place] of found.flatMap((facts) => Object.entries(facts.places ?? {})))
    if (place.offset >= (places.get(name)?.offset ?? 0)) places.set(name, place);
  return Object.fromEntries(places);
}

/** The state of a session's files besides the main one. */
export const partsStamp = (parts: SessionSource['parts']) =>
  sha256Of(
    JSON.stringify(
      parts.slice(1).map(({ path }) => {
        const { size, mtimeNs, ino } = statOf(path) ?? {};
        return [path, ...[size, mtimeNs, ino].map(String)];
      }),
    ),
  ).slice(0, 16);

function placesOf(
  places: ReadonlyMap<string, PartPlace>,
  main: string,
): Record<string, KnownPlace> {
  return Object.fromEntries(
    [...places].map(([path, place]) => [partName(path, main), knownPlace(path, place)]),
  );
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    // The path leads through a file, or is inaccessible.
    return undefined;
  }
}
