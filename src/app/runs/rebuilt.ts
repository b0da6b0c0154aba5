/** Rebuilds a run's outcome and transcript from its journal: both are a pure fold over its events. */
import { existsSync } from 'node:fs';
import type { Event } from '../../model/event.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import { createOutcomeFold, measuredBy } from '../../projections/outcome.ts';
import type { Index } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import { transcriptPath } from '../../store/spool/run-files.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { importedDigest } from './import-id.ts';
import { EventReader } from './journal-events.ts';
import { Closing } from './run-entries.ts';
import { saveTranscript, TranscriptWriter } from './transcript-writer.ts';

/** One run's outcome, and its transcript if that is missing and not created on demand. */
export class Rebuilt {
  readonly #state: StateDir;
  readonly #fold = createOutcomeFold({ keepIo: false });
  readonly #events: EventReader;
  #transcript: TranscriptWriter | null = null;
  #last: Event | null = null;
  /** The number of the last entry of the capture. */
  #seq = 0;
  readonly #closing = new Closing();

  constructor(state: StateDir, run_id: string) {
    this.#state = state;
    this.#events = new EventReader(run_id);
  }

  get begun(): boolean {
    return this.#last !== null;
  }

  /** Whether the last entry was the end of the run. */
  get ended(): boolean {
    return this.#last?.kind === 'run_finished' || this.#closing.after(this.#seq).length > 0;
  }

  /** The number of events before a provisional end: the run may have grown since. Null for another end, or none. */
  get grew_to(): number | null {
    return this.#closing.after(this.#seq).length > 0 ? this.#seq : null;
  }

  /** Whether it keeps the content of messages and calls. */
  get holds_content(): boolean {
    return this.#transcript !== null;
  }

  /** Number of entries that are not events. */
  get foreign(): number {
    return this.#events.foreign;
  }

  /** An entry of the run's own capture. */
  push(entry: { seq: number; body: string }): void {
    this.#seq = entry.seq;
    this.#closing.interrupt();
    this.#read(entry);
  }

  /** An entry of a provisional end. */
  pushClosing(entry: { seq: number; body: string }): void {
    this.#closing.take(entry);
  }

  #read(entry: { seq: number; body: string }): void {
    for (const event of this.#events.read(entry)) this.#take(event);
  }

  #take(event: Event): void {
    if (this.#last === null && event.kind === 'run_started') {
      const { run_id } = event;
      const { agent, config } = event.data;
      const path = transcriptPath(this.#state, agent, run_id);
      // The transcript of an import is created when it is first requested (TR-1).
      const imported = importedDigest({ run_id, agent, labels: config?.labels }) !== null;
      if (!imported && !existsSync(path))
        this.#transcript = new TranscriptWriter({ tmp: this.#state.tmp });
    }
    this.#last = event;
    this.#fold.push(event);
    this.#transcript?.push(event);
  }

  /** Null for a run without an end. */
  finish(): MeasuredRun | null {
    try {
      if (!this.ended) return null;
      for (const entry of this.#closing.after(this.#seq)) this.#read(entry);
      const measured = measuredBy(this.#fold);
      if (this.#transcript !== null)
        saveTranscript(this.#state, measured.outcome, this.#transcript);
      return measured;
    } finally {
      this[Symbol.dispose]();
    }
  }

  [Symbol.dispose](): void {
    this.#transcript?.close();
    this.#transcript = null;
  }
}

/** `measured`: null for a run without an end. */
export async function rebuildRun(state: StateDir, index: Index, run_id: string) {
  const entries = readSession(state.journal, run_id, { index });
  using run = new Rebuilt(state, run_id);
  for await (const entry of entries) {
    if (entry.source === CAPTURE_SOURCE) run.push(entry);
    else if (entry.source === CLOSING_SOURCE) run.pushClosing(entry);
  }
  const measured = run.finish();
  const { begun, grew_to, foreign } = run;
  return { measured, begun, grew_to, foreign, report: entries.report };
}
