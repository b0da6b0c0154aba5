/** Finishes captures of killed tacho processes: from the spool, after the events already in the journal (ST-3). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findMarked } from '../../capture/source/process-tree.ts';
import { durationText } from '../../lib/figures.ts';
import { isNamed } from '../../lib/ids.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { isDeleted } from '../../store/journal/tombstones.ts';
import { heldError, takeLock } from '../../store/lock.ts';
import { mayLive } from '../../store/owner.ts';
import { logPath, transcriptPath } from '../../store/spool/run-files.ts';
import {
  hasOutput,
  listSpools,
  removeSpool,
  type Spool,
  sweepRemoved,
} from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { sweepUnfinished } from '../../store/sweep.ts';
import { sweepTemporary } from '../../store/temporary.ts';
import { type AutoBudget, attemptAllowed, attemptOver, isBeginning } from './recover-budget.ts';
import { findInJournal, knownOrphan, orphans } from './recover-journal.ts';
import { finishRun, type Recovery, recoveryOf } from './recover-run.ts';
import {
  agentRuns,
  closeSpool,
  type KnownSpool,
  readSpoolMeta,
  type SpoolMeta,
  type UnknownSpool,
} from './spool-meta.ts';

export interface RecoverOptions {
  /** Wait for agents that are still running. */
  wait: boolean;
  signal?: AbortSignal;
  /** Take a run from another recovery that holds it. */
  force?: boolean | undefined;
  /** Only the run with this id, or an id that begins so. */
  run_id?: string | undefined;
  /** Only spools within this budget. Null: everything unfinished. */
  auto?: AutoBudget | null;
}

export async function* recoverAll(
  state: StateDir,
  options: RecoverOptions,
): AsyncGenerator<Recovery> {
  sweepRemoved(state);
  sweepTemporary(state.tmp);
  using shared = sharedIndex(state);
  for (const spool of listSpools(state)) {
    if (options.run_id !== undefined && !isNamed(spool.name, options.run_id)) continue;
    const recovery = await recoverOne(shared, spool, options);
    if (recovery !== null) yield recovery;
  }
  if (options.auto != null) return;
  sweepUnfinished(state.path);
  yield* recoverOrphans(shared, options);
}

/** The state folder, with an index that is opened once, on first use. */
interface Shared extends Disposable {
  state: StateDir;
  index(): Index;
}

function sharedIndex(state: StateDir): Shared {
  let index: Index | null = null;
  return {
    state,
    index: () => {
      index ??= openIndex(state);
      return index;
    },
    [Symbol.dispose]: () => index?.close(),
  };
}

async function recoverOne(
  shared: Shared,
  spool: Spool,
  options: RecoverOptions,
): Promise<Recovery | null> {
  const { state } = shared;
  const run_id = spool.name;
  try {
    const read = await readSpoolMeta(spool);
    if ('fault' in read && read.later === true)
      return { state: 'unreadable', run_id, why: read.fault ?? '' };
    if ('meta' in read && mayLive(read.meta.owner, state.journal))
      return { state: 'busy', run_id, why: recordedBy(spool, read.meta) };
    const at = join(spool.path, 'recovering');
    const lock = takeLock(at, { force: options.force });
    // A folder that cannot be locked may be unusable altogether.
    if (lock === null && 'fault' in read && read.fault !== null)
      return { state: 'unreadable', run_id, why: read.fault };
    if (lock === null)
      return { state: 'busy', run_id, why: heldError(at, 'its recovery', 'recover').message };
    try {
      return await underLock(shared, spool, read, options);
    } finally {
      lock();
    }
  } catch (error) {
    // Another recovery finished it and removed it meanwhile.
    if (!existsSync(spool.path)) return null;
    // One spool that cannot be finished must not block the others, or a new run.
    return { state: 'unreadable', run_id, why: (error as Error).message };
  }
}

function recordedBy({ meta: file }: Spool, { owner, started_ms }: SpoolMeta): string {
  const { pid, host } = owner;
  const who = `process ${pid}${host === undefined ? '' : ` on ${host}`}`;
  const age = durationText(Date.now() - started_ms);
  return `is being recorded by a running tacho (${who}, for ${age}; file: ${file})`;
}

async function underLock(
  shared: Shared,
  spool: Spool,
  read: KnownSpool | UnknownSpool,
  options: RecoverOptions,
): Promise<Recovery | null> {
  const { state } = shared;
  const run_id = spool.name;
  // Deleted by a command that was killed before it removed the spool.
  if (isDeleted(state, run_id)) {
    removeSpool(spool);
    return null;
  }
  const index = shared.index();
  if (isClosed(state, index, run_id, read)) {
    closeSpool(spool, !('meta' in read) || read.meta.keep_raw);
    return null;
  }
  const refused = attemptAllowed(spool, options.auto ?? null);
  if (refused !== null) return { state: 'left', run_id, why: refused };
  if ('fault' in read) return closeUnknown(shared, spool, read, options);
  // Killed between starting the agent and recording that: the mark in its environment finds it.
  read.meta.agent ??= await findMarked(run_id);
  if (!options.wait && agentRuns(read.meta)) {
    attemptOver(spool);
    return { state: 'running', run_id, pid: read.meta.agent?.pid ?? 0 };
  }
  const { signal } = options;
  const result = await finishRun(state, { ...read, spool, journal_only: null, signal }, { index });
  const recovery = recoveryOf(state, run_id, result);
  if (recovery?.state === 'recovered') attemptOver(spool);
  return recovery;
}

/** Listed, with all its files: nothing is left to do. */
function isClosed(
  state: StateDir,
  index: Index,
  run_id: string,
  read: KnownSpool | UnknownSpool,
): boolean {
  const outcome = index.getRun(run_id);
  if (outcome === null) return false;
  const meta = 'meta' in read ? read.meta : null;
  const log = meta?.stream_log ? logPath(state, outcome.agent, run_id) : null;
  const transcript = transcriptPath(state, outcome.agent, run_id);
  const files = [transcript, log].every((path) => path === null || existsSync(path));
  return files && meta?.live == null;
}

/** A spool without a usable meta.json: the run is closed with its events in the journal, and the raw output stays. */
async function closeUnknown(
  shared: Shared,
  spool: Spool,
  { fault }: UnknownSpool,
  options: RecoverOptions,
): Promise<Recovery | null> {
  const { state } = shared;
  const known = { index: shared.index() };
  const run_id = spool.name;
  const why = fault ?? `${spool.meta} is missing`;
  const raw = [spool.stdout, spool.stderr].some(hasOutput);
  const found = await findInJournal(state, run_id, known);
  if (found === null) {
    if (fault !== null || raw) return { state: 'unreadable', run_id, why };
    // The agent starts only after `meta.json` is written: without it there is nothing to recover.
    attemptOver(spool);
    if (isBeginning(spool))
      return { state: 'busy', run_id, why: `may just be starting (${spool.path})` };
    removeSpool(spool);
    return null;
  }
  if (found === 'busy') {
    attemptOver(spool);
    const why = `is being recorded by a running tacho, which writes the journal in ${state.journal}`;
    return { state: 'busy', run_id, why };
  }
  const kept = raw ? `; its raw output is kept in ${spool.path}` : '';
  const detail = `${why}: the run was closed with the events in the journal${kept}`;
  const meta = { ...found.meta, keep_raw: raw };
  const { signal } = options;
  const run = { meta, agent: found.agent, spool, journal_only: detail, signal };
  return recoveryOf(state, run_id, await finishRun(state, run, known));
}

/** Runs in the journal without an end and without a spool that no process writes any more. */
async function* recoverOrphans(shared: Shared, { run_id: only, signal, force }: RecoverOptions) {
  const { state } = shared;
  const lock = takeLock(join(state.spool, '.recovering'), { force });
  if (lock === null) return;
  try {
    for (const run_id of await orphans(state, shared.index())) {
      if (only !== undefined && !isNamed(run_id, only)) continue;
      const recovery = await closeOrphan(shared, run_id, signal).catch(({ message: why }: Error) =>
        // Its entries may already be removed.
        isDeleted(state, run_id) ? null : { state: 'unreadable' as const, run_id, why },
      );
      if (recovery !== null) yield recovery;
    }
  } finally {
    lock();
  }
}

async function closeOrphan(
  shared: Shared,
  run_id: string,
  signal: AbortSignal | undefined,
): Promise<Recovery | null> {
  const { state } = shared;
  const known = await knownOrphan(state, run_id, shared.index());
  const found = await findInJournal(state, run_id, known);
  // An interrupted import is continued by the next import of its file.
  if (found === null || found === 'busy' || found.imported) return null;
  const detail = 'the spool is missing: the run was closed with the events in the journal';
  const run = { ...found, spool: null, journal_only: detail, signal };
  return recoveryOf(state, run_id, await finishRun(state, run, known));
}
