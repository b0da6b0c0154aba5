/** The store of recorded runs, for programs. Each method loads what it needs when it is called. */
import { existsSync } from 'node:fs';
import { TachoError } from '../../lib/errors.ts';
import { aFunction, checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { Transcript } from '../../model/transcript.ts';
import type { RunRow } from '../../store/index/runs-table.ts';
import { openStateDir, resolveStateDir, type StateDir } from '../../store/state-dir.ts';
import type { Imported } from '../sessions/import.ts';
import type { ImportOptions } from '../sessions/import-for-program.ts';
import type { ListOptions } from './query.ts';
import type { Removed } from './remove.ts';
import type { Verified } from './verify.ts';

export interface StoreOptions {
  /** Default: `$TACHO_HOME`, else `.tacho` here or above, else the user's store. */
  stateDir?: string | undefined;
  /** Receives messages for people, such as runs that were added to the index. */
  onNotice?: ((text: string) => void) | undefined;
}

const STORE_FIELDS = {
  stateDir: is.anyText,
  onNotice: aFunction,
} as const satisfies Readonly<Record<keyof StoreOptions, is.Fields[string]>>;

/**
 * Recorded runs. `run` is the id of a run or of an agent's session, a unique beginning of one, `last` or `last~N`. Methods
 * reject with a TachoError: `not_found` for a run that is not there, `usage` for a name that several runs have.
 */
export interface Store {
  /** Absolute path of the state folder. */
  readonly path: string;
  /** Newest first, read as it is iterated. */
  list(options?: ListOptions): AsyncIterable<RunRow>;
  /** The row of one run. */
  get(run: string): Promise<RunRow>;
  /** The outcome of a run, without inputs and outputs of calls. */
  outcome(run: string): Promise<RunOutcome>;
  /** The events of a run, read from the journal as they are iterated. */
  events(run: string): AsyncIterable<Event>;
  /** The conversation of a run: messages, and calls with inputs and outputs. */
  transcript(run: string): Promise<Transcript>;
  /** Checks sequence, hashes, form and transcript of a run's record. */
  verify(run: string): Promise<Verified>;
  /** Imports session files of agents, one after the other. Nothing is imported before it is iterated. */
  import(options: ImportOptions): AsyncIterable<Imported>;
  /** Deletes runs, journal included. */
  remove(runs: readonly string[]): Promise<Removed>;
  /** Later calls are refused. */
  close(): void;
  [Symbol.dispose](): void;
}

/** Opens the store. Nothing is created before something is imported; where there is no store, the list is empty. */
export function openStore(options: StoreOptions = {}): Store {
  checkOptions('openStore', options, STORE_FIELDS);
  const path = resolveStateDir({ flag: options.stateDir, env: process.env });
  return new OpenStore(path, options.onNotice ?? (() => {}));
}

class OpenStore implements Store {
  readonly path: string;
  readonly #say: (text: string) => void;
  #closed = false;

  constructor(path: string, say: (text: string) => void) {
    this.path = path;
    this.#say = say;
  }

  async *list(options: ListOptions = {}): AsyncGenerator<RunRow> {
    const { queryOf } = await import('./query.ts');
    const query = queryOf(options);
    const state = await this.#state();
    if (state === null) return;
    const { openIndex } = await import('../../store/index/index-db.ts');
    using index = openIndex(state);
    yield* index.listRuns(query);
  }

  async get(run: string): Promise<RunRow> {
    const { state, run_id } = await this.#find(run);
    const { openIndex } = await import('../../store/index/index-db.ts');
    using index = openIndex(state);
    for (const row of index.listRuns({ run_id })) return row;
    throw missing(run, this.path);
  }

  async outcome(run: string): Promise<RunOutcome> {
    const { state, run_id } = await this.#find(run);
    const { storedOutcome } = await import('./show.ts');
    return storedOutcome(state, run_id);
  }

  async *events(run: string): AsyncGenerator<Event> {
    const { state, run_id } = await this.#find(run);
    const { journalledEvents } = await import('./replay.ts');
    yield* journalledEvents(state, run_id);
  }

  async transcript(run: string): Promise<Transcript> {
    const { state, run_id } = await this.#find(run);
    const { showRun } = await import('./show.ts');
    const pieces: Buffer[] = [];
    await showRun(state, run_id, async ({ json }) => {
      for (const piece of json()) pieces.push(Buffer.from(piece));
    });
    return JSON.parse(Buffer.concat(pieces).toString('utf8')) as Transcript;
  }

  async verify(run: string): Promise<Verified> {
    const { state, run_id } = await this.#find(run);
    const { verifyRun } = await import('./verify.ts');
    return verifyRun(state, run_id);
  }

  async *import(options: ImportOptions): AsyncGenerator<Imported> {
    this.#checkOpen();
    const { importForProgram } = await import('../sessions/import-for-program.ts');
    yield* importForProgram(this.path, options, this.#say);
  }

  async remove(runs: readonly string[]): Promise<Removed> {
    const state = await this.#state();
    if (state === null)
      return { deleted: [], missing: [...runs], running: [], left: [], sending: [] };
    const { findRunIds } = await import('./replay.ts');
    const { removeRuns } = await import('./remove.ts');
    return removeRuns(state, findRunIds(state, runs), { say: this.#say });
  }

  close(): void {
    this.#closed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** The folder, with an index that has every finished run of the journal; null: there is none. */
  async #state(): Promise<StateDir | null> {
    this.#checkOpen();
    if (!existsSync(this.path)) return null;
    const state = openStateDir(this.path);
    const { catchUpState } = await import('./catch-up.ts');
    await catchUpState(state, this.#say);
    return state;
  }

  async #find(run: string): Promise<{ state: StateDir; run_id: string }> {
    const state = await this.#state();
    if (state === null) throw missing(run, this.path);
    const { findRunId } = await import('./replay.ts');
    return { state, run_id: await findRunId(state, String(run)) };
  }

  #checkOpen(): void {
    if (this.#closed) throw new TachoError('usage', 'the store is closed', { stage: 'find' });
  }
}

const missing = (run: string, path: string) =>
  new TachoError('not_found', `no run "${run}": there is no store in ${path}`, { stage: 'find' });
