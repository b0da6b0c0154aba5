/**
 * Entries on their way to the disk. While one group is written, new entries are immediately added to the next group:
 * their position is known before they are durable, and only their bytes wait.
 * Contract: groups are written one after the other. If one fails, everything that waits fails too, because later entries
 * would leave a gap.
 */
import { STORE_LIMITS } from '../limits.ts';
import { type Group, newGroup, place } from './group.ts';
import type { JournalEntry } from './line.ts';
import type { Sessions } from './session-state.ts';
import type { AppendResult } from './state.ts';

/**
 * Called once per entry, in order, when it is placed in a group; it may still fail to become durable. Must not throw.
 */
export type OnPlaced<E extends JournalEntry> = (entry: E, result: AppendResult) => void;

/** The destination of groups. */
export interface GroupOutput {
  write(group: Group): Promise<void>;
  /** Called after a failure; returns the error to report. */
  failed(cause: unknown): Error;
}

/** Entries that are acknowledged together. */
export class Job {
  bytes = 0;
  readonly results: AppendResult[] = [];
  /** Entries that are not placed yet. */
  waiting: JournalEntry[] = [];
  readonly onPlaced: OnPlaced<JournalEntry> | undefined;
  readonly answer = Promise.withResolvers<AppendResult[]>();

  constructor(onPlaced?: OnPlaced<JournalEntry>) {
    this.onPlaced = onPlaced;
  }

  placed(entry: JournalEntry, result: AppendResult): void {
    this.results.push(result);
    this.onPlaced?.(entry, result);
  }
}

export class Appending {
  readonly #sessions: Sessions;
  readonly #out: GroupOutput;
  #queue: Job[] = [];
  /** Bytes of everything that is not acknowledged yet. */
  queued_bytes = 0;
  /** New entries are placed here. */
  #open: Group | null = null;
  readonly #slabs: Buffer[] = [];
  /** An entry could not be placed yet: later ones wait too. */
  #stuck = false;
  #working: Promise<void> | null = null;

  constructor(sessions: Sessions, out: GroupOutput) {
    this.#sessions = sessions;
    this.#out = out;
  }

  /** Resolves when nothing is queued. Null if nothing is queued now. */
  get working(): Promise<void> | null {
    return this.#working;
  }

  /** Adds a job that is acknowledged after everything queued now. */
  add(job: Job): Promise<AppendResult[]> {
    this.#queue.push(job);
    this.#working ??= this.#start();
    return job.answer.promise;
  }

  /** Adds another entry to a job that was added in the same turn. */
  put(job: Job, entry: JournalEntry, bytes: number): void {
    job.bytes += bytes;
    this.queued_bytes += bytes;
    const state = this.#stuck ? undefined : this.#sessions.get(entry.session);
    const result = state === undefined ? null : place(this.#group(), entry, state);
    if (result !== null) job.placed(entry, result);
    else {
      this.#stuck = true;
      job.waiting.push(entry);
    }
  }

  #group(): Group {
    this.#open ??= newGroup(
      this.#slabs.pop() ?? Buffer.allocUnsafeSlow(STORE_LIMITS.journal_group_bytes_max),
    );
    return this.#open;
  }

  async #start(): Promise<void> {
    // Entries that the caller appends in the same tick join the first group, and so does pending data from its
    // sockets.
    await new Promise(setImmediate);
    // Callers with appends that were just acknowledged may have appended again.
    do await this.#work();
    while (this.#queue.length > 0);
    this.#working = null;
  }

  /** Without pauses: entries that arrive while one group is synced form the next group. */
  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      let group: Group | null = null;
      try {
        if (this.#stuck) await this.#fill();
        group = this.#open;
        this.#open = null;
        const first = this.#queue.findIndex(({ waiting }) => waiting.length > 0);
        const done = first < 0 ? this.#queue.length : first;
        if (group !== null) await this.#commit(group);
        this.#finish(done, ({ answer, results }) => answer.resolve(results));
      } catch (cause) {
        this.#rollback(group);
        const error = this.#out.failed(cause);
        this.#finish(this.#queue.length, ({ answer }) => answer.reject(error));
      }
    }
  }

  /** Places waiting entries as long as there is room. */
  async #fill(): Promise<void> {
    for (const job of this.#queue) {
      const { waiting } = job;
      let next = 0;
      try {
        for (; next < waiting.length; next++) {
          const entry = waiting[next] as JournalEntry;
          const { session } = entry;
          const state = this.#sessions.get(session) ?? (await this.#sessions.load(session));
          const result = place(this.#group(), entry, state);
          if (result === null) return;
          job.placed(entry, result);
        }
      } finally {
        job.waiting = waiting.slice(next);
      }
    }
    this.#stuck = false;
  }

  async #commit(group: Group): Promise<void> {
    const { touched } = group;
    for (const source of touched.keys()) source.seal();
    const { bytes } = group;
    if (group.fill > 0) await this.#out.write(group);
    for (const source of touched.keys()) source.commit();
    if (bytes.length === STORE_LIMITS.journal_group_bytes_max) this.#slabs.push(bytes);
  }

  #rollback(group: Group | null): void {
    for (const one of [group, this.#open])
      for (const source of one?.touched.keys() ?? []) source.rollback();
    this.#open = null;
    this.#stuck = false;
  }

  #finish(count: number, answer: (job: Job) => void): void {
    const jobs = this.#queue.splice(0, count);
    for (const { bytes } of jobs) this.queued_bytes -= bytes;
    jobs.forEach(answer);
  }
}
