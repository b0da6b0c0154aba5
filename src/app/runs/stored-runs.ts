/** Store requests from programs, each with an index that has every finished run of the journal. */
import { TachoError } from '../../lib/errors.ts';
import { checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { UsageReport } from '../../projections/usage/usage-report.ts';
import type { ChainHead } from '../../store/chain/chain.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { hasState, openStateDir, type StateDir } from '../../store/state-dir.ts';
import type { AuditReport } from '../audit/audit.ts';
import type { AuditOptions } from '../audit/audit-for-program.ts';
import type { HeadCheck } from '../audit/chain.ts';
import type { SearchPage } from '../search/search.ts';
import type { SearchOptions } from '../search/search-for-program.ts';
import { type ImportOptions, importForProgram } from '../sessions/import-for-program.ts';
import type { Imported } from '../sessions/imported.ts';
import type { ExplainedUsage } from '../usage/explained.ts';
import type { ExplainUsageOptions, UsageOptions } from '../usage/usage-for-program.ts';
import { catchUpState } from './catch-up.ts';
import type { Collected, GcOptions } from './gc.ts';
import { gcForProgram, type Recovered, recoverForProgram, statsForProgram } from './maintain.ts';
import { type ListOptions, queryOf } from './query.ts';
import type { Reindexed } from './reindex.ts';
import { type Removed, removeRuns } from './remove.ts';
import { findRunId, findRunIds, journalledEvents, noRuns } from './replay.ts';
import type { Restored } from './restore.ts';
import type { Stats } from './retention.ts';
import { showRun, storedOutcome } from './show.ts';
import {
  type LockOptions,
  METHOD_FIELDS,
  type RecoverOptions,
  type RestoreOptions,
  type StatsOptions,
} from './store-options.ts';
import { type StatedRun, unfinishedStates, withStates } from './unfinished.ts';
import { type Verified, verifyRun } from './verify.ts';

const NOTHING_REINDEXED: Reindexed = {
  ...{ runs: 0, unfinished: 0, deleted: 0, foreign: 0, damaged: 0, torn: 0 },
  unreadable: [],
};

export class StoredRuns {
  readonly #path: string;
  readonly #say: (text: string) => void;

  constructor(path: string, say: (text: string) => void) {
    this.#path = path;
    this.#say = say;
  }

  async *list(options: ListOptions = {}): AsyncGenerator<StatedRun> {
    const state = await this.#state();
    const query = queryOf(options, state);
    if (state === null) return;
    using index = openIndex(state);
    yield* withStates(index.listRuns(query), await unfinishedStates(index));
  }

  async get(run: string): Promise<StatedRun> {
    const { state, run_id } = await this.#find(run);
    using index = openIndex(state);
    for (const row of withStates(index.listRuns({ run_id }), await unfinishedStates(index)))
      return row;
    throw this.#missing(run);
  }

  async outcome(run: string): Promise<RunOutcome> {
    const { state, run_id } = await this.#find(run);
    return storedOutcome(state, run_id);
  }

  async *events(run: string): AsyncGenerator<Event> {
    const { state, run_id } = await this.#find(run);
    yield* journalledEvents(state, run_id);
  }

  async transcript(run: string): Promise<Transcript> {
    const { state, run_id } = await this.#find(run);
    const pieces: Buffer[] = [];
    await showRun(state, run_id, async ({ json }) => {
      // A chunk is valid until the next is requested.
      for (const piece of json()) pieces.push(Buffer.from(piece));
    });
    return JSON.parse(Buffer.concat(pieces).toString('utf8')) as Transcript;
  }

  async verify(run: string): Promise<Verified> {
    const { state, run_id } = await this.#find(run);
    return verifyRun(state, run_id);
  }

  async audit(options: AuditOptions = {}): Promise<AuditReport> {
    const { auditForProgram, checkAuditOptions } = await import('../audit/audit-for-program.ts');
    checkAuditOptions(options);
    return auditForProgram(await this.#existing(), options, this.#say);
  }

  async chainHead(): Promise<ChainHead | null> {
    const { chainHead } = await import('../audit/chain.ts');
    return chainHead(await this.#existing(), Date.now());
  }

  async checkChainHead(sha256: string): Promise<HeadCheck> {
    checkOptions('checkChainHead', { sha256 }, { sha256: is.required(is.text) });
    const { checkHead } = await import('../audit/chain.ts');
    return checkHead(await this.#existing(), sha256);
  }

  import(options: ImportOptions): AsyncGenerator<Imported> {
    return importForProgram(this.#path, options, this.#say);
  }

  async remove(runs: readonly string[], options: LockOptions = {}): Promise<Removed> {
    checkOptions('remove', { runs }, { runs: is.required(is.texts) });
    checkOptions('remove', options, METHOD_FIELDS.remove);
    const state = await this.#state();
    if (state === null) throw this.#missing(runs[0] ?? '');
    return removeRuns(state, findRunIds(state, runs), { ...options, say: this.#say });
  }

  async gc(options: GcOptions = {}): Promise<Collected> {
    checkOptions('gc', options, METHOD_FIELDS.gc);
    return gcForProgram(openStateDir(this.#path), options, this.#say);
  }

  async restore(archive: string, options: RestoreOptions = {}): Promise<Restored> {
    checkOptions('restore', { archive }, { archive: is.required(is.text) });
    checkOptions('restore', options, METHOD_FIELDS.restore);
    const { runs = [], anySize: any_size, force } = options;
    const { restore } = await import('./restore.ts');
    const state = openStateDir(this.#path);
    await catchUpState(state, this.#say);
    return restore(state, archive, { runs, any_size, force, say: this.#say });
  }

  async *recover(options: RecoverOptions = {}): AsyncGenerator<Recovered> {
    checkOptions('recover', options, METHOD_FIELDS.recover);
    if (hasState(this.#path))
      yield* recoverForProgram(openStateDir(this.#path), options, this.#say);
  }

  async reindex(options: LockOptions = {}): Promise<Reindexed> {
    checkOptions('reindex', options, METHOD_FIELDS.reindex);
    if (!hasState(this.#path)) return NOTHING_REINDEXED;
    const { reindex } = await import('./reindex.ts');
    return reindex(openStateDir(this.#path), { ...options, say: this.#say });
  }

  async search(query: string, options: SearchOptions = {}): Promise<SearchPage> {
    const { searchForProgram } = await import('../search/search-for-program.ts');
    return searchForProgram(await this.#state(), query, options, this.#say);
  }

  async stats(options: StatsOptions = {}): Promise<Stats> {
    checkOptions('stats', options, METHOD_FIELDS.stats);
    return statsForProgram(await this.#state(), options);
  }

  async usage(options: UsageOptions = {}): Promise<UsageReport> {
    const { usageForProgram } = await import('../usage/usage-for-program.ts');
    return usageForProgram(await this.#usageState(), options);
  }

  async explainUsage(options: ExplainUsageOptions = {}): Promise<ExplainedUsage> {
    const { explainForProgram } = await import('../usage/usage-for-program.ts');
    return explainForProgram(await this.#usageState(), options);
  }

  async #usageState(): Promise<StateDir | null> {
    const state = await this.#state();
    const { currentUsage } = await import('../prices/current-usage.ts');
    if (state !== null) await currentUsage(state, this.#say);
    return state;
  }

  /** Null if there is no store. */
  async #state(): Promise<StateDir | null> {
    if (!hasState(this.#path)) return null;
    const state = openStateDir(this.#path);
    await catchUpState(state, this.#say);
    return state;
  }

  async #existing(): Promise<StateDir> {
    const state = await this.#state();
    if (state === null) throw noRuns(this.#path);
    return state;
  }

  async #find(run: string): Promise<{ state: StateDir; run_id: string }> {
    checkOptions('store', { run }, { run: is.required(is.text) });
    const state = await this.#state();
    if (state === null) throw this.#missing(run);
    return { state, run_id: await findRunId(state, run) };
  }

  #missing(run: string): TachoError {
    const text = `no run "${run}": there is no store in ${this.#path}`;
    return new TachoError('not_found', text, { stage: 'find' });
  }
}
