/**
 * Writes one session into the journal, through the same recorder as a live run. Its transcript is built from the
 * journal on demand.
 */
import { basename } from 'node:path';
import { fromByteText, isAscii, NeedsText, toByteText } from '../../lib/byte-text.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { IMPORTED_FILE_LABEL } from '../../model/words.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { createGate, type Redactor } from '../../redact/gate.ts';
import type { Journal } from '../../store/journal/journal.ts';
import { Recorder } from '../run/recorder.ts';
import { prepareRecord } from '../run/request.ts';
import type { NewId } from '../runs/import-id.ts';
import { runEvents } from './import-source.ts';
import type { SessionSource } from './session-source.ts';

/** Events journalled together: otherwise files merged line by line would wait for the disk at every line. */
const BATCH_EVENTS = 64;

interface Into {
  id: NewId;
  /** Only events from this time on. */
  since_ms: number | null;
  journal: Journal;
  /** One per attempt: it counts its replacements. */
  redactor(byte_text: boolean): Redactor;
  /** Called with the bytes of the main file recorded so far. */
  report(bytes: number): void;
}

/** Reads byte text if the result is the same: it costs half. */
export async function recordSession(source: SessionSource, into: Into): Promise<RunOutcome> {
  const redactor = into.redactor(true);
  if (source.parts.length > 1 || !redactor.bytes_too)
    return record(source, into, into.redactor(false), false);
  try {
    return await record(source, into, redactor, true);
  } catch (error) {
    if (!(error instanceof NeedsText)) throw error;
    // The events journalled so far are the same, and the journal keeps them once.
    return record(source, into, into.redactor(false), false);
  }
}

async function record(
  source: SessionSource,
  { id, since_ms, journal, report }: Into,
  redactor: Redactor,
  byte_text: boolean,
): Promise<RunOutcome> {
  const { agent, path } = source;
  const { run_id } = id;
  const labels = { [IMPORTED_FILE_LABEL]: basename(path), ...id.labels };
  const { config } = await prepareRecord({ agent: agent.id, labels });
  const gate = createGate(redactor);
  const fold = createOutcomeFold({ keepIo: false, byte_text });
  const take = (events: readonly Event[]) => {
    for (const event of events) fold.push(event);
  };
  const views = [{ name: 'the outcome', take }];
  const recorder = new Recorder({ run_id, journal, gate, views, byte_text });
  const own = byte_text ? toByteText(config) : config;
  let held: Event[] = [];
  let bytes = 0;
  for await (const events of runEvents(source, {
    run_id,
    config: own,
    gate,
    since_ms,
    byte_text,
  })) {
    held = held.length === 0 ? events : [...held, ...events];
    if (held.length < BATCH_EVENTS) continue;
    bytes = Math.max(bytes, held.at(-1)?.raw?.offset ?? 0);
    report(bytes);
    await recorder.take(held);
    held = [];
  }
  await recorder.take(held);
  await recorder.flush();
  if (recorder.failure !== null) throw refused(recorder.failure, path, run_id);
  // The next import of the file finds all of it in the journal, and rebuilds the outcome.
  for (const { view, why } of recorder.failed)
    throw new TachoError('output_unwritable', `${path}: ${view} failed: ${why}`, {
      stage: 'import',
    });
  const outcome = fold.finish();
  return byte_text && !isAscii(JSON.stringify(outcome)) ? fromByteText(outcome) : outcome;
}

/** An interrupted import continues where it stopped, unless another version or another environment started it. */
function refused(failure: Error, path: string, run_id: string): Error {
  if (failure instanceof TachoError) return failure;
  const say = `${path}: ${failure.message}; to import it again: tacho runs rm ${run_id}, then import it by name`;
  return new TachoError('journal_failed', say, { stage: 'import', cause: failure });
}
