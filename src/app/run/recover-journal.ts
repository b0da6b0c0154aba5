/** Runs without an end in the journal: their ids, their first event, and all events of one. */
import { lstatSync } from 'node:fs';
import { findAgent } from '../../agents/registry.ts';
import { TachoError } from '../../lib/errors.ts';
import { isRunId } from '../../lib/ids.ts';
import type { Event, EventOf } from '../../model/event.ts';
import type { RunConfig } from '../../model/parts.ts';
import { CAPTURE_SOURCE } from '../../model/words.ts';
import { type Catalogue, catalogueOf } from '../../store/index/catalogue.ts';
import type { Index } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import { newReport, segmentBytes } from '../../store/journal/scan.ts';
import { mayGrow } from '../../store/journal/segment.ts';
import { readTombstones } from '../../store/journal/tombstones.ts';
import { thisOwner } from '../../store/owner.ts';
import { spoolAt } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { importedDigest } from '../runs/import-id.ts';
import { eventIn } from '../runs/journal-events.ts';
import type { JournalledEvent } from './recorder.ts';
import type { Capture } from './recording.ts';
import type { KnownSpool } from './spool-meta.ts';

/** The positions of the entries of runs. */
export interface Known {
  index: Index;
  /** A refreshed catalogue: later entries are not looked up. */
  catalogue?: Catalogue;
}

/** Ids of runs without an end and without a spool. */
export async function orphans(state: StateDir, index: Index): Promise<string[]> {
  await catalogueOf(state.journal, index).refresh(newReport());
  const deleted = readTombstones(state);
  const hasSpool = (id: string) =>
    lstatSync(spoolAt(state, id).path, { throwIfNoEntry: false })?.isDirectory() === true;
  return index
    .unlistedSessions()
    .filter((id) => isRunId(id) && !deleted.has(id) && !hasSpool(id))
    .sort();
}

/** The positions found by `orphans` for one run. Read again if its writer has continued since. */
export async function knownOrphan({ journal }: StateDir, run_id: string, index: Index) {
  const catalogue = catalogueOf(journal, index);
  const segments = new Set(catalogue.positions(run_id).map(({ segment }) => segment));
  const grew = (segment: string) => segmentBytes(journal, segment) !== index.coveredBytes(segment);
  if (segments.size === 0 || segments.values().some(grew)) await catalogue.refresh(newReport());
  return { index, catalogue };
}

interface Journalled extends KnownSpool {
  imported: boolean;
}

/** A run by its first event. Null if the journal does not have it; busy if its writer may be alive. */
export async function findInJournal(
  state: StateDir,
  run_id: string,
  known: Known,
): Promise<Journalled | 'busy' | null> {
  const started = await firstEvent(state, run_id, known);
  if (started === null) return null;
  const segments = known.index.getPositions(run_id).map(({ segment }) => segment);
  if (segments.some((segment) => mayGrow(state.journal, segment))) return 'busy';
  const { agent: id, cwd, prompt, config } = started.data;
  const agent = await findAgent(id);
  if (agent === undefined)
    throw new Error(`the run is from the agent "${id}", which this version does not support`);
  const meta = {
    version: 1 as const,
    run_id,
    config: config ?? ({ agent: id, model: null } as RunConfig),
    prompt: prompt ?? '',
    cwd: cwd ?? process.cwd(),
    started_ms: started.at_ms,
    keep_raw: false,
    redact: [],
    secrets: {},
    owner: thisOwner(),
    agent: null,
  };
  const imported = importedDigest({ run_id, agent: id, labels: config?.labels }) !== null;
  return { meta, agent, imported };
}

interface Folded {
  last: Event | null;
  /** Entries with a valid checksum and a body that is not an event. */
  foreign: number;
  /** Missing numbers before the last one. */
  missing: number;
}

/** Batches are bounded in bytes: one event may have megabytes. */
const BATCH_CHARS = 1024 * 1024;
const BATCH_EVENTS = 1024;

/** Advances the capture to the end of the journal. */
export async function foldJournal({ recording, pipeline }: Capture, known: Known): Promise<Folded> {
  const { run_id, recorder, journal, state } = recording;
  const folded: Folded = { last: null, foreign: 0, missing: 0 };
  let read_to = 0;
  let batch: JournalledEvent[] = [];
  let chars = 0;
  const flush = async () => {
    await recorder.resume(batch);
    batch = [];
    chars = 0;
  };
  for await (const { source, seq, body } of readSession(state.journal, run_id, known)) {
    if (source !== CAPTURE_SOURCE) continue;
    folded.missing += seq - read_to - 1;
    read_to = seq;
    const event = eventIn(body, run_id);
    if (event === null) {
      folded.foreign += 1;
      continue;
    }
    folded.last = event;
    pipeline.resumption.resume(event);
    batch.push({ event, body });
    chars += body.length;
    if (chars > BATCH_CHARS || batch.length >= BATCH_EVENTS) await flush();
  }
  await flush();
  // A segment was temporarily unreadable: its events would be captured again, and differ.
  if (read_to !== (await journal.lastSeq(run_id, CAPTURE_SOURCE)))
    throw unread(`${state.journal}: the entries of the run cannot be read at the moment`);
  pipeline.resumption.skipTo(read_to);
  pipeline.resumed();
  return folded;
}

export const unread = (text: string, cause?: unknown) =>
  new TachoError('state_unusable', `${text}; try again with: tacho runs recover`, {
    stage: 'recover',
    retryable: true,
    cause,
  });

async function firstEvent(
  state: StateDir,
  run_id: string,
  known: Known,
): Promise<EventOf<'run_started'> | null> {
  for await (const { source, body } of readSession(state.journal, run_id, known)) {
    if (source !== CAPTURE_SOURCE) continue;
    const event = eventIn(body, run_id);
    if (event?.kind === 'run_started') return event;
  }
  return null;
}
