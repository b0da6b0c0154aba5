/** Store requests from programs, each with an index that has every finished run of the journal. */
import { existsSync } from 'node:fs';
import { TachoError } from '../../lib/errors.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { Transcript } from '../../model/transcript.ts';
import { openIndex } from '../../store/index/index-db.ts';
import type { RunRow } from '../../store/index/runs-table.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import type { Imported } from '../sessions/import.ts';
import { type ImportOptions, importForProgram } from '../sessions/import-for-program.ts';
import { catchUpState } from './catch-up.ts';
import { type ListOptions, queryOf } from './query.ts';
import { type Removed, removeRuns } from './remove.ts';
import { findRunId, findRunIds, journalledEvents } from './replay.ts';
import { showRun, storedOutcome } from './show.ts';
import { type Verified, verifyRun } from './verify.ts';

export class StoredRuns {
  readonly #path: string;
  readonly #say: (text: string) => void;

  constructor(path: string, say: (text: string) => void) {
    this.#path = path;
    this.#say = say;
  }

  async *list(options: ListOptions = {}): AsyncGenerator<RunRow> {
    const query = queryOf(options);
    const state = await this.#state();
    if (state === null) return;
    using index = openIndex(state);
    yield* index.listRuns(query);
  }

  async get(run: string): Promise<RunRow> {
    const { state, run_id } = await this.#find(run);
    using index = openIndex(state);
    for (const row of index.listRuns({ run_id })) return row;
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

  import(options: ImportOptions): AsyncGenerator<Imported> {
    return importForProgram(this.#path, options, this.#say);
  }

  async remove(runs: readonly string[]): Promise<Removed> {
    const state = await this.#state();
    if (state === null) throw this.#missing(runs[0] ?? '');
    return removeRuns(state, findRunIds(state, runs), { say: this.#say });
  }

  /** Null if there is no store. */
  async #state(): Promise<StateDir | null> {
    if (!existsSync(this.#path)) return null;
    const state = openStateDir(this.#path);
    await catchUpState(state, this.#say);
    return state;
  }

  async #find(run: string): Promise<{ state: StateDir; run_id: string }> {
    const state = await this.#state();
    if (state === null) throw this.#missing(run);
    return { state, run_id: await findRunId(state, String(run)) };
  }

  #missing(run: string): TachoError {
    const text = `no run "${run}": there is no store in ${this.#path}`;
    return new TachoError('not_found', text, { stage: 'find' });
  }
}
