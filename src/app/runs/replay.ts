/** A recorded run from its journal, through the same projections as the live one. */
import { TachoError } from '../../lib/errors.ts';
import { isRunId } from '../../lib/ids.ts';
import type { Event } from '../../model/event.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { CAPTURE_SOURCE, type EventSink } from '../run/recorder.ts';
import { EventReader } from './journal-events.ts';

/** The id of the run that `text` names: an id, its beginning, or `last`. */
export async function findRunId(state: StateDir, text: string): Promise<string> {
  using index = openIndex(state);
  return runIdIn(state, index, text);
}

/** The same for many, of which an id need not be listed: its run may have no row. */
export function findRunIds(state: StateDir, texts: readonly string[]): string[] {
  using index = openIndex(state);
  return texts.map((text) => (isRunId(text) ? text : runIdIn(state, index, text)));
}

/** The same in an index that is open. */
export function runIdIn(state: StateDir, index: Index, text: string): string {
  const found = index.findRun(text);
  if (found !== null) return found.run_id;
  throw new TachoError('not_found', `no run "${text}" in ${state.path}: see tacho runs list`, {
    stage: 'find',
  });
}

/** The events of a run in the order of the journal. `known`: for who reads many runs, one index for all of them. */
export async function* journalledEvents(
  state: StateDir,
  run_id: string,
  known?: Index,
): AsyncGenerator<Event> {
  using opened = known === undefined ? openIndex(state) : null;
  const index = known ?? (opened as Index);
  const events = new EventReader(run_id);
  for await (const entry of readSession(state.journal, run_id, { index })) {
    if (entry.source === CAPTURE_SOURCE) yield* events.read(entry);
  }
}

export async function replay(
  state: StateDir,
  run: string,
  makeSink: (stream: boolean, cwd: string) => EventSink,
): Promise<void> {
  let sink: EventSink | null = null;
  for await (const event of journalledEvents(state, await findRunId(state, run))) {
    const started = event.kind === 'run_started' ? event.data : null;
    sink ??= makeSink(started?.config?.stream ?? false, started?.cwd ?? process.cwd());
    await sink([event]);
  }
}
