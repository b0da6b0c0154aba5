/**
 * Facts about session files that were read, identified by their paths, sizes, times and inodes, so that unchanged
 * files are not read again. Only agents that name sub-agents in the first lines of files open those again to find a
 * session's files. Contract: only facts about the files are stored, none about runs: an import decides the same with
 * and without them.
 */
import { hash } from 'node:crypto';
import { type BigIntStats, statSync } from 'node:fs';
import type { Index } from '../../store/index/index-db.ts';
import type { SourceRow } from '../../store/index/sources-table.ts';
import { packageVersion } from '../config/paths.ts';
import { digestOf, type Head, headOf } from './import-source.ts';
import type { SessionSource } from './session-source.ts';

/**
 * A file that changed less than this before it was read may change again within the same tick of its file system's
 * clock.
 */
const RACY_MS = 2_000n;
/** Rows that are written together. */
const ROWS_TOGETHER = 256;

interface Heads {
  whole?: Head;
  /** Facts from a time on. */
  since?: { ms: number; head: Head };
}

export interface KnownSession {
  /** Whether the files are unchanged since they were read, and their digest and whole head known. */
  readonly known: boolean;
  sha256(): Promise<string>;
  head(since_ms: number | null): Promise<Head>;
  /** Stores the facts for the next import. */
  keep(): void;
}

const sha256Of = (text: string) => hash('sha256', text);

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

  of(source: SessionSource): KnownSession {
    const now_ms = BigInt(Date.now());
    const id = sha256Of(JSON.stringify([source.agent.id, source.path]));
    const stamp = this.#stampOf(source);
    const row = stamp === null ? null : this.#index.getSource(id, stamp);
    let digest = row?.sha256 ?? null;
    const heads: Heads = row === null ? {} : (JSON.parse(row.facts) as Heads);
    let read = false;
    const reading = async <T>(work: Promise<T>): Promise<T> => {
      read = true;
      return work;
    };
    return {
      known: heads.whole !== undefined,
      sha256: async () => {
        digest ??= await reading(digestOf(source));
        return digest;
      },
      head: async (since_ms) => {
        if (since_ms === null) {
          heads.whole ??= await reading(headOf(source, null));
          return heads.whole;
        }
        if (heads.since?.ms !== since_ms)
          heads.since = { ms: since_ms, head: await reading(headOf(source, since_ms)) };
        return heads.since.head;
      },
      keep: () => {
        if (!read || stamp === null || digest === null || this.#racy(source, now_ms)) return;
        // It changed while it was read.
        if (this.#stampOf(source) !== stamp) return;
        const safe = [heads.whole, heads.since?.head].every((head) =>
          this.#safe(head?.session_id ?? ''),
        );
        const facts = JSON.stringify(safe ? heads : {});
        this.#held.push({ source: id, stamp, sha256: digest, facts });
        if (this.#held.length >= ROWS_TOGETHER) this.flush();
      },
    };
  }

  flush(): void {
    const rows = this.#held;
    this.#held = [];
    if (rows.length > 0) this.#index.saveSources(rows);
  }

  /** Null if it is unknown whether the session is unchanged. */
  #stampOf({ agent, parts, left_out }: SessionSource): string | null {
    // Such a session is not a separate file, or some of its files are inaccessible.
    if (agent.session?.read !== undefined || left_out.length > 0) return null;
    const files = parts.map(({ path }) => ({ path, stat: statOf(path) }));
    if (files.some(({ stat }) => stat?.isFile() !== true)) return null;
    const facts = files.map(({ path, stat }) => {
      const { size, mtimeNs, ctimeNs, ino, dev } = stat as BigIntStats;
      return [path, ...[size, mtimeNs, ctimeNs, ino, dev].map(String)];
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

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    // The path leads through a file, or is inaccessible.
    return undefined;
  }
}
