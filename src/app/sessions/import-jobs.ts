/**
 * An import by several parallel processes. Contract: the same runs as with one. This process holds the store's lock,
 * and imports sessions that need no other process itself. The others exit with it, however it exits. A failure of one
 * of them fails the import.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { errnoOf, TachoError } from '../../lib/errors.ts';
import { type LineSink, linesIn } from '../../lib/lines.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { lockStore } from '../../store/store-lock.ts';
import { packageRoot } from '../config/paths.ts';
import { type ImportOptions, importLocked, prepare } from './import.ts';
import { sharesOf } from './import-shares.ts';
import type { Imported, ImportTarget } from './imported.ts';

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

interface JobOptions extends ImportOptions {
  jobs: number;
  /** Patterns as they were given: the other processes read those of the configuration themselves. */
  given_redact: readonly string[];
}

/** The input of a share, one per line. */
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
    const counted = (imported: Imported) => {
      replaced += imported.replaced.length;
      return imported;
    };
    const { jobs, memo } = options;
    const { known, shares } = await sharesOf(targets, { jobs, index, memo });
    // For a single share, this process can do the work itself.
    const here = shares.length > 1 ? known : [...known, ...shares.flat()];
    if (here.length > 0)
      for await (const imported of importLocked(here, state, index, options))
        yield counted(imported);
    const rows = new Rows(options);
    for (const share of shares.length > 1 ? shares : []) {
      const child = await start(state.path, options);
      children.push(child);
      rows.read(child, share);
    }
    for await (const imported of rows.all()) yield counted(imported);
    if (replaced > 0) await freeDeleted(state, index);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    index.close();
    release();
  }
}

async function start(state_dir: string, { given_redact, env }: JobOptions): Promise<Child> {
  const program = join(packageRoot(), 'bin', 'tacho.cjs');
  const patterns = given_redact.flatMap((pattern) => ['--redact', pattern]);
  const args = [program, '--state-dir', state_dir, 'import', '--share', '--json', ...patterns];
  try {
    const child = spawn(process.execPath, args, {
      // The last pipe terminates the process with this one.
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      env: { ...env, TACHO_LAUNCHER_FD: '3' },
    });
    await once(child, 'spawn');
    return child as unknown as Child;
  } catch (cause) {
    const why = errnoOf(cause) || (cause as Error).message;
    const text = `a process of the import cannot be started (${why}); import again with fewer --jobs`;
    throw new TachoError('spawn_failed', text, { stage: 'import', cause });
  }
}

const SAID_CHARS_MAX = 16 * 1024;

/** The reports of all shares, as they arrive. */
class Rows {
  #rows: Imported[] = [];
  #failure: Error | null = null;
  #reading = 0;
  #wake = () => {};
  readonly #options: ImportOptions;

  constructor(options: ImportOptions) {
    this.#options = options;
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
    const { promise: ended, resolve } = Promise.withResolvers<number | NodeJS.Signals | null>();
    child.once('close', (code, signal) => resolve(signal ?? code));
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-SAID_CHARS_MAX);
    });
    // A process that exited is reported below.
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
      if (last !== undefined) this.#options.progress?.(last, 0);
      this.#rows.push(...rows);
      this.#wake();
    }
    const how = await ended;
    // A process that reported all of its share may still have failed to store it.
    if (how !== 0 || count < share.length) throw cutOff(said, how);
    for (const line of said.split('\n')) if (line !== '') this.#options.say?.(line);
  }
}

function cutOff(said: string, how: number | string | null): TachoError {
  const ended = typeof how === 'number' ? `exit ${how}` : how;
  const why = said.trim().replace(/^error: /, '') || `one of its processes was ended (${ended})`;
  const text = `the import was cut off: ${why}; import again to complete it`;
  return new TachoError('journal_failed', text, { stage: 'import' });
}
