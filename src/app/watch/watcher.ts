/**
 * Follows the session stores of all agents: sessions that exist are imported, newest first, and those that grow are
 * imported on. Contract: one watcher per store. Killed at any moment, the next one continues where it stopped. Files are
 * only read when they changed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createCollecting, giveBackMemory } from '../../lib/memory.ts';
import type { Agent, Memo } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import type { Journal } from '../../store/journal/journal.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { lastChange, tryStoreLock } from '../../store/store-lock.ts';
import { APP_LIMITS } from '../limits.ts';
import { GrowingRuns } from '../sessions/growing-runs.ts';
import { Importer } from '../sessions/import.ts';
import { familiesOf } from '../sessions/import-shares.ts';
import type { Imported, ImportTarget, Privacy } from '../sessions/imported.ts';
import { type Candidate, Folders } from './folders.ts';
import { writeHealth } from './health.ts';
import { lookAtStates, runOf, type StateParts } from './run-states.ts';
import { Seen } from './seen.ts';
import { StrayNotes } from './stray-notes.ts';
import { SubAgents } from './sub-agents.ts';
import { Waiting } from './waiting.ts';

/** The request to a watcher, and the functions that it calls. */
export interface Watching {
  env: NodeJS.ProcessEnv;
  /** Patterns of secrets in addition to the known shapes. */
  redact: readonly string[];
  /** Import what exists, and end. */
  once: boolean;
  signal: AbortSignal;
  /** Called after each session that was looked at. `left`: how many wait. */
  took(imported: Imported, left: number): void;
  stated?: StateParts['stated'];
  /** Called once all sessions that exist are imported. */
  caughtUp(): Promise<void> | void;
}

interface WatcherParts extends Watching, StateParts {
  agents: readonly Agent[];
  privacy: Privacy;
  state: StateDir;
  journal: Journal;
}

export class Watcher {
  readonly #parts: WatcherParts;
  readonly #folders: Folders;
  readonly #seen: Seen;
  readonly #waiting = new Waiting();
  readonly #hints = new Set<string>();
  readonly #fresh: Candidate[] = [];
  readonly #sub_agents: SubAgents;
  readonly #growing = new GrowingRuns<ImportTarget>();
  /** The last change of the store by another command. */
  #change: string;
  readonly #started_ms = Date.now();
  /** Delays of the last minute: when each was measured, and how long it was. */
  #lags: { at_ms: number; ms: number }[] = [];
  #reconciled_ms: number | null = null;
  readonly #strays: StrayNotes;
  /** Called with the number of sessions that were imported. */
  readonly #collect = createCollecting(APP_LIMITS.watch_collect_sessions);
  #caught_up = false;
  /** When folders that cannot be watched may be looked at again. */
  #poll_from = 0;
  #wake: () => void = () => undefined;

  constructor(parts: WatcherParts) {
    this.#parts = parts;
    this.#seen = new Seen(parts.index);
    this.#strays = new StrayNotes(parts.agents, parts.env);
    this.#sub_agents = new SubAgents(parts.index);
    this.#change = lastChange(parts.state);
    this.#folders = new Folders(parts.agents, parts.env, (path) => {
      this.#hints.add(path);
      this.#wake();
    });
  }

  async run(): Promise<void> {
    const { once, signal } = this.#parts;
    const memo = await this.#first();
    if (once) return await this.#catchUp(memo);
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    // The first import may take minutes: what changes meanwhile is looked at.
    const timers = this.#timers();
    try {
      await this.#catchUp(memo);
      while (!signal.aborted) {
        await this.#rest();
        await this.#gather();
        await this.#work();
      }
    } finally {
      for (const timer of timers) clearInterval(timer);
    }
  }

  #timers(): NodeJS.Timeout[] {
    return [
      setInterval(() => this.#poll(APP_LIMITS.watch_hot_age_ms), APP_LIMITS.watch_hot_ms),
      setInterval(() => void this.#pollParts(), APP_LIMITS.watch_hot_ms),
      setInterval(() => this.#folders.databasesChanged && this.#wake(), APP_LIMITS.watch_hot_ms),
      setInterval(() => this.#poll(APP_LIMITS.watch_warm_age_ms), APP_LIMITS.watch_warm_ms),
      setInterval(() => this.#all(), APP_LIMITS.watch_all_ms),
      setInterval(() => void this.#report(), APP_LIMITS.watch_report_ms),
      setInterval(() => this.#pollUnwatched(), APP_LIMITS.watch_poll_ms),
      setInterval(() => this.#folders.appeared() && this.#all(), APP_LIMITS.watch_appear_ms),
    ];
  }

  close(): void {
    this.#folders.close();
  }

  /** Finds all sessions that exist: families of forks together, in the order of their times; the newest family first. */
  async #first(): Promise<Memo> {
    const memo: Memo = new Map();
    this.#reconciled_ms = Date.now();
    const scanned = this.#folders.scan();
    this.#collect(Number.POSITIVE_INFINITY);
    const fresh = await this.#targetsOf(scanned, memo);
    const queued = new Set(fresh.map(({ path }) => path));
    for (const candidate of scanned)
      if (!queued.has(candidate.path) && (await this.#sub_agents.changed(candidate, memo)))
        fresh.push(targetOf(candidate));
    for (const target of await this.#stored()) fresh.push(target);
    const modified = (path: string) => this.#folders.files.get(path)?.modified_ms ?? 0;
    fresh.sort((a, b) => modified(a.path) - modified(b.path));
    const families = await familiesOf(fresh, { index: this.#parts.index, memo });
    const newest = (family: readonly ImportTarget[]) => modified(family.at(-1)?.path ?? '');
    families.sort((a, b) => newest(b) - newest(a));
    for (const family of families) this.#waiting.addOld(family);
    this.#collect(Number.POSITIVE_INFINITY);
    return memo;
  }

  async #catchUp(memo: Memo): Promise<void> {
    await this.#work(memo);
    this.#caught_up = true;
    memo.clear();
    this.#waiting.forgetFamilies();
    await this.#report();
    await this.#parts.caughtUp();
    giveBackMemory();
  }

  /** Sessions in databases that changed since they were imported. */
  async #stored(): Promise<ImportTarget[]> {
    const targets: ImportTarget[] = [];
    for (const [database, agent] of this.#folders.takeDatabases()) {
      const now_ms = Date.now();
      for await (const { path, modified_ms } of agent.session?.list?.(this.#parts) ?? []) {
        // Others are in files, which are found as such.
        if (!path.startsWith(database)) break;
        if (path !== database) this.#seen.set_aside.delete(database);
        // It may change again within the same tick of the clock.
        const racy = path !== database && now_ms - modified_ms < RACY_MS;
        const stamp = `${modified_ms}${racy ? ' at most' : ''}`;
        if (this.#seen.isNew(agent, path, String(modified_ms)))
          targets.push({ agent, path, by_name: false, stamp });
      }
    }
    return targets;
  }

  /** The sessions that these files are about, as far as they are new or have changed. */
  async #targetsOf(candidates: readonly Candidate[], memo: Memo): Promise<ImportTarget[]> {
    const found = new Map<string, Candidate>();
    const subs: Candidate[] = [];
    for (const candidate of candidates) {
      const { agent, path, stamp } = candidate;
      if (!this.#seen.isNew(agent, path, stamp)) continue;
      if ((await agent.session?.isMain?.(path, memo)) !== false) {
        found.set(path, candidate);
        continue;
      }
      // A sub-agent: it is read with its session.
      this.#seen.ignore(agent, path, stamp);
      if (agent.session?.parts_in_places) subs.push(candidate);
    }
    for (const main of await this.#sub_agents.mainsOf(subs, this.#folders.files, memo))
      found.set(main.path, main);
    return [...found.values()].map(targetOf);
  }

  /** Files that changed a short time ago. */
  *#inUse(age_ms: number = APP_LIMITS.watch_hot_age_ms): Generator<Candidate, void> {
    yield* this.#folders.recent(age_ms);
    const since_ms = Date.now() - age_ms;
    for (const path of this.#sub_agents.writtenSince(since_ms)) {
      const one = this.#folders.files.get(path);
      if (one !== undefined && one.modified_ms < since_ms) yield one;
    }
  }

  /** Waits for a hint or the next look. */
  async #rest(): Promise<void> {
    const idle = this.#hints.size + this.#fresh.length + this.#waiting.size === 0;
    // Reading a database leaves no trace in its files: a watcher is not woken by its own reads.
    if (idle && !this.#folders.databasesChanged) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const { signal } = this.#parts;
      if (signal.aborted) return;
      await promise;
    }
    await sleep(APP_LIMITS.watch_gather_ms);
  }

  async #gather(): Promise<void> {
    const hints = [...this.#hints];
    this.#hints.clear();
    for (const path of hints) if (!this.#folders.files.has(path)) this.#strays.note(path);
    const fresh = [...this.#fresh.splice(0), ...hints.flatMap((path) => this.#folders.taken(path))];
    for (const target of await this.#targetsOf(fresh, new Map())) this.#waiting.add(target);
    for (const target of await this.#stored()) this.#waiting.add(target);
  }

  #found(candidates: readonly Candidate[]): void {
    this.#fresh.push(...candidates);
    if (candidates.length > 0) this.#wake();
  }

  /** Looks at files that changed within this time. */
  #poll(age_ms: number): void {
    const looked = [...this.#inUse(age_ms)].map(({ path }) => this.#folders.look(path));
    this.#found(looked.filter((one) => one !== null));
  }

  /** Files of sub-agents may change without the main file: those of sessions in use are looked at. */
  async #pollParts(): Promise<void> {
    for (const candidate of [...this.#inUse()]) {
      if (!(await this.#sub_agents.changed(candidate))) continue;
      this.#waiting.add(targetOf(candidate));
      this.#wake();
    }
  }

  /** As often as it may cost. */
  #pollUnwatched(): void {
    if (this.#folders.unwatched === 0 || performance.now() < this.#poll_from) return;
    const before = process.cpuUsage();
    this.#scan();
    const { user, system } = process.cpuUsage(before);
    const cpu_ms = (user + system) / 1000;
    this.#poll_from = performance.now() + cpu_ms * APP_LIMITS.watch_poll_pause;
  }

  /** Strays are searched for only here: the search reads the beginnings of files. */
  #all(): void {
    this.#strays.due = true;
    this.#scan();
  }

  #scan(): void {
    this.#reconciled_ms = Date.now();
    this.#found(this.#folders.scan());
  }

  /** Imports what waits, in slices: other commands may change the store in between. `memo`: of the first scan. */
  async #work(memo?: Memo): Promise<void> {
    const { signal, once } = this.#parts;
    while (this.#waiting.size > 0 && !signal.aborted) {
      if (!once) await this.#gather();
      const release = tryStoreLock(this.#parts.state);
      if (release === null) {
        await sleep(APP_LIMITS.watch_gather_ms);
        continue;
      }
      try {
        this.#forgetChanged();
        // Without the memo: what it has of a session that changed is old.
        const { changed, old } = this.#waiting;
        if (changed.size > 0) await this.#slice(changed);
        if (old.size > 0) await this.#slice(old, memo);
      } finally {
        release();
      }
      await this.#parts.live?.send();
    }
  }

  /** Other commands may have changed runs that are kept in memory. */
  #forgetChanged(): void {
    const change = lastChange(this.#parts.state);
    if (change === this.#change) return;
    this.#change = change;
    this.#growing.clear();
    this.#parts.journal.forget();
  }

  async #slice(queue: Map<string, ImportTarget>, memo?: Memo): Promise<void> {
    const { state, index, journal, env, redact, privacy, signal } = this.#parts;
    const importer = new Importer({
      ...{ state, index, journal, env, redact, privacy },
      ...(memo && { memo }),
      ...(this.#caught_up && {
        growing: this.#growing,
        observe: (target, events) => this.#observe(target, events),
      }),
    });
    const until = performance.now() + APP_LIMITS.watch_slice_ms;
    let replaced = 0;
    try {
      for (const target of this.#waiting.take(queue)) {
        const imported = await importer.take(target);
        replaced += imported.replaced.length;
        this.#took(target, imported);
        if (performance.now() >= until || signal.aborted) break;
      }
    } finally {
      importer.close();
      this.#seen.flush(this.#waiting.size === 0);
      if (replaced > 0) await freeDeleted(state, index);
    }
  }

  #took(target: ImportTarget, imported: Imported): void {
    this.#seen.add(target, imported);
    if (imported.may_pass) setTimeout(() => this.#again(target), APP_LIMITS.watch_retry_ms).unref();
    const { state, run_id } = imported;
    if (run_id !== null && (state === 'imported' || state === 'grown'))
      this.#parts.live?.changed(run_id, this.#caught_up && state === 'grown');
    if (this.#caught_up && (state === 'imported' || state === 'grown')) {
      const now_ms = Date.now();
      const written_ms = this.#folders.files.get(target.path)?.modified_ms ?? now_ms;
      this.#lags.push({ at_ms: now_ms, ms: Math.max(0, now_ms - written_ms) });
      const outcome = run_id === null ? null : this.#parts.index.getRun(run_id);
      if (outcome !== null) this.#parts.notifier?.cost(runOf(outcome), outcome.metrics.cost);
    }
    this.#collect(1);
    this.#parts.took(imported, this.#waiting.size);
  }

  #again(target: ImportTarget): void {
    const { path } = target;
    if (this.#folders.databases.has(path)) this.#folders.forgetDatabase(path);
    else this.#waiting.add(target);
    this.#wake();
  }

  /** New events of a run. Its row may not exist yet. */
  #observe({ agent }: ImportTarget, events: readonly Event[]): void {
    const { notifier, live } = this.#parts;
    live?.observe(events);
    for (const event of notifier === null ? [] : events) {
      const { run_id } = event;
      const known = this.#parts.index.getRun(run_id);
      const run =
        known === null ? { run_id, agent: agent.id, project: null, prompt: null } : runOf(known);
      notifier?.call(run, event);
    }
  }

  /** Notifies of states, and writes the health of the watcher. */
  async #report(): Promise<void> {
    const { state, notifier, live, agents } = this.#parts;
    if (this.#caught_up) await lookAtStates(this.#parts);
    const now_ms = Date.now();
    for (const target of this.#growing.dropOld(now_ms)) this.#waiting.add(target);
    if (this.#waiting.size > 0) this.#wake();
    this.#lags = this.#lags.filter(({ at_ms }) => now_ms - at_ms < LAG_WINDOW_MS);
    const set_aside = [...this.#seen.set_aside].map(([path, why]) => ({ path, why }));
    writeHealth(state, {
      pid: process.pid,
      started_ms: this.#started_ms,
      written_ms: now_ms,
      agents: agents.map(({ id }) => id),
      sessions: this.#folders.files.size,
      waiting: this.#waiting.size + this.#fresh.length,
      lag_ms: this.#lags.length === 0 ? null : Math.max(...this.#lags.map(({ ms }) => ms)),
      reconciled_ms: this.#reconciled_ms,
      unwatched: this.#folders.unwatched,
      set_aside: set_aside.slice(0, SET_ASIDE_SHOWN),
      set_aside_count: set_aside.length,
      ...(await this.#strays.current()),
      notified: notifier?.status() ?? null,
      live: live?.status() ?? null,
    });
  }
}

/** Times of rows are in milliseconds, and a row may be written twice within one. */
const RACY_MS = 2_000;
const LAG_WINDOW_MS = 60_000;
const SET_ASIDE_SHOWN = 100;

const targetOf = ({ agent, path, stamp }: Candidate): ImportTarget => ({
  agent,
  path,
  by_name: false,
  stamp,
});
