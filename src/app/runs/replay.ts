/** Replays a recorded run from its journal, through the same projections as the live one. */
import { TachoError } from '../../lib/errors.ts';
import { plural } from '../../lib/figures.ts';
import { isRunId, shortRunIds } from '../../lib/ids.ts';
import { localMinute } from '../../lib/local-time.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import type { Event } from '../../model/event.ts';
import type { Candidate } from '../../store/index/find-run.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { EventSink } from '../run/recorder.ts';
import { EventReader } from './journal-events.ts';
import { runEntries } from './run-entries.ts';

/**
 * The id of the run that `text` names: `last`, `last~N`, a run id, the agent's session id, or a unique prefix of
 * either. The only parser of such names.
 */
export async function findRunId(state: StateDir, text: string): Promise<string> {
  using index = openIndex(state);
  if (index.findRuns(text).length === 0 && (await isCollected(state, text))) {
    const say = `"${text}" is not a run but a session that tacho serve collected: tacho tail --no-follow --session ${text} shows it`;
    throw new TachoError('not_found', say, { stage: 'find' });
  }
  return runIdIn(state, index, text);
}

/** Whether the collector of the state folder has stored a session with this id. */
async function isCollected({ path }: StateDir, session_id: string): Promise<boolean> {
  const { storedMessages } = await import('../live/stored.ts');
  for await (const _ of storedMessages(path, session_id)) return true;
  return false;
}

/** The same for many names. Ids need not be listed, because their runs may have no row. */
export function findRunIds(state: StateDir, texts: readonly string[]): string[] {
  using index = openIndex(state);
  return texts.map((text) => (isRunId(text) ? text : runIdIn(state, index, text)));
}

/** The same with an open index. */
export function runIdIn(state: StateDir, index: Index, text: string): string {
  const found = index.findRuns(text);
  const [run] = found;
  if (run === undefined) throw unknownRun(state, text, index.stats().runs);
  if (found.length > 1) throw ambiguousRun(found, text);
  return run.run_id;
}

function unknownRun({ path }: StateDir, text: string, runs: number): TachoError {
  if (runs === 0) return noRuns(path);
  const why = /^last~\d+$/.test(text)
    ? `it has ${plural(runs, 'run')}`
    : 'give a run id, a session id, a prefix of one, last or last~1; tacho runs list shows the runs';
  return new TachoError('not_found', `no run "${text}" in ${path}: ${why}`, { stage: 'find' });
}

/** For a store without runs. */
export function noRuns(path: string): TachoError {
  const say = `no runs in ${path} yet: record one with tacho run, or import sessions with tacho import`;
  return new TachoError('not_found', say, { stage: 'find' });
}

const CANDIDATES_SHOWN = 5;
const PROMPT_COLUMNS = 40;

function ambiguousRun(found: readonly Candidate[], text: string): TachoError {
  const names = shortRunIds(found.map(({ run_id }) => run_id));
  const lines = found
    .slice(0, CANDIDATES_SHOWN)
    .map(
      ({ started_ms, agent, prompt }, at) =>
        `\n  ${names[at]}  ${localMinute(started_ms) ?? 'unknown time'}  ${agent}  ${oneLine(prompt ?? '', PROMPT_COLUMNS)}`,
    );
  const more = found.length > CANDIDATES_SHOWN ? '\n  and more' : '';
  const say = `"${text}" matches several runs; give the id of one:${lines.join('')}${more}`;
  return new TachoError('usage', say, { stage: 'find' });
}

/** The events of a run in journal order. `known`: a shared index, for callers that read many runs. */
export async function* journalledEvents(
  state: StateDir,
  run_id: string,
  known?: Index,
): AsyncGenerator<Event> {
  using opened = known === undefined ? openIndex(state) : null;
  const index = known ?? (opened as Index);
  const events = new EventReader(run_id);
  for await (const entry of runEntries(readSession(state.journal, run_id, { index })))
    yield* events.read(entry);
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
