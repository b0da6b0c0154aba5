/**
 * Writes one session into the journal, through the same recorder as a live run. Its end is provisional: the session may
 * grow. Its transcript is built from the journal on demand.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { fromByteText, isAscii, NeedsText, toByteText } from '../../lib/byte-text.ts';
import { TachoError } from '../../lib/errors.ts';
import type { Event } from '../../model/event.ts';
import type { RunConfig } from '../../model/parts.ts';
import type { Evidence } from '../../model/unfinished.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { IMPORTED_FILE_LABEL } from '../../model/words.ts';
import { createOutcomeFold, measuredBy, type OutcomeFold } from '../../projections/outcome.ts';
import type { Gate, Redactor } from '../../redact/gate.ts';
import type { Journal } from '../../store/journal/journal.ts';
import { Recorder } from '../run/recorder.ts';
import { prepareRecord } from '../run/request.ts';
import type { NewId } from '../runs/import-id.ts';
import { EvidenceFold } from './evidence.ts';
import { pipelineOf } from './import-source.ts';
import type { PartPlace } from './part-reader.ts';
import { Reading } from './session-reading.ts';
import type { SessionSource } from './session-source.ts';

/** Events journalled together: otherwise files merged line by line would wait for the disk at every line. */
const BATCH_EVENTS = 64;

export interface Into {
  id: NewId;
  /** Only events from this time on. */
  since_ms: number | null;
  /** Only events before this time. Null: all. */
  until_ms: number | null;
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
  /** The events of the end. */
  end: readonly Event[];
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
  const recording = new Recording(source, into, { gate, byte_text });
  const own = byte_text ? toByteText(config) : config;
  const { since_ms, until_ms } = into;
  const times = { since_ms, until_ms };
  const pipeline = pipelineOf(source, { run_id, config: own, gate, ...times, byte_text });
  const reading = new Reading(source, pipeline, redactor);
  for await (const events of reading.lines()) await recording.take(events);
  return recording.close([...(await reading.end()), ...pipeline.finish()], reading.places);
}

export async function configOf({ agent, path }: SessionSource, id: NewId): Promise<RunConfig> {
  const labels = { [IMPORTED_FILE_LABEL]: basename(path), ...id.labels };
  const { config } = await prepareRecord({ agent: agent.id, labels });
  return config;
}

interface RecordingOptions {
  gate: Gate;
  byte_text: boolean;
}

/** Journals events of a run in batches, and folds its outcome. */
export class Recording {
  readonly recorder: Recorder;
  readonly #path: string;
  readonly #into: Into;
  readonly #byte_text: boolean;
  readonly #state = new EvidenceFold();
  #fold: OutcomeFold;
  /** The entries of ends in the journal. */
  #closings = 0;
  #resuming = false;
  /** The events of the end, as they are stored. Null before it. */
  #ended: Event[] | null = null;
  #held: Event[] = [];
  #bytes = 0;
  #last = 0;

  constructor({ path }: SessionSource, into: Into, { gate, byte_text }: RecordingOptions) {
    const { journal, observe } = into;
    this.#path = path;
    this.#into = into;
    this.#byte_text = byte_text;
    this.#fold = createOutcomeFold({ keepIo: false, byte_text });
    const views = [
      { name: 'the outcome', take: (events: readonly Event[]) => this.#take(events) },
      {
        name: 'the watcher',
        take: (events: readonly Event[]) => {
          if (!this.#resuming && this.#ended === null)
            observe?.(byte_text ? events.map(fromByteText) : events);
        },
      },
    ];
    this.recorder = new Recorder({ run_id: into.id.run_id, journal, gate, views, byte_text });
  }

  #take(events: readonly Event[]): void {
    for (const event of events) {
      this.#fold.push(event);
      if (this.#ended === null) this.#state.push(event);
      else this.#ended.push(event);
    }
  }

  /** Calls `work`, which passes events of the journal to the recorder. `closings`: the entries of earlier ends. */
  async resume<T extends { closings: number }>(work: () => Promise<T>): Promise<T> {
    this.#resuming = true;
    const result = await work();
    this.#resuming = false;
    this.#closings = result.closings;
    return result;
  }

  async take(events: Event[]): Promise<void> {
    this.#held = this.#held.length === 0 ? events : [...this.#held, ...events];
    if (this.#held.length >= BATCH_EVENTS) await this.#flush();
  }

  async #flush(): Promise<void> {
    const held = this.#held;
    this.#bytes = Math.max(this.#bytes, held.at(-1)?.raw?.offset ?? 0);
    this.#into.report(this.#bytes);
    this.#last = held.at(-1)?.seq ?? this.#last;
    this.#held = [];
    await this.recorder.take(held);
  }

  /** The run as the journal has it, with this end. */
  keep(end: readonly Event[], places: ReadonlyMap<string, PartPlace>): Recorded {
    this.#ended = [];
    this.#take(end);
    return this.#recorded(end, places);
  }

  /** Journals the provisional end. */
  async close(end: readonly Event[], places: ReadonlyMap<string, PartPlace>): Promise<Recorded> {
    await this.#flush();
    this.#ended = [];
    this.#closings = await this.recorder.close(end, this.#closings);
    this.#check();
    return this.#recorded(end, places);
  }

  /** Calls `work`, which ends the run. More events may follow after that. */
  async endSoFar<T>(work: () => Promise<T>): Promise<T> {
    await this.#flush();
    const before = this.#fold;
    this.#fold = before.fork();
    try {
      return await work();
    } finally {
      this.#fold = before;
      this.#ended = null;
    }
  }

  #check(): void {
    const { failure, failed } = this.recorder;
    if (failure !== null) throw refused(failure, this.#path, this.#into.id.run_id);
    // The next import of the file finds all of it in the journal, and rebuilds the outcome.
    for (const { view, why } of failed)
      throw new TachoError('output_unwritable', `${this.#path}: ${view} failed: ${why}`, {
        stage: 'import',
      });
  }

  #recorded(end: readonly Event[], places: ReadonlyMap<string, PartPlace>): Recorded {
    const folded = measuredBy(this.#fold);
    const text = this.#byte_text && !isAscii(JSON.stringify(folded));
    return {
      run: text ? fromByteText(folded) : folded,
      events: (end[0]?.seq ?? this.#last + 1) - 1,
      places: new Map(places),
      evidence: this.#state.evidence(end, writtenMs(places.keys())),
      end: this.#ended ?? [],
    };
  }
}

/** When one of these files was last written. 0 for those that are not files. */
export function writtenMs(paths: Iterable<string>): number {
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
