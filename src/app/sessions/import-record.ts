/**
 * Writes one session into the journal, through the same recorder as a live run. Its end is provisional: the session may
 * grow. Its transcript is built from the journal on demand.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Pipeline } from '../../capture/pipeline.ts';
import { fromByteText, isAscii, NeedsText, toByteText } from '../../lib/byte-text.ts';
import { TachoError } from '../../lib/errors.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import type { Event } from '../../model/event.ts';
import type { RunConfig } from '../../model/parts.ts';
import type { Evidence } from '../../model/unfinished.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { IMPORTED_FILE_LABEL } from '../../model/words.ts';
import { createOutcomeFold, measuredBy } from '../../projections/outcome.ts';
import type { Gate, Redactor } from '../../redact/gate.ts';
import type { Journal } from '../../store/journal/journal.ts';
import { Recorder } from '../run/recorder.ts';
import { prepareRecord } from '../run/request.ts';
import type { NewId } from '../runs/import-id.ts';
import { EvidenceFold } from './evidence.ts';
import { pipelineOf } from './import-source.ts';
import { BEGINNING, LineChecksum, type PartPlace, PartReader } from './part-reader.ts';
import { sessionChunks } from './session-chunks.ts';
import { leftOut, mainOf, mergedEvents, restOf, type SessionSource } from './session-source.ts';

/** Events journalled together: otherwise files merged line by line would wait for the disk at every line. */
const BATCH_EVENTS = 64;

export interface Into {
  id: NewId;
  /** Only events from this time on. */
  since_ms: number | null;
  journal: Journal;
  /** One per attempt: it counts its replacements. */
  redactor(byte_text: boolean): Redactor;
  gate(redactor: Redactor): Gate;
  /** Whether events may pass the gate as byte text. */
  bytes: boolean;
  /** Receives the new events of the run as they are stored. */
  observe?: ((events: readonly Event[]) => void) | undefined;
  /** Called with the bytes of the main file recorded so far. */
  report(bytes: number): void;
}

/** A session in the journal. */
export interface Recorded {
  run: MeasuredRun;
  /** The number of events before its provisional end. */
  events: number;
  /** How far each of its files was read, by path. */
  places: Map<string, PartPlace>;
  evidence: Evidence;
}

/** A new run. Reads byte text if the result is the same: it costs half. */
export async function recordSession(source: SessionSource, into: Into): Promise<Recorded> {
  const redactor = into.redactor(true);
  if (source.parts.length > 1 || !into.bytes || !redactor.bytes_too)
    return recordNew(source, into, into.redactor(false), false);
  const once = { ...into, ...(into.observe && { observe: inOrder(into.observe) }) };
  try {
    return await recordNew(source, once, redactor, true);
  } catch (error) {
    if (!(error instanceof NeedsText)) throw error;
    // The events journalled so far are the same, and the journal keeps them once.
    return recordNew(source, once, into.redactor(false), false);
  }
}

/** Passes each event once. */
function inOrder(observe: NonNullable<Into['observe']>): Into['observe'] {
  let last = 0;
  return (events) => {
    const fresh = events.filter(({ seq }) => seq > last);
    last = fresh.at(-1)?.seq ?? last;
    observe(fresh);
  };
}

async function recordNew(
  source: SessionSource,
  into: Into,
  redactor: Redactor,
  byte_text: boolean,
): Promise<Recorded> {
  const { run_id } = into.id;
  const config = await configOf(source, into.id);
  const gate = into.gate(redactor);
  const recording = newRecording(source, into, { gate, byte_text });
  const own = byte_text ? toByteText(config) : config;
  const { since_ms } = into;
  const pipeline = pipelineOf(source, { run_id, config: own, gate, since_ms, byte_text });
  const reading = new Reading(source, pipeline, redactor);
  for await (const events of reading.lines()) await recording.take(events);
  return recording.close([...reading.end(), ...pipeline.finish()], reading.places, 0);
}

export async function configOf({ agent, path }: SessionSource, id: NewId): Promise<RunConfig> {
  const labels = { [IMPORTED_FILE_LABEL]: basename(path), ...id.labels };
  const { config } = await prepareRecord({ agent: agent.id, labels });
  return config;
}

/** The lines of a session's files, from the given places on. */
export class Reading {
  /** After the last line: how far each file was read. */
  readonly places: Map<string, PartPlace>;
  readonly #source: SessionSource;
  readonly #pipeline: Pipeline;
  readonly #redactor: Redactor;
  #readers: PartReader[] = [];

  constructor(
    source: SessionSource,
    pipeline: Pipeline,
    redactor: Redactor,
    places: ReadonlyMap<string, PartPlace> = new Map(),
  ) {
    this.#source = source;
    this.#pipeline = pipeline;
    this.#redactor = redactor;
    this.places = new Map(places);
  }

  /** The events of all complete lines. A single file is read as bytes. */
  async *lines(): AsyncGenerator<Event[]> {
    const { agent, path, parts } = this.#source;
    if (parts.length === 1 && this.places.size === 0) yield* this.#bytes();
    else {
      this.#readers = parts.map((part) => {
        const from = this.places.get(part.path) ?? BEGINNING;
        const main = mainOf(parts, path);
        return new PartReader(agent, part, { main, from, redactor: this.#redactor });
      });
      yield* mergedEvents(this.#readers, this.#pipeline);
      for (const reader of this.#readers) this.places.set(reader.path, reader.place);
    }
  }

  async *#bytes(): AsyncGenerator<Event[]> {
    const { agent, path } = this.#source;
    const checksum = new LineChecksum(0);
    for await (const chunk of inFlatMemory(sessionChunks(agent, path))) {
      checksum.push(chunk);
      yield this.#pipeline.push('session', chunk);
    }
    this.places.set(path, { ...this.#pipeline.positionOf('session'), crc: checksum.value });
  }

  /** The events of unfinished last lines and of the end of the input. */
  end(): Event[] {
    const pipeline = this.#pipeline;
    const rest = this.#readers.flatMap((reader) => restOf(pipeline, reader));
    return [...rest, ...leftOut(this.#source, pipeline), ...pipeline.endOfInput('session')];
  }
}

/** Journals events of a run in batches, and folds its outcome. */
export function newRecording(
  { path }: SessionSource,
  into: Into,
  { gate, byte_text }: { gate: Gate; byte_text: boolean },
) {
  const { journal, report } = into;
  const { run_id } = into.id;
  const fold = createOutcomeFold({ keepIo: false, byte_text });
  const state = new EvidenceFold();
  let ended = false;
  const take = (events: readonly Event[]) => {
    for (const event of events) {
      fold.push(event);
      if (!ended) state.push(event);
    }
  };
  const views = [{ name: 'the outcome', take }];
  let resuming = false;
  const { observe } = into;
  if (observe !== undefined)
    views.push({
      name: 'the watcher',
      take: (events) => {
        if (!resuming && !ended) observe(byte_text ? events.map(fromByteText) : events);
      },
    });
  const evidenceOf = (end: readonly Event[], places: ReadonlyMap<string, PartPlace>) =>
    state.evidence(end, writtenMs(places.keys()));
  const recorder = new Recorder({ run_id, journal, gate, views, byte_text });
  let held: Event[] = [];
  let bytes = 0;
  let last = 0;
  const flush = async () => {
    bytes = Math.max(bytes, held.at(-1)?.raw?.offset ?? 0);
    report(bytes);
    last = held.at(-1)?.seq ?? last;
    await recorder.take(held);
    held = [];
  };
  return {
    recorder,
    /** Calls `work`, which passes events of the journal to the recorder. */
    async resume<T>(work: () => Promise<T>): Promise<T> {
      resuming = true;
      const result = await work();
      resuming = false;
      return result;
    },
    async take(events: Event[]): Promise<void> {
      held = held.length === 0 ? events : [...held, ...events];
      if (held.length >= BATCH_EVENTS) await flush();
    },
    /** The run as the journal has it, with this end. */
    keep(end: readonly Event[], places: Map<string, PartPlace>): Recorded {
      ended = true;
      take(end);
      const events = (end[0]?.seq ?? 1) - 1;
      return { run: measuredBy(fold), events, places, evidence: evidenceOf(end, places) };
    },
    /** Journals the provisional end. `closings`: entries of earlier ends. */
    async close(
      end: readonly Event[],
      places: Map<string, PartPlace>,
      closings: number,
    ): Promise<Recorded> {
      await flush();
      await recorder.flush();
      const events = (end[0]?.seq ?? last + 1) - 1;
      ended = true;
      await recorder.close(end, closings);
      if (recorder.failure !== null) throw refused(recorder.failure, path, run_id);
      // The next import of the file finds all of it in the journal, and rebuilds the outcome.
      for (const { view, why } of recorder.failed)
        throw new TachoError('output_unwritable', `${path}: ${view} failed: ${why}`, {
          stage: 'import',
        });
      const folded = measuredBy(fold);
      const run = byte_text && !isAscii(JSON.stringify(folded)) ? fromByteText(folded) : folded;
      return { run, events, places, evidence: evidenceOf(end, places) };
    },
  };
}

/** When one of these files was last written. 0 for those that are not files. */
function writtenMs(paths: Iterable<string>): number {
  let last_ms = 0;
  for (const path of paths) {
    try {
      last_ms = Math.max(last_ms, statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    } catch {
      // A session in a database: the path leads through a file.
    }
  }
  return Math.floor(last_ms);
}

/** An interrupted import continues where it stopped, unless another version or another environment started it. */
function refused(failure: Error, path: string, run_id: string): Error {
  if (failure instanceof TachoError) return failure;
  const say = `${path}: ${failure.message}; to import it again: tacho runs rm ${run_id}, then import it by name`;
  return new TachoError('journal_failed', say, { stage: 'import', cause: failure });
}
