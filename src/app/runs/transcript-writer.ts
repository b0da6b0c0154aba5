/**
 * Writes a transcript of any length in constant memory: finished messages and calls are spilled and read back at the
 * end.
 */
import { existsSync, rmSync } from 'node:fs';
import { fromByteText } from '../../lib/byte-text.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import type { TranscriptCall, TranscriptMessage } from '../../model/transcript.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import {
  type MessageHead,
  placesOf,
  type TranscriptFacts,
  TranscriptFold,
  type TranscriptView,
} from '../../projections/transcript.ts';
import { type AnyRedactor, type Redactor, redactRecord } from '../../redact/gate.ts';
import { startPrivate } from '../../store/files.ts';
import type { Index } from '../../store/index/index-db.ts';
import { transcriptFile, transcriptPath } from '../../store/spool/run-files.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { asReported } from '../prices/costs.ts';
import { DiskList, inPieces } from './disk-list.ts';
import { patchedText } from './outcome-writer.ts';
import { journalledEvents } from './replay.ts';

export interface FinishedTranscript {
  view: TranscriptView;
  /** One line of JSON. A chunk is valid until the next is requested. */
  pieces(): Generator<Buffer, void>;
}

interface WriterOptions {
  /** Where a long transcript is kept until it is finished: `tmp` of a state folder. */
  tmp: string;
  /** Events contain byte text. */
  byte_text?: boolean;
  /** For events that are not redacted yet. */
  redactor?: AnyRedactor;
  /** The file that is converted. */
  path?: string | null;
}

export class TranscriptWriter {
  readonly #options: WriterOptions;
  readonly #heads: DiskList;
  readonly #calls: DiskList;
  readonly #fold: TranscriptFold;

  constructor(options: WriterOptions) {
    const encoding = options.byte_text ? 'latin1' : 'utf8';
    this.#options = options;
    this.#heads = new DiskList(options.tmp, encoding);
    this.#calls = new DiskList(options.tmp, encoding);
    const { redactor } = options;
    const own = options.byte_text ? redactor?.forByteText() : redactor;
    this.#fold = new TranscriptFold({
      message: (head, place) => this.#heads.put(JSON.stringify(safe(head, own)), place),
      call: (call, index) => this.#calls.put(JSON.stringify(safe(call, own)), index),
    });
  }

  push(event: Event): void {
    this.#fold.push(event);
  }

  /** Ends the transcript. `outcome`: of the same events, in real text. Nothing may be pushed after this. */
  finish(outcome: RunOutcome): FinishedTranscript {
    const facts = this.#facts(outcome);
    const places = placesOf(this.#heads.count, this.#fold.moved);
    const at = (index: number) => this.#message(places[index] as number, index);
    return {
      view: { facts, count: places.length, at },
      pieces: () => inPieces(this.#parts(facts, places)),
    };
  }

  /** Pushes all events. Returns their outcome, without calls. */
  async pushAll(events: AsyncIterable<Event>): Promise<RunOutcome> {
    const fold = createOutcomeFold({ keepIo: false, onCall: () => undefined });
    for await (const event of events) {
      fold.push(event);
      this.push(event);
    }
    return fold.finish();
  }

  close(): void {
    this.#heads.close();
    this.#calls.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** The outcome is in real text and redacted; the events are not. */
  #facts(outcome: RunOutcome): TranscriptFacts {
    const { byte_text, path, redactor } = this.#options;
    const facts = this.#fold.finish(outcome);
    const { target, source } = facts;
    const own = { target, source: { ...source, path: path ?? source.path } };
    return { ...facts, ...safe(byte_text ? fromByteText(own) : own, redactor) };
  }

  #head(place: number): MessageHead {
    return JSON.parse((this.#heads.get(place) as Buffer).toString('utf8')) as MessageHead;
  }

  /** A call as JSON text, valid until the next is requested. */
  #call(index: number): Buffer | string {
    const bytes = this.#calls.get(index) as Buffer;
    const patch = this.#fold.patches.get(index);
    return patch === undefined ? bytes : patchedText(bytes, patch);
  }

  #message(place: number, index: number): TranscriptMessage {
    const { calls, ...head } = this.#head(place);
    const tool_calls = calls.map(
      (at) => JSON.parse(this.#call(at).toString('utf8')) as TranscriptCall,
    );
    return { index, ...head, tool_calls };
  }

  *#parts(facts: TranscriptFacts, places: readonly number[]): Generator<string | Buffer, void> {
    yield `${JSON.stringify(facts).slice(0, -1)},"messages":[`;
    for (const [index, place] of places.entries()) {
      const { calls, ...head } = this.#head(place);
      const text = JSON.stringify({ index, ...head }).slice(0, -1);
      yield `${index === 0 ? '' : ','}${text},"tool_calls":[`;
      for (const [at, call] of calls.entries()) {
        if (at > 0) yield ',';
        yield this.#call(call);
      }
      yield ']}';
    }
    yield ']}\n';
  }
}

const safe = <T>(value: T, redactor: Redactor | undefined): T =>
  redactor === undefined ? value : redactRecord(value, redactor);

/** A recorded run's transcript as a file, built from the journal and saved if it is missing. Returns its path. */
export async function transcriptOnDemand(
  state: StateDir,
  index: Index,
  run_id: string,
): Promise<string> {
  const agent = index.getRun(run_id)?.agent ?? '';
  const path = transcriptPath(state, agent, run_id);
  for (;;) {
    if (existsSync(path)) return path;
    const events = index.grownTo(run_id);
    using writer = new TranscriptWriter({ tmp: state.tmp });
    saveTranscript(state, await writer.pushAll(journalledEvents(state, run_id, index)), writer);
    index.unmeasure(run_id);
    if (index.grownTo(run_id) === events) return path;
    // The run has grown meanwhile.
    removeTranscript(state, agent, run_id);
  }
}

/** Removes the transcript of a run that has grown. The next request builds it again. */
export function removeTranscript(state: StateDir, agent: string, run_id: string): void {
  rmSync(transcriptPath(state, agent, run_id), { force: true });
}

/** Saves the transcript atomically. It can always be rebuilt from the journal, so it has no computed cost. */
export function saveTranscript(
  state: StateDir,
  outcome: RunOutcome,
  writer: TranscriptWriter,
): void {
  const path = transcriptFile(state, outcome.agent, outcome.run_id);
  using file = startPrivate(path, 'transcript', false);
  for (const piece of writer.finish(asReported(outcome)).pieces()) file.write(piece);
  file.commit();
}
