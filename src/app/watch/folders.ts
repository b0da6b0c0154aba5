/**
 * Finds the session files of agents by their names, and reports those that may have changed. Contract: file events are
 * only hints, and `stat` decides. A folder that cannot be watched is polled. Nothing is read but folders.
 */
import {
  accessSync,
  constants,
  type Dirent,
  type FSWatcher,
  readdirSync,
  statSync,
  watch,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { plainName, plainOrCompressed } from '../../lib/compressed.ts';
import { errnoOf } from '../../lib/errors.ts';
import type { Agent } from '../../model/agent.ts';
import { APP_LIMITS } from '../limits.ts';

/** A file that may be the main file of a session. */
export interface Candidate {
  agent: Agent;
  path: string;
  /** Size, times and inode at the last look. */
  stamp: string;
  modified_ms: number;
}

/** The entries of a folder that count: they match the pattern at this depth. */
interface Level {
  agent: Agent;
  names: readonly RegExp[];
  depth: number;
}

/** Null if it is not a regular file. */
function stampOf(path: string): { stamp: string; modified_ms: number } | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isFile()) return null;
    // A program can set the time of the last write, but not that of the last change.
    const { size, mtimeMs, ctimeMs, ino, dev } = found;
    return {
      stamp: `${size} ${mtimeMs} ${ctimeMs} ${ino} ${dev}`,
      modified_ms: Math.floor(mtimeMs),
    };
  } catch {
    return null;
  }
}

const CLOSED = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM']);

/** A folder that is created again may have the same inode. Null if there is no folder. */
function identityOf(folder: string): string | null {
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    return found?.isDirectory() ? `${found.dev} ${found.ino} ${found.birthtimeMs}` : null;
  } catch {
    return null;
  }
}

function isReadable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const databaseStamp = (path: string) =>
  [path, `${path}-wal`].map((name) => stampOf(name)?.stamp).join();

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // It does not exist yet, or cannot be read: it is looked at again.
    return [];
  }
}

export class Folders {
  /** By path. */
  readonly files = new Map<string, Candidate>();
  /** Folders that are polled because they cannot be watched. */
  readonly #unwatched = new Set<string>();
  /** Folders that cannot be read, or not any more. */
  readonly #closed = new Set<string>();
  readonly #agents: readonly Agent[];
  readonly #env: NodeJS.ProcessEnv;
  /** Called with a path that may have changed. */
  readonly #hint: (path: string) => void;
  readonly #watchers = new Map<string, { watcher: FSWatcher; identity: string }>();
  /** By folder: what its entries may be. */
  readonly #levels = new Map<string, Level[]>();
  readonly #roots = new Set<string>();
  /** The database files, with the agents that keep their sessions there. */
  readonly databases = new Map<string, Agent>();
  /** Of databases. */
  readonly #stamps = new Map<string, string>();
  /** Files that changed within the last day, or are new to this process. */
  readonly #recent = new Map<string, Candidate>();
  /** Folders that were found by the current scan. */
  #found = new Set<string>();
  /** How many folders the system lets us watch. */
  #most: number = APP_LIMITS.watched_folders_max;

  constructor(agents: readonly Agent[], env: NodeJS.ProcessEnv, hint: (path: string) => void) {
    this.#agents = agents;
    this.#env = env;
    this.#hint = hint;
  }

  get unwatched(): number {
    return this.#unwatched.size;
  }

  /** Looks at all folders. Returns the files that are new or have changed, newest first. */
  scan(): Candidate[] {
    const changed: Candidate[] = [];
    const seen = new Set<string>();
    this.#found = new Set();
    for (const agent of this.#agents)
      for (const place of agent.session?.places?.(this.#env) ?? []) {
        if ('database' in place) this.#database(agent, place.database);
        else {
          const { root, names } = place;
          this.#roots.add(root);
          this.#walk(root, { agent, names, depth: 0 }, seen, changed);
        }
      }
    for (const path of this.files.keys()) if (!seen.has(path)) this.#drop(path);
    this.#forgetOthers(this.#found);
    if (this.#unwatched.size > 0) this.#watchNewest(changed);
    return changed.sort((a, b) => b.modified_ms - a.modified_ms);
  }

  /** Whether a database or its log changed since `takeDatabases`. */
  get databasesChanged(): boolean {
    return [...this.databases.keys()].some(
      (path) => this.#stamps.get(path) !== databaseStamp(path),
    );
  }

  /** The databases that changed since they were last taken. */
  takeDatabases(): [path: string, agent: Agent][] {
    return [...this.databases].filter(([path]) => {
      const stamp = databaseStamp(path);
      const known = this.#stamps.get(path);
      this.#stamps.set(path, stamp);
      return stamp !== known;
    });
  }

  /** The database counts as changed. */
  forgetDatabase(path: string): void {
    this.#stamps.delete(path);
  }

  #database(agent: Agent, path: string): void {
    this.databases.set(path, agent);
    this.#watch(dirname(path), null);
  }

  #walk(root: string, top: Level, seen: Set<string>, changed: Candidate[]): void {
    const { agent, names } = top;
    const levels = [{ folder: root, depth: top.depth }];
    for (const { folder, depth } of levels) {
      const name = names[depth];
      if (name === undefined) continue;
      // First: what appears in it meanwhile must not be missed.
      this.#watch(folder, { agent, names, depth });
      const entries = entriesOf(folder);
      const plain = new Set(entries.map((entry) => entry.name));
      for (const entry of entries) {
        const uncompressed = plainName(entry.name);
        if (!name.test(uncompressed)) continue;
        // Briefly both exist.
        if (uncompressed !== entry.name && plain.has(uncompressed)) continue;
        const path = join(folder, entry.name);
        if (depth + 1 < names.length) levels.push({ folder: path, depth: depth + 1 });
        else {
          seen.add(path);
          const found = this.look(path, agent);
          if (found !== null) changed.push(found);
        }
      }
    }
  }

  #drop(path: string): void {
    this.files.delete(path);
    this.#recent.delete(path);
  }

  /** Files that changed within this time, of at most a day. */
  *recent(age_ms: number): Generator<Candidate, void> {
    const now_ms = Date.now();
    for (const [path, one] of this.#recent) {
      if (now_ms - one.modified_ms < age_ms) yield one;
      else if (now_ms - one.modified_ms >= APP_LIMITS.watch_warm_age_ms) this.#recent.delete(path);
    }
  }

  /** The file, if it is new or has changed since the last look. */
  look(path: string, agent = this.files.get(path)?.agent): Candidate | null {
    const now = agent === undefined ? null : stampOf(path);
    if (agent === undefined || now === null) {
      this.#drop(path);
      return null;
    }
    const known = this.files.get(path);
    if (known?.stamp === now.stamp) return null;
    const found = { agent, path, ...now };
    this.files.set(path, found);
    this.#recent.set(path, found);
    return found;
  }

  /** The files that a hint from the file system is about. */
  taken(hinted: string): Candidate[] {
    const path = plainOrCompressed(hinted);
    if (path !== hinted) this.#drop(hinted);
    const known = this.look(path);
    if (known !== null) return [known];
    const found: Candidate[] = [];
    for (const { agent, names, depth } of this.#levels.get(dirname(path)) ?? []) {
      if (names[depth]?.test(plainName(basename(path))) !== true) continue;
      const below = { agent, names, depth: depth + 1 };
      if (below.depth < names.length) this.#walk(path, below, new Set(), found);
      else found.push(...[this.look(path, agent)].filter((one) => one !== null));
    }
    return found;
  }

  /** Watches a folder for as long as it exists. */
  #watch(folder: string, level: Level | null): void {
    this.#found.add(folder);
    if (level !== null) this.#learn(folder, level);
    const identity = identityOf(folder);
    if (this.#watchers.get(folder)?.identity === identity) return;
    // Removed, and perhaps created again: the watcher of the earlier one reports nothing.
    this.#forget(folder);
    this.#closed.delete(folder);
    this.#unwatched.delete(folder);
    if (identity === null) return;
    if (this.#watchers.size >= this.#most) {
      this.#unwatched.add(folder);
      return;
    }
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name !== null) this.#hint(join(folder, name));
      });
      this.#watchers.set(folder, { watcher, identity });
      watcher.on('error', () => this.#forget(folder));
    } catch (error) {
      const closed = CLOSED.has(errnoOf(error));
      (closed ? this.#closed : this.#unwatched).add(folder);
      // Otherwise the system has no more watches.
      if (!closed) this.#most = Math.max(1, this.#watchers.size);
    }
  }

  #learn(folder: string, { agent, names, depth }: Level): void {
    const levels = this.#levels.get(folder) ?? [];
    const known = levels.some(
      (one) => one.agent === agent && one.names === names && one.depth === depth,
    );
    if (!known) this.#levels.set(folder, [...levels, { agent, names, depth }]);
  }

  /** Folders that do not exist any more. */
  #forgetOthers(found: ReadonlySet<string>): void {
    for (const folder of this.#levels.keys()) if (!found.has(folder)) this.#levels.delete(folder);
    for (const folder of this.#watchers.keys()) if (!found.has(folder)) this.#forget(folder);
    for (const folder of this.#unwatched) if (!found.has(folder)) this.#unwatched.delete(folder);
    for (const folder of this.#closed) if (!found.has(folder)) this.#closed.delete(folder);
  }

  /** If not all can be watched: those in which folders may appear, and those with the newest sessions. */
  #watchNewest(changed: Candidate[]): void {
    const newest = new Map<string, number>();
    for (const { path, modified_ms } of this.files.values()) {
      const folder = dirname(path);
      newest.set(folder, Math.max(newest.get(folder) ?? 0, modified_ms));
    }
    const timeOf = (folder: string) => newest.get(folder) ?? Number.POSITIVE_INFINITY;
    const folders = [...this.#watchers.keys(), ...this.#unwatched];
    const wanted = folders.sort((a, b) => timeOf(b) - timeOf(a)).slice(0, this.#most);
    const fresh = new Set(wanted.filter((folder) => this.#unwatched.has(folder)));
    if (fresh.size === 0) return;
    const kept = new Set(wanted);
    for (const folder of [...this.#watchers.keys()]) {
      if (kept.has(folder)) continue;
      this.#forget(folder);
      this.#unwatched.add(folder);
    }
    // Nothing reported the changes before they were watched.
    for (const folder of fresh)
      for (const level of this.#levels.get(folder) ?? [])
        this.#walk(folder, level, new Set(), changed);
  }

  /** Whether a folder exists or can be read now, that did not or could not before. */
  appeared(): boolean {
    const folders = [...this.#roots, ...[...this.databases.keys()].map((path) => dirname(path))];
    return (
      folders.some((folder) => {
        const identity = identityOf(folder);
        return (
          identity !== null &&
          identity !== this.#watchers.get(folder)?.identity &&
          !this.#unwatched.has(folder) &&
          !this.#closed.has(folder)
        );
      }) || [...this.#closed].some(isReadable)
    );
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.watcher.close();
    this.#watchers.delete(folder);
  }

  close(): void {
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
