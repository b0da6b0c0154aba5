/** One session into the journal, through the same recorder as a live run, with its transcript. */
import { basename } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { IMPORTED_FILE_LABEL } from '../../model/words.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { createGate, type Redactor } from '../../redact/gate.ts';
import type { Journal } from '../../store/journal/journal.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { Recorder } from '../run/recorder.ts';
import { prepareRecord } from '../run/request.ts';
import { saveTranscript, TranscriptWriter } from '../runs/transcript-writer.ts';
import type { NewId } from './import-ledger.ts';
import { runEvents, type SessionSource } from './import-source.ts';

/** Events journalled together: files merged line by line would else wait for the disk at every line. */
const BATCH_EVENTS = 64;

interface Into {
  id: NewId;
  /** Only what happened from then on. */
  since_ms: number | null;
  state: StateDir;
  journal: Journal;
  redactor: Redactor;
  /** Called with the bytes of the main file recorded so far. */
  report(bytes: number): void;
}

export async function recordSession(target: SessionSource, into: Into): Promise<RunOutcome> {
  const { id, since_ms, state, journal, redactor, report } = into;
  const { agent, path } = target;
  const { run_id } = id;
  const labels = { [IMPORTED_FILE_LABEL]: basename(path), ...id.labels };
  const { config } = await prepareRecord({ agent: agent.id, labels });
  const gate = createGate(redactor);
  const fold = createOutcomeFold({ keepIo: false });
  using transcript = new TranscriptWriter({ tmp: state.tmp });
  const take = (events: readonly Event[]) => {
    for (const event of events) {
      fold.push(event);
      transcript.push(event);
    }
  };
  const views = [{ name: 'the transcript', take }];
  const recorder = new Recorder({ run_id, journal, gate, views });
  let held: Event[] = [];
  let bytes = 0;
  for await (const events of runEvents(target, { run_id, config, gate, since_ms })) {
    held = held.length === 0 ? events : [...held, ...events];
    if (held.length < BATCH_EVENTS) continue;
    bytes = Math.max(bytes, held.at(-1)?.raw?.offset ?? 0);
    report(bytes);
    await recorder.take(held);
    held = [];
  }
  await recorder.take(held);
  if (recorder.failure !== null) throw refused(recorder.failure, path, run_id);
  // The next import of the file finds all of it in the journal, and makes these again.
  for (const { view, why } of recorder.failed)
    throw new TachoError('output_unwritable', `${path}: ${view} failed: ${why}`, {
      stage: 'import',
    });
  const outcome = fold.finish();
  saveTranscript(state, outcome, transcript);
  return outcome;
}

/** An import that was cut off continues where it stopped, unless another tacho or another environment made it. */
function refused(failure: Error, path: string, run_id: string): Error {
  if (failure instanceof TachoError) return failure;
  const say = `${path}: ${failure.message}; to import it anew: tacho runs rm ${run_id}, then import it by name`;
  return new TachoError('journal_failed', say, { stage: 'import', cause: failure });
}
