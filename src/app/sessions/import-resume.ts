/**
 * A session of which the journal already has a part: because it has grown, or because its import was killed. Contract:
 * only what the run does not have becomes an event, however the earlier part was recorded. If the agent rewrote what it
 * had written before, the run gets a problem that says so.
 */
import { problem } from '../../capture/decode.ts';
import type { Pipeline } from '../../capture/pipeline.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Draft } from '../../model/draft.ts';
import type { Event } from '../../model/event.ts';
import { CAPTURE_SOURCE } from '../../model/words.ts';
import type { Index } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import type { StateDir } from '../../store/state-dir.ts';
import type { JournalledEvent, Recorder } from '../run/recorder.ts';
import { eventIn, eventOf } from '../runs/journal-events.ts';
import { endsOf } from '../runs/run-entries.ts';
import { configOf, type Into, newRecording, Reading, type Recorded } from './import-record.ts';
import { pipelineOf } from './import-source.ts';
import type { PartPlace } from './part-reader.ts';
import type { SessionSource } from './session-source.ts';

interface Resuming extends Into {
  state: StateDir;
  index: Index;
  /**
   * Whether the files may differ from those that were read before, so that places in them mean nothing. Otherwise they
   * only grew.
   */
  rewritten: boolean;
  /** Whether less of the files was read now than before. */
  isLess(places: ReadonlyMap<string, PartPlace>): boolean;
  /** Whether the run was recorded from files at the same place: then what they lack was removed from them. */
  same_files: boolean;
}

export interface Resumed extends Recorded {
  /** Whether the run has new events, or another end. */
  grew: boolean;
  /** Whether places in the run's events are not those of the files. */
  rewritten: boolean;
}

export async function resumeSession(source: SessionSource, into: Resuming): Promise<Resumed> {
  const redactor = into.redactor(false);
  const gate = into.gate(redactor);
  const recording = newRecording(source, into, { gate, byte_text: false });
  const { run_id } = into.id;
  const { since_ms } = into;
  const config = await configOf(source, into.id);
  const pipeline = pipelineOf(source, { run_id, config, gate, since_ms });
  pipeline.resumption.rereads = into.rewritten;
  const known = await recording.resume(() => fold(into, pipeline, recording.recorder));
  const reading = new Reading(source, pipeline, redactor);
  let grew = false;
  for await (const events of reading.lines()) {
    grew ||= events.length > 0;
    await recording.take(events);
  }
  const problems = grew || into.same_files ? rewrittenProblem(pipeline) : [];
  await recording.take(problems);
  const { places } = reading;
  // Files that lack what the run has say nothing about its end.
  const lacking = !grew && into.rewritten && (pipeline.resumption.lacking || into.isLess(places));
  const end = [
    ...(lacking ? endAgain(pipeline, known.end ?? []) : reading.end()),
    ...pipeline.finish(),
  ];
  const rewritten = into.rewritten && pipeline.resumption.changed;
  const same = () => isSameEnd(end.map(into.gate(into.redactor(false)).event), known.end ?? []);
  if (!grew && problems.length === 0 && known.end !== null && (lacking || same()))
    return { ...recording.keep(known.end, places), grew, rewritten };
  const recorded = await recording.close(end, places, known.closings);
  return { ...recorded, grew: true, rewritten };
}

/** Events of an end that the pipeline makes itself. */
const MADE = new Set<Event['kind']>(['run_finished', 'call_finished', 'problem']);

/** The agent's own records of the end, as they were read before. */
function endAgain(pipeline: Pipeline, end: readonly Event[]): Event[] {
  return end
    .filter(({ kind }) => !MADE.has(kind))
    .flatMap(({ kind, at_ms, data }) => pipeline.draft({ kind, at_ms, data } as Draft, null));
}

/** Whether two provisional ends say the same. How the run grew before is of no interest. */
function isSameEnd(a: readonly Event[], b: readonly Event[]): boolean {
  const said = (events: readonly Event[]) =>
    JSON.stringify(
      events.map((event) => {
        if (event.kind !== 'run_finished') return event;
        return { ...event, data: { ...event.data, digest: null, redactions: null } };
      }),
    );
  return said(a) === said(b);
}

/** If the run has events that are no longer in the files, and does not say so yet. */
function rewrittenProblem(pipeline: Pipeline): Event[] {
  if (pipeline.resumption.missing === 0) return [];
  const detail = 'the agent rewrote its session file; what is no longer in it is kept here';
  const draft = problem('reconcile', 'history_rewritten', detail);
  return pipeline.resumption.wasGiven(draft) ? [] : pipeline.draft(draft, null);
}

/** Advances the pipeline and the recorder to the end of the journal. */
async function fold(
  { state, index, id: { run_id } }: Resuming,
  pipeline: Pipeline,
  recorder: Recorder,
): Promise<{ closings: number; end: Event[] | null }> {
  const { after: ends, last: closings } = await endsOf(
    readSession(state.journal, run_id, { index }),
  );
  let batch: JournalledEvent[] = [];
  let chars = 0;
  let last = 0;
  const flush = async () => {
    await recorder.resume(batch);
    batch = [];
    chars = 0;
  };
  const closeAfter = async (seq: number) => {
    for (const bodies of ends.get(seq) ?? []) {
      await flush();
      const end = eventOf(bodies.at(-1) ?? '');
      if (end?.kind !== 'run_finished' || end.data.digest === null) continue;
      recorder.resumeClosed(end.data.digest.sha256, end.data.redactions);
    }
  };
  await closeAfter(0);
  for await (const { source, seq, body } of readSession(state.journal, run_id, { index })) {
    if (source !== CAPTURE_SOURCE) continue;
    const event = eventIn(body, run_id);
    if (event === null || seq !== last + 1) throw damaged(run_id);
    last = seq;
    pipeline.resumption.resume(event);
    batch.push({ event, body });
    chars += body.length;
    if (chars > BATCH_CHARS) await flush();
    if (ends.has(seq)) await closeAfter(seq);
  }
  await flush();
  pipeline.resumption.skipTo(last);
  pipeline.resumed();
  const bodies = ends.get(last)?.at(-1) ?? null;
  const end = bodies?.map((body) => eventOf(body)).filter((event) => event !== null) ?? null;
  return { closings, end };
}

/** Batches are bounded: one event may have megabytes. */
const BATCH_CHARS = 1024 * 1024;

const damaged = (run_id: string) =>
  new TachoError(
    'journal_failed',
    `the journal has damaged entries of run ${run_id}: see tacho runs verify ${run_id}; to import its session again: tacho runs rm ${run_id}, then import it by name`,
    { stage: 'import' },
  );
