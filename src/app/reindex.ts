/** The index and the transcripts made again from the journal: both are a fold over events and nothing else. */
import { existsSync } from 'node:fs';
import type { Event } from '../model/event.ts';
import type { RunOutcome } from '../model/outcome.ts';
import { createOutcomeFold } from '../projections/outcome.ts';
import { openIndex } from '../store/index-db.ts';
import { readSession } from '../store/journal-read.ts';
import { transcriptPath } from '../store/run-files.ts';
import type { StateDir } from '../store/state-dir.ts';
import { listSessions, readTombstones } from '../store/tombstones.ts';
import { CAPTURE_SOURCE } from './recorder.ts';
import {
  createTranscriptWriter,
  saveTranscript,
  type TranscriptWriter,
} from './transcript-writer.ts';

export interface Reindexed {
  runs: number;
  /** Runs that have no end record yet: still going on, or to be recovered. */
  unfinished: number;
  deleted: number;
  /** Lines of the journal that say nothing any more. */
  damaged: number;
  torn: number;
}

export async function reindex(state: StateDir): Promise<Reindexed> {
  const index = openIndex(state);
  const done: Reindexed = {
    runs: 0,
    unfinished: 0,
    deleted: readTombstones(state).size,
    damaged: 0,
    torn: 0,
  };
  try {
    index.clear();
    for (const session of await listSessions(state, index)) {
      const entries = readSession(state.journal, session, { index });
      const run = new Rebuilt(state);
      for await (const { source, body } of entries) {
        if (source === CAPTURE_SOURCE) run.push(JSON.parse(body) as Event);
      }
      done.damaged += entries.report.corrupt;
      done.torn += entries.report.torn;
      const outcome = run.finish();
      if (outcome !== null) {
        index.saveOutcome(outcome);
        done.runs += 1;
      } else if (run.begun) done.unfinished += 1;
    }
    return done;
  } finally {
    index.close();
  }
}

/** One run's outcome, and its transcript where that is missing. */
export class Rebuilt {
  readonly #state: StateDir;
  readonly #fold = createOutcomeFold({ keepIo: false });
  #transcript: TranscriptWriter | null = null;
  #last: Event | null = null;

  constructor(state: StateDir) {
    this.#state = state;
  }

  get begun(): boolean {
    return this.#last !== null;
  }

  push(event: Event): void {
    if (this.#last === null && event.kind === 'run_started') {
      const path = transcriptPath(this.#state, event.data.agent, event.run_id);
      if (!existsSync(path)) this.#transcript = createTranscriptWriter({ tmp: this.#state.tmp });
    }
    this.#last = event;
    this.#fold.push(event);
    this.#transcript?.push(event);
  }

  /** Null for a run that has no end. */
  finish(): RunOutcome | null {
    try {
      if (this.#last?.kind !== 'run_finished') return null;
      const outcome = this.#fold.finish();
      if (this.#transcript !== null) saveTranscript(this.#state, outcome, this.#transcript);
      return outcome;
    } finally {
      this.#transcript?.close();
    }
  }
}
