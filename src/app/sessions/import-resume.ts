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
import type { Redactor } from '../../redact/gate.ts';
import type { Index } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { APP_LIMITS } from '../limits.ts';
import type { JournalledEvent, Recorder } from '../run/recorder.ts';
import { eventIn, eventOf } from '../runs/journal-events.ts';
import { endsOf } from '../runs/run-entries.ts';
import { configOf, type Into, type Recorded, Recording, writtenMs } from './import-record.ts';
import { pipelineOf } from './import-source.ts';
import type { PartPlace } from './part-reader.ts';
import { Reading } from './session-reading.ts';
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
  /** Whether parts that are being written may wait for the record that names their parent. */
  waits: boolean;
}

export interface Resumed extends Recorded {
  /** Whether the run has new events, or another end. */
  grew: boolean;
  /** Whether places in the run's events are not those of the files. */
  rewritten: boolean;
  /** The run as it may grow from here. Null if its journal has to be read again for that. */
  open: OpenRun | null;
}

export async function resumeSession(source: SessionSource, into: Resuming): Promise<Resumed> {
  const redactor = into.redactor(false);
  const gate = into.gate(redactor);
  const recording = new Recording(source, into, { gate, byte_text: false });
  const { run_id } = into.id;
  const { since_ms, until_ms } = into;
  const config = await configOf(source, into.id);
  const pipeline = pipelineOf(source, { run_id, config, gate, since_ms, until_ms });
  pipeline.resumption.rereads = into.rewritten;
  const known = await recording.resume(() => fold(into, pipeline, recording.recorder));
  const reading = new Reading(source, pipeline, redactor);
  const run = new OpenRun(into, { recording, pipeline, reading, redactor }, known.end);
  return run.grow(source, into);
}

interface Parts {
  recording: Recording;
  pipeline: Pipeline;
  reading: Reading;
  redactor: Redactor;
}

/** How files relate to those that a run was recorded from. */
type Relation = Pick<Resuming, 'rewritten' | 'same_files' | 'isLess' | 'waits'>;

const ONLY_GREW: Relation = {
  rewritten: false,
  same_files: true,
  isLess: () => false,
  waits: true,
};

/** A run with its journal folded up to the end. It grows with its session. */
export class OpenRun {
  readonly since_ms: number | null;
  readonly until_ms: number | null;
  /** The main file that it was read from. */
  readonly path: string;
  readonly #into: Into;
  readonly #parts: Parts;
  /** The end that the journal has. Null if it has none. */
  #end: readonly Event[] | null;

  constructor(into: Into, parts: Parts, end: readonly Event[] | null) {
    this.since_ms = into.since_ms;
    this.until_ms = into.until_ms;
    this.path = parts.reading.path;
    this.#into = into;
    this.#parts = parts;
    this.#end = end;
  }

  /**
   * Whether something was not read: a last line that the agent had not finished, or the file of a sub-agent without a
   * known parent.
   */
  get torn(): boolean {
    const { reading } = this.#parts;
    return reading.torn || reading.unclaimed.length > 0;
  }

  /** Records what the files have beyond the run. */
  async grow(source: SessionSource, relation = ONLY_GREW): Promise<Resumed> {
    const { recording, pipeline, reading, redactor } = this.#parts;
    let grew = false;
    for await (const events of reading.lines(source)) {
      grew ||= events.length > 0;
      await recording.take(events);
    }
    const { rewritten, same_files, isLess, waits } = relation;
    const problems = grew || same_files ? rewrittenProblem(pipeline) : [];
    await recording.take(problems);
    const said = grew || problems.length > 0;
    // Files that lack what the run has say nothing about its end.
    const lacking = !grew && rewritten && (pipeline.resumption.lacking || isLess(reading.places));
    const moved = rewritten && pipeline.resumption.changed;
    const counts = redactor.counts();
    const all = reading.whole || (reading.unclaimed.length > 0 && !(waits && isInUse(reading)));
    const so_far = rewritten || !mayGrow(source) || all ? null : pipeline.endSoFar();
    if (so_far === null) {
      const own = lacking ? endAgain(pipeline, this.#end ?? []) : await reading.end();
      const end = [...own, ...pipeline.finish()];
      return { ...(await this.#finish(end, { said, lacking })), rewritten: moved, open: null };
    }
    const resumed = await recording.endSoFar(() => this.#finish(so_far, { said, lacking }));
    recording.recorder.forgetRedactions(counts);
    this.#end = resumed.end;
    return { ...resumed, rewritten: moved, open: this };
  }

  /** Journals the end, unless the journal has it. `said`: the run has new events. */
  async #finish(
    end: Event[],
    { said, lacking }: { said: boolean; lacking: boolean },
  ): Promise<Recorded & { grew: boolean }> {
    const { recording, reading } = this.#parts;
    const known = this.#end;
    if (!said && known !== null && (lacking || this.#isSame(end, known)))
      return { ...recording.keep(known, reading.places), grew: false };
    return { ...(await recording.close(end, reading.places)), grew: true };
  }

  #isSame(end: readonly Event[], known: readonly Event[]): boolean {
    const into = this.#into;
    return isSameEnd(end.map(into.gate(into.redactor(false)).event), known);
  }
}

/** Whether more can follow the lines of these files: they are not written again as a whole. */
function mayGrow({ agent, path, parts, left_out }: SessionSource): boolean {
  if (agent.session?.rewritten === true || agent.session?.read !== undefined) return false;
  const lines = parts.every((part) => part.path.endsWith('.jsonl'));
  return lines && left_out.length === 0 && parts[0]?.path === path;
}

/** Whether the parts without a known parent are still written, as far as their files show. */
const isInUse = ({ unclaimed }: Reading) =>
  Date.now() - writtenMs(unclaimed.map(({ path }) => path)) < APP_LIMITS.open_run_ms;

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
