/**
 * Which session files were looked at in their present state. In memory for the files of this process, and from the index
 * for those of earlier ones. Contract: a cache. Without it, files are read again and nothing changes.
 */
import type { Agent } from '../../model/agent.ts';
import type { Index } from '../../store/index/index-db.ts';
import type { SourceRow } from '../../store/index/sources-table.ts';
import type { Imported, ImportTarget } from '../sessions/imported.ts';
import { type Facts, sourceId } from '../sessions/known-files.ts';

export class Seen {
  readonly #index: Index;
  readonly #stamps = new Map<string, string>();
  /** Files that could not be imported, with the reason. */
  readonly set_aside = new Map<string, string>();
  #rows: SourceRow[] = [];
  #ignored: SourceRow[] = [];

  constructor(index: Index) {
    this.#index = index;
  }

  isNew({ id }: Agent, path: string, stamp: string): boolean {
    const known = this.#stamps.get(path);
    if (known !== undefined) return known !== stamp;
    const row = this.#index.getSource(sourceId(id, path));
    const facts = row === null ? null : (JSON.parse(row.facts) as Facts);
    if (facts?.main !== stamp) return true;
    this.#stamps.set(path, stamp);
    if (facts.failed !== undefined) this.set_aside.set(path, facts.failed);
    return false;
  }

  /** A file of a sub-agent, which is read with the session that it belongs to. */
  ignore(agent: Agent, path: string, stamp: string): void {
    this.#stamps.set(path, stamp);
    this.#ignored.push(rowOf(agent, path, { main: stamp }));
  }

  add({ agent, path, stamp = '' }: ImportTarget, { state, why, may_pass }: Imported): void {
    this.#stamps.set(path, stamp);
    this.set_aside.delete(path);
    if (state !== 'failed') return;
    const failed = (why ?? 'unknown reason').replace(`${path}: `, '');
    this.set_aside.set(path, failed);
    if (may_pass) this.forget(path);
    else this.#rows.push(rowOf(agent, path, { main: stamp, failed }));
  }

  /** The file has to be looked at, whatever its stamp says. */
  forget(path: string): void {
    this.#stamps.delete(path);
  }

  /** `all`: no session waits. Files of sub-agents were looked at when their session was. */
  flush(all: boolean): void {
    const rows = [...this.#rows, ...(all ? this.#ignored : [])];
    this.#rows = [];
    if (all) this.#ignored = [];
    if (rows.length > 0) this.#index.saveSources(rows);
  }
}

function rowOf({ id }: Agent, path: string, facts: Facts): SourceRow {
  return { source: sourceId(id, path), stamp: '', run_id: null, facts: JSON.stringify(facts) };
}
