/**
 * Restores archived runs. The archive is read twice: first to check all of it, then to store it. Contract: nothing is
 * written before the archive is known to be within its limits. An incomplete run is skipped. A run becomes visible
 * once all of it is durable, so a killed restore can be repeated. Each entry counts once, however often the archive
 * contains it.
 */
import { existsSync, statfsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import { bytesText } from '../../lib/figures.ts';
import { isNamed } from '../../lib/ids.ts';
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import { CONFLICT, createCatalogue } from '../../store/index/catalogue.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import {
  type ArchiveEntry,
  type ArchiveRead,
  readArchive,
  refused,
} from '../../store/journal/archive.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { createSift } from '../../store/journal/read.ts';
import { newReport } from '../../store/journal/scan.ts';
import { bury, readTombstones } from '../../store/journal/tombstones.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { type StoreLockOptions, withStoreLock } from '../../store/store-lock.ts';
import { APP_LIMITS } from '../limits.ts';
import { Ledger } from '../sessions/import-ledger.ts';
import { Rebuilt } from './rebuilt.ts';
import { RestoreBatch } from './restore-batch.ts';
import { WholeRun } from './whole-run.ts';

export interface RestoreRequest extends StoreLockOptions {
  /** Only these runs, by id or its beginning. Empty: the whole archive. */
  runs: readonly string[];
  /** Disables the limit on the unpacked size of an archive. */
  any_size?: boolean | undefined;
}

/** The result of a restore, as ids of runs. */
export interface Restored {
  /** Runs that are in the store again. */
  restored: string[];
  /** Runs that are already in the store. */
  known: string[];
  /** Imports that another run of their session replaces, as after an import. Some may have been there before. */
  replaced: string[];
  /** Skipped runs, and why. */
  left_out: { run_id: string; why: string }[];
  /** Damaged lines of the archive. */
  damaged: number;
}

/** `given`: the path of an archive, or the name of one in the archive folder. */
export function restore(
  state: StateDir,
  given: string,
  options: RestoreRequest,
): Promise<Restored> {
  const path = existsSync(given) ? given : join(state.archive, basename(given));
  if (!existsSync(path)) {
    const say = `${given}: no such archive; tacho runs gc puts archives into ${state.archive}`;
    throw new TachoError('not_found', say, { stage: 'archive' });
  }
  return withStoreLock(state, options, () => restoreLocked(state, path, options));
}

async function restoreLocked(
  state: StateDir,
  path: string,
  { runs, any_size = false }: RestoreRequest,
): Promise<Restored> {
  using index = openIndex(state);
  const wanted = (run_id: string) =>
    runs.length === 0 || runs.some((name) => isNamed(run_id, name));
  const reading = { path, any_size, wanted };
  const { found, read } = await look(reading);
  checkRoom(state, path, read.bytes);
  const left_out: Restored['left_out'] = [];
  const plan = new Map<string, number>();
  const known: string[] = [];
  const deleted = readTombstones(state);
  for (const [run_id, run] of found) {
    const fault = run.fault();
    if (index.hasRun(run_id) && !deleted.has(run_id)) known.push(run_id);
    else if (fault === null) plan.set(run_id, run.entries);
    else left_out.push({ run_id, why: `the archive ${fault}` });
  }
  await hide(state, index, plan.keys(), deleted);
  if (plan.size > 0) await store(state, index, reading, plan);
  const replaced = await countOnce(state, index, [...plan.keys()]);
  const gone = new Set(replaced);
  const restored = [...plan.keys()].filter((run_id) => !gone.has(run_id));
  return { restored, known, replaced, left_out, damaged: read.damaged };
}

/**
 * Runs of which the store has no entry yet count as deleted until they are fully stored: a killed restore leaves no
 * part of a run for others to find. A run that the journal partly contains is left unchanged.
 */
async function hide(
  state: StateDir,
  index: Index,
  run_ids: Iterable<string>,
  deleted: ReadonlySet<string>,
): Promise<void> {
  await createCatalogue(state.journal, index).refresh(newReport());
  const isNew = (run_id: string) => !deleted.has(run_id) && index.getPositions(run_id).length === 0;
  bury(state, [...run_ids].filter(isNew));
}

/** A session may have been imported again since it was archived, or its recorded run may return next to an import. */
async function countOnce(state: StateDir, index: Index, run_ids: readonly string[]) {
  if (run_ids.length === 0) return [];
  const ledger = new Ledger(state, index);
  const replaced = run_ids
    .map((run_id) => index.getRun(run_id))
    .flatMap((run) => (run === null ? [] : ledger.settle(run.agent, run.session_id)));
  if (replaced.length > 0) await freeDeleted(state, index);
  return replaced;
}

interface Reading {
  path: string;
  any_size: boolean;
  wanted(run_id: string): boolean;
}

/** Reads the whole archive and stores nothing. */
async function look(
  reading: Reading,
): Promise<{ found: Map<string, WholeRun>; read: ArchiveRead }> {
  const read: ArchiveRead = { damaged: 0, bytes: 0 };
  const found = new Map<string, WholeRun>();
  for await (const entry of entriesOnce(reading, read)) {
    const run = found.get(entry.session) ?? new WholeRun(entry.session);
    found.set(entry.session, run);
    run.push(entry);
  }
  return { found, read };
}

const tooMany = (path: string) =>
  refused(
    `${path}: contains more than ${APP_LIMITS.restore_runs_max} runs: restore it with --any-size if you trust it`,
  );

/** Each entry of the wanted runs once, with the source under which it counts. */
async function* entriesOnce(reading: Reading, read: ArchiveRead): AsyncGenerator<ArchiveEntry> {
  const sifts = new Map<string, ReturnType<typeof createSift>>();
  for await (const entry of readArchive(reading.path, read, reading.any_size)) {
    const { session } = entry;
    if (!reading.wanted(session)) continue;
    const sift = sifts.get(session) ?? createSift(newReport());
    sifts.set(session, sift);
    if (sifts.size > APP_LIMITS.restore_runs_max && !reading.any_size) throw tooMany(reading.path);
    const source = sift(entry);
    if (source !== null) yield { ...entry, source };
  }
}

function checkRoom(state: StateDir, path: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(state.journal);
  const free = bavail * bsize;
  if (bytes > free)
    throw refused(
      `${path}: unpacks to ${bytesText(bytes)}, but only ${bytesText(free)} of the disk are free`,
    );
}

/** Stores the runs of the plan, which contains the number of entries of each. */
async function store(
  state: StateDir,
  index: Index,
  reading: Reading,
  plan: ReadonlyMap<string, number>,
): Promise<void> {
  const journal = openJournal(state.journal, { index });
  const batch = new RestoreBatch({ state, index, journal });
  const open = new Map<string, { run: Rebuilt; left: number }>();
  try {
    for await (const entry of entriesOnce(reading, { damaged: 0, bytes: 0 })) {
      const { session, seq, body } = entry;
      const entries = plan.get(session);
      if (entries === undefined) continue;
      const one = open.get(session) ?? { run: new Rebuilt(state, session), left: entries };
      open.set(session, one);
      one.left -= 1;
      // The journal detects conflicts itself.
      const source = entry.source.replace(CONFLICT, '');
      await batch.add({ session, source, seq, body });
      if (entry.source === CAPTURE_SOURCE) one.run.push(entry);
      else if (entry.source === CLOSING_SOURCE) one.run.pushClosing(entry);
      if (one.left > 0) continue;
      open.delete(session);
      const { grew_to } = one.run;
      const measured = one.run.finish();
      if (measured !== null) await batch.end(measured, grew_to);
    }
    await batch.flush();
  } finally {
    for (const { run } of open.values()) run[Symbol.dispose]();
    await journal.close();
  }
}
