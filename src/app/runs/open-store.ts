/** The store of recorded runs, for programs. Its parts are loaded by the first call. */
import { TachoError } from '../../lib/errors.ts';
import { aFunction, checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { UsageReport } from '../../projections/usage/usage-report.ts';
import type { ChainHead } from '../../store/chain/chain.ts';
import { resolveStateDir } from '../../store/state-dir.ts';
import type { AuditReport } from '../audit/audit.ts';
import type { AuditOptions } from '../audit/audit-for-program.ts';
import type { HeadCheck } from '../audit/chain.ts';
import type { SearchPage } from '../search/search.ts';
import type { SearchOptions } from '../search/search-for-program.ts';
import type { ImportOptions } from '../sessions/import-for-program.ts';
import type { Imported } from '../sessions/imported.ts';
import type { ExplainedUsage } from '../usage/explained.ts';
import type { ExplainUsageOptions, UsageOptions } from '../usage/usage-for-program.ts';
import type { Collected, GcOptions } from './gc.ts';
import type { Recovered } from './maintain.ts';
import type { ListOptions } from './query.ts';
import type { Reindexed } from './reindex.ts';
import type { Removed } from './remove.ts';
import type { Restored } from './restore.ts';
import type { Stats } from './retention.ts';
import type { LockOptions, RecoverOptions, RestoreOptions, StatsOptions } from './store-options.ts';
import type { StoredRuns } from './stored-runs.ts';
import type { StatedRun } from './unfinished.ts';
import type { Verified } from './verify.ts';

/** Options of `openStore`. */
export interface StoreOptions {
  /** State folder. Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  stateDir?: string | undefined;
  /** Receives messages for people, such as runs that were added to the index. */
  onNotice?: ((text: string) => void) | undefined;
}

const STORE_FIELDS = {
  stateDir: is.anyText,
  onNotice: aFunction,
} as const satisfies Readonly<Record<keyof StoreOptions, is.Fields[string]>>;

/**
 * Recorded runs. `run` is the id of a run or of an agent's session, a unique prefix of one, `last` or `last~N`.
 * Methods reject with a TachoError: `not_found` for a missing run, `usage` for an ambiguous name.
 */
export interface Store {
  /** Absolute path of the state folder. */
  readonly path: string;
  /** Newest first, read as it is iterated. */
  list(options?: ListOptions): AsyncIterable<StatedRun>;
  /** The row of one run. */
  get(run: string): Promise<StatedRun>;
  /** The outcome of a run, without inputs and outputs of calls. */
  outcome(run: string): Promise<RunOutcome>;
  /** The events of a run, read from the journal as they are iterated. */
  events(run: string): AsyncIterable<Event>;
  /** The conversation of a run: messages, and calls with inputs and outputs. */
  transcript(run: string): Promise<Transcript>;
  /** Checks sequence, hashes, form and transcript of a run's record. */
  verify(run: string): Promise<Verified>;
  /** Lists risky commands, secret files, network use and denials, by rules. */
  audit(options?: AuditOptions): Promise<AuditReport>;
  /** Adds all runs to the chain over runs, and returns its last hash. Null if there are no runs. */
  chainHead(): Promise<ChainHead | null>;
  /** Checks that the chain contains this earlier hash, or that of a file: no run before it was removed or changed unnoticed. */
  checkChainHead(sha256: string): Promise<HeadCheck>;
  /** Imports session files of agents, one after the other. Nothing is imported before it is iterated. */
  import(options: ImportOptions): AsyncIterable<Imported>;
  /**
   * Finds events by a query such as `"rate limit" tool:Bash -test`. Rejects with a QueryError, which has the position
   * of the mistake in the query.
   */
  search(query: string, options?: SearchOptions): Promise<SearchPage>;
  /** Sums up runs: number, success, calls, tokens, cost and size, by agent and local day. */
  stats(options?: StatsOptions): Promise<Stats>;
  /** Sums up tokens and costs by time, agent, model, project or label. */
  usage(options?: UsageOptions): Promise<UsageReport>;
  /** The same with the runs behind the figures, and the lines of their records. */
  explainUsage(options?: ExplainUsageOptions): Promise<ExplainedUsage>;
  /** Deletes runs for good: their rows, files and bytes in the journal. Archives keep theirs. */
  remove(runs: readonly string[], options?: LockOptions): Promise<Removed>;
  /** Removes old runs by the given limits, or by the policies of tacho.yaml, and archives them first. */
  gc(options?: GcOptions): Promise<Collected>;
  /** Restores runs from an archive that `gc` made. `archive` is its path, or its name in the archive folder. */
  restore(archive: string, options?: RestoreOptions): Promise<Restored>;
  /** Finishes the records of runs after tacho was killed, one after the other, as it is iterated. */
  recover(options?: RecoverOptions): AsyncIterable<Recovered>;
  /** Rebuilds the index from the journal. */
  reindex(options?: LockOptions): Promise<Reindexed>;
  /** Refuses later calls. */
  close(): void;
  /** The same, for `using`. */
  [Symbol.dispose](): void;
}

/** Opens the store. Reading creates nothing. If there is no store, the list is empty. */
export function openStore(options: StoreOptions = {}): Store {
  checkOptions('openStore', options, STORE_FIELDS);
  const { onNotice: say = () => {} } = options;
  const path = resolveStateDir({ flag: options.stateDir, env: process.env });
  let closed = false;
  async function runs(): Promise<StoredRuns> {
    if (closed) throw new TachoError('usage', 'the store is closed', { stage: 'find' });
    const { StoredRuns } = await import('./stored-runs.ts');
    return new StoredRuns(path, say);
  }
  const close = () => {
    closed = true;
  };
  return {
    path,
    list: async function* (asked) {
      yield* (await runs()).list(asked);
    },
    events: async function* (run) {
      yield* (await runs()).events(run);
    },
    import: async function* (asked) {
      yield* (await runs()).import(asked);
    },
    recover: async function* (asked) {
      yield* (await runs()).recover(asked);
    },
    get: async (run) => (await runs()).get(run),
    outcome: async (run) => (await runs()).outcome(run),
    transcript: async (run) => (await runs()).transcript(run),
    verify: async (run) => (await runs()).verify(run),
    search: async (query, asked) => (await runs()).search(query, asked),
    audit: async (asked) => (await runs()).audit(asked),
    chainHead: async () => (await runs()).chainHead(),
    checkChainHead: async (sha256) => (await runs()).checkChainHead(sha256),
    stats: async (asked) => (await runs()).stats(asked),
    usage: async (asked) => (await runs()).usage(asked),
    explainUsage: async (asked) => (await runs()).explainUsage(asked),
    remove: async (names, asked) => (await runs()).remove(names, asked),
    gc: async (asked) => (await runs()).gc(asked),
    restore: async (archive, asked) => (await runs()).restore(archive, asked),
    reindex: async (asked) => (await runs()).reindex(asked),
    close,
    [Symbol.dispose]: close,
  };
}
