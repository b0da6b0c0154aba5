/**
 * Files of sub-agents, which are read with the session that they belong to, and may change without its main file. Some
 * agents keep them where main files are: they are found there, and lead to their session. Those of other agents are looked
 * at with it. Contract: what is found again after a restart was compared with what the store has.
 */
import { statSync } from 'node:fs';
import type { Agent, Memo } from '../../model/agent.ts';
import type { Index } from '../../store/index/index-db.ts';
import { type Facts, partsStamp, sourceId } from '../sessions/known-files.ts';
import type { Candidate } from './folders.ts';

/** A main file that was not written for this long before a sub-agent wrote is not that of its session. */
const SILENT_MS = 86_400_000;

export class SubAgents {
  readonly #index: Index;
  /** By main file: the state of the others for which it was last queued, and when one of them was written. */
  readonly #queued = new Map<string, { stamp: string; modified_ms: number }>();
  /** By file of a sub-agent: the main file. */
  readonly #mains = new Map<string, string>();

  constructor(index: Index) {
    this.#index = index;
  }

  /** Whether files beside this main file changed since it was imported. */
  async changed({ agent, path }: Candidate, memo?: Memo): Promise<boolean> {
    if (agent.session == null || agent.session.parts_in_places) return false;
    const parts = await agent.session.parts(path, () => undefined, memo);
    if (parts.length < 2) return false;
    const stamp = partsStamp(parts);
    const queued = this.#queued.get(path)?.stamp ?? this.#stored(agent, path);
    this.#queued.set(path, { stamp, modified_ms: newestOf(parts) });
    return queued !== stamp;
  }

  #stored({ id }: Agent, path: string): string | undefined {
    const row = this.#index.getSource(sourceId(id, path));
    return row === null ? undefined : (JSON.parse(row.facts) as Facts).parts;
  }

  /** The main files beside which a file was written since then, as far as known. */
  *writtenSince(since_ms: number): Generator<string, void> {
    for (const [path, { modified_ms }] of this.#queued) if (modified_ms >= since_ms) yield path;
  }

  /** The main files of the sessions that have these files of sub-agents, as far as there are any. */
  async mainsOf(
    subs: readonly Candidate[],
    files: ReadonlyMap<string, Candidate>,
    memo: Memo,
  ): Promise<Candidate[]> {
    const known = (sub: Candidate) => files.get(this.#mains.get(sub.path) ?? '');
    // One pass for all: a first start may find thousands.
    for (const [agent, wanted] of Map.groupBy(subs, (sub) => sub.agent)) {
      const left = new Set(wanted.filter((sub) => known(sub) === undefined).map(pathOf));
      const since_ms = Math.min(...wanted.map((sub) => sub.modified_ms)) - SILENT_MS;
      for (const { agent: of, path, modified_ms } of files.values()) {
        if (left.size === 0) break;
        if (of !== agent || modified_ms < since_ms) continue;
        if ((await agent.session?.isMain?.(path, memo)) === false) continue;
        const parts = (await agent.session?.parts(path, () => undefined, memo)) ?? [];
        for (const part of parts) {
          if (part.path === path) continue;
          this.#mains.set(part.path, path);
          left.delete(part.path);
        }
      }
    }
    return subs.map(known).filter((main) => main !== undefined);
  }
}

const pathOf = ({ path }: Candidate) => path;

function newestOf(parts: readonly { path: string }[]): number {
  return Math.max(
    ...parts.map(({ path }) => {
      try {
        return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      } catch {
        return 0;
      }
    }),
  );
}
