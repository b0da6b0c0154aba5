/** A recorded run from its journal, through the same projections as the live one. */
import { TachoError } from '../../lib/errors.ts';
import type { Event } from '../../model/event.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { CAPTURE_SOURCE, type EventSink } from '../run/recorder.ts';
import { createEventReader } from './journal-events.ts';

/** The id of the run that `text` names: an id, its beginning, or `last`. */
export async function findRunId(state: StateDir, text: string): Promise<string> {
  const index = openIndex(state);
  try {
    const found = index.findRun(text);
    if (found !== null) return found.run_id;
  } finally {
    index.close();
  }
  throw new TachoError('not_found', `no run "${text}" in ${state.path}: see tacho runs list`, {
    stage: 'find',
  });
}

/** The events of a run in the order of the journal. */
export async function* journalledEvents(state: StateDir, run_id: string): AsyncGenerator<Event> {
  const index = openIndex(state);
  try {
    const events = createEventReader(run_id);
    for await (const entry of readSession(state.journal, run_id, { index })) {
      if (entry.source === CAPTURE_SOURCE) yield* events.read(entry);
    }
  } finally {
    index.close();
  }
}

export type MakeSink = (stream: boolean, cwd: string) => Promise<EventSink>;

export async function replay(state: StateDir, run: string, makeSink: MakeSink): Promise<void> {
  const run_id = await findRunId(state, run);
  let sink: EventSink | null = null;
  for await (const event of journalledEvents(state, run_id)) {
    if (sink === null) {
      const config = event.kind === 'run_started' ? event.data.config : null;
      const cwd = event.kind === 'run_started' ? event.data.cwd : null;
      sink = await makeSink(config?.stream ?? false, cwd ?? process.cwd());
    }
    await sink([event]);
  }
}
