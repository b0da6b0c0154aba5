/**
 * An import by several processes at once. Contract: the same runs as with one: sessions that one could decide about by
 * another (the same session, or one that begins at the same moment, as forks do) are in the same share, in their order. This
 * process holds the store's lock; the others end with it, however it ends.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { TachoError } from '../../lib/errors.ts';
import { type LineSink, linesIn } from '../../lib/lines.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { lockStore } from '../../store/store-lock.ts';
import { packageRoot } from '../config/paths.ts';
import { type Imported, type ImportOptions, type ImportTarget, prepare } from './import.ts';
import { headOf } from './import-source.ts';

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

interface JobOptions extends ImportOptions {
  jobs: number;
  /** Patterns as they were given: the others read those of the configuration themselves. */
  given_redact: readonly string[];
}

/** What a share is told on its standard input, a line each. */
export interface ShareLine {
  agent: string;
  path: string;
  by_name: boolean;
}

export async function* importInJobs(
  targets: readonly ImportTarget[],
  options: JobOptions,
): AsyncGenerator<Imported> {
  const state = openStateDir(options.state_dir);
  const release = await lockStore(state, options);
  const index = openIndex(state);
  const children: Child[] = [];
  try {
    await prepare(state, index);
    let replaced = 0;
    const rows = new Rows(options.progress);
    for (const share of await sharesOf(targets, options.jobs)) {
      const child = start(state.path, options);
      children.push(child);
      rows.read(child, share);
    }
    for await (const imported of rows.all()) {
      replaced += imported.replaced.length;
      yield imported;
    }
    if (replaced > 0) await freeDeleted(state, index);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    index.close();
    release();
  }
}

function start(state_dir: string, { given_redact, env }: JobOptions): Child {
  const program = join(packageRoot(), 'bin', 'tacho.cjs');
  const patterns = given_redact.flatMap((pattern) => ['--redact', pattern]);
  const args = [program, '--state-dir', state_dir, 'import', '--share', '--json', ...patterns];
  return spawn(process.execPath, args, {
    // The last pipe ends the process with ours.
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    env: { ...env, TACHO_LAUNCHER_FD: '3' },
  }) as unknown as Child;
}

const SAID_CHARS_MAX = 16 * 1024;

/** What all of the shares report, as it comes. */
class Rows {
  #rows: Imported[] = [];
  #failure: Error | null = null;
  #reading = 0;
  #wake = () => {};
  readonly #progress: ImportOptions['progress'];

  constructor(progress: ImportOptions['progress']) {
    this.#progress = progress;
  }

  read(child: Child, share: readonly ImportTarget[]): void {
    this.#reading += 1;
    this.#read(child, share)
      .catch((error: Error) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#reading -= 1;
        this.#wake();
      });
  }

  async *all(): AsyncGenerator<Imported> {
    for (;;) {
      yield* this.#rows.splice(0);
      if (this.#failure !== null) throw this.#failure;
      if (this.#reading === 0 && this.#rows.length === 0) return;
      if (this.#rows.length > 0) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async #read(child: Child, share: readonly ImportTarget[]): Promise<void> {
    const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (said.length < SAID_CHARS_MAX) said += text;
    });
    // One that ended reports why below.
    child.stdin.on('error', () => undefined);
    for (const { agent, path, by_name } of share) {
      const line: ShareLine = { agent: agent.id, path, by_name };
      child.stdin.write(`${JSON.stringify(line)}\n`);
    }
    child.stdin.end();
    let count = 0;
    const sink = (put: (row: Imported) => void): LineSink => ({
      line: (bytes, from, to) => put(JSON.parse(bytes.toString('utf8', from, to)) as Imported),
      oversize: () => undefined,
    });
    for await (const rows of linesIn(child.stdout, sink)) {
      count += rows.length;
      const last = rows.length === 0 ? undefined : share[count - 1];
      if (last !== undefined) this.#progress?.(last, 0);
      this.#rows.push(...rows);
      this.#wake();
    }
    const [code, signal] = await ended;
    if (count < share.length) throw cutOff(said, signal ?? `exit ${code}`);
  }
}

function cutOff(said: string, how: string): TachoError {
  const why = said.trim().replace(/^error: /, '') || `one of its processes was ended (${how})`;
  const text = `the import was cut off: ${why}; import again to complete it`;
  return new TachoError('journal_failed', text, { stage: 'import' });
}

/** Targets that belong together, by their places in the list. */
async function groupsOf(
  targets: readonly ImportTarget[],
): Promise<{ places: number[]; bytes: number }[]> {
  const roots = targets.map((_, place) => place);
  const rootOf = (place: number): number => {
    const above = roots[place] as number;
    if (above === place) return place;
    roots[place] = rootOf(above);
    return roots[place];
  };
  const by_key = new Map<string, number>();
  for (const [place, target] of targets.entries())
    for (const key of await keysOf(target)) {
      roots[rootOf(place)] = rootOf(by_key.get(key) ?? place);
      by_key.set(key, place);
    }
  const places = Map.groupBy(roots.keys(), rootOf);
  return [...places.values()].map((group) => ({
    places: group,
    bytes: group.reduce((sum, place) => sum + bytesAt((targets[place] as ImportTarget).path), 0),
  }));
}

/** What another target with the same would be decided by. */
async function keysOf({ agent, path }: ImportTarget): Promise<string[]> {
  try {
    const { session_id, started_ms } = await headOf({ agent, path, parts: [], left_out: [] }, null);
    const keys: unknown[] = [];
    if (session_id !== null) keys.push(['session', session_id]);
    if (started_ms !== 0) keys.push(['start', started_ms]);
    return (keys.length > 0 ? keys : ['unknown']).map((key) => JSON.stringify([agent.id, key]));
  } catch {
    // The share that gets it reports that it cannot be read.
    return [];
  }
}

function bytesAt(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

/** The largest groups first, each to the share that has least; in a share the order of the list. */
async function sharesOf(targets: readonly ImportTarget[], jobs: number): Promise<ImportTarget[][]> {
  const groups = await groupsOf(targets);
  const shares = Array.from({ length: jobs }, () => ({ places: [] as number[], bytes: 0 }));
  for (const { places, bytes } of groups.sort((a, b) => b.bytes - a.bytes)) {
    const least = shares.reduce((a, b) => (b.bytes < a.bytes ? b : a));
    least.places.push(...places);
    least.bytes += bytes;
  }
  return shares
    .filter(({ places }) => places.length > 0)
    .map(({ places }) => places.sort((a, b) => a - b).map((n) => targets[n] as ImportTarget));
}
