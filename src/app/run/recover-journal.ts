/** Runs that the journal has without an end: which they are, and what their first event says of them. */
import { lstatSync } from 'node:fs';
import { findAgent } from '../../agents/registry.ts';
import { isRunId } from '../../lib/ids.ts';
import type { EventOf } from '../../model/event.ts';
import type { RunConfig } from '../../model/parts.ts';
import { IMPORTED_FILE_LABEL } from '../../model/words.ts';
import { createCatalogue } from '../../store/index/catalogue.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import { newReport } from '../../store/journal/scan.ts';
import { mayGrow } from '../../store/journal/segment.ts';
import { readTombstones } from '../../store/journal/tombstones.ts';
import { thisOwner } from '../../store/owner.ts';
import { spoolAt } from '../../store/spool/spool.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { eventIn } from '../runs/journal-events.ts';
import { CAPTURE_SOURCE } from './recorder.ts';
import type { KnownSpool } from './spool-meta.ts';

/** Ids of runs that have no end and no spool. */
export async function orphans(state: StateDir): Promise<string[]> {
  const index = openIndex(state);
  try {
    await createCatalogue(state.journal, index).refresh(newReport());
    const deleted = readTombstones(state);
    const hasSpool = (id: string) =>
      lstatSync(spoolAt(state, id).path, { throwIfNoEntry: false })?.isDirectory() === true;
    return index
      .unlistedSessions()
      .filter((id) => isRunId(id) && !deleted.has(id) && !hasSpool(id))
      .sort();
  } finally {
    index.close();
  }
}

interface Journalled extends KnownSpool {
  imported: boolean;
}

/** A run by its first event; null: the journal does not know it; busy: its writer may live. */
export async function findInJournal(
  state: StateDir,
  run_id: string,
): Promise<Journalled | 'busy' | null> {
  const index = openIndex(state);
  try {
    const started = await firstEvent(state, run_id, index);
    if (started === null) return null;
    const segments = index.getPositions(run_id).map(({ segment }) => segment);
    if (segments.some((segment) => mayGrow(state.journal, segment))) return 'busy';
    const { agent: id, cwd, prompt, config } = started.data;
    const agent = await findAgent(id);
    if (agent === undefined)
      throw new Error(`the run is of "${id}", which is not an agent that this version knows`);
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
    return { meta, agent, imported: config?.labels[IMPORTED_FILE_LABEL] !== undefined };
  } finally {
    index.close();
  }
}

async function firstEvent(
  state: StateDir,
  run_id: string,
  index: Index,
): Promise<EventOf<'run_started'> | null> {
  for await (const { source, body } of readSession(state.journal, run_id, { index })) {
    if (source !== CAPTURE_SOURCE) continue;
    const event = eventIn(body, run_id);
    if (event?.kind === 'run_started') return event;
  }
  return null;
}
