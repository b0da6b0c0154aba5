/** Checks whether a run's record is complete and unchanged: sequence, hashes, form, completeness, transcript (ST-10). */
import { createHash } from 'node:crypto';
import { createReadStream, lstatSync } from 'node:fs';
import type { Event } from '../../model/event.ts';
import type { Completeness } from '../../model/parts.ts';
import { openRead } from '../../store/files.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { readSession, type StoredEntry } from '../../store/journal/read.ts';
import { transcriptPath } from '../../store/spool/run-files.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { CAPTURE_SOURCE } from '../run/recorder.ts';
import { importedDigest } from './import-id.ts';
import { eventOf } from './journal-events.ts';
import { findRunId, journalledEvents } from './replay.ts';
import { TranscriptWriter } from './transcript-writer.ts';

const FAULTS_MAX = 50;

/** The result of checking a run's record. */
export interface Verified {
  /** Id of the run. */
  run_id: string;
  /** Whether the record is complete and unchanged. */
  ok: boolean;
  /** Number of events in the record. */
  events: number;
  /** Mistakes in the record, as text. */
  faults: string[];
  /** Null if the record has no end. */
  completeness: Completeness | null;
  /** Lines of the journal that were skipped while the run was read, by reason. */
  journal: Record<string, number>;
}

export async function verifyRun(state: StateDir, run: string): Promise<Verified> {
  const run_id = await findRunId(state, run);
  using index = openIndex(state);
  const entries = readSession(state.journal, run_id, { index, to_end: true });
  const check = new RecordCheck(run_id);
  for await (const entry of entries) if (entry.source === CAPTURE_SOURCE) check.take(entry);
  check.end();
  const { report } = entries;
  if (check.faults.length === 0) await checkTranscriptFile(state, run_id, check);
  // A cause, not a fault: the run of a damaged line is unknown, and a missing line is reported above.
  else if (report.corrupt > 0) check.fault(`${report.corrupt} damaged lines in the journal`);
  if (report.conflicts > 0)
    check.fault(`${report.conflicts} entries with a second, different content`);
  const { faults, count, completeness } = check;
  return { run_id, ok: faults.length === 0, events: count, faults, completeness, journal: report };
}

/** Checks that the run's transcript matches its journal. */
async function checkTranscriptFile(state: StateDir, run_id: string, check: RecordCheck) {
  using writer = new TranscriptWriter({ tmp: state.tmp });
  const outcome = await writer.pushAll(journalledEvents(state, run_id));
  const made = createHash('sha256');
  for (const piece of writer.finish(outcome).pieces()) made.update(piece);
  const path = transcriptPath(state, outcome.agent, run_id);
  const found = await digestOf(path);
  const cure = 'rebuild it with: tacho runs reindex';
  const { agent, metadata } = outcome;
  // The transcript of an import is created when it is first requested (TR-1).
  if (importedDigest({ run_id, agent, labels: metadata.labels }) !== null && !isThere(path)) return;
  if (found === null) check.fault(`its transcript is missing; ${cure}`);
  else if (found !== made.digest('hex'))
    check.fault(`its transcript ${path} does not match the journal; remove it and ${cure}`);
}

const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Null if the file is missing, or if we may not read it. */
async function digestOf(path: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    const fd = openRead(path);
    for await (const chunk of createReadStream(path, { fd })) hash.update(chunk as Buffer);
    return hash.digest('hex');
  } catch {
    return null;
  }
}

class RecordCheck {
  readonly faults: string[] = [];
  completeness: Completeness | null = null;
  count = 0;
  readonly #run_id: string;
  readonly #digest = createHash('sha256');
  #at_ms = 0;
  #finished = false;

  constructor(run_id: string) {
    this.#run_id = run_id;
  }

  fault(text: string): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push(text);
  }

  take({ body, segment, offset }: StoredEntry): void {
    this.count += 1;
    const event = eventOf(body);
    const place = `${segment}, byte ${offset}`;
    if (event !== null) this.#check(event);
    else this.fault(`event ${this.count} is not of the form tacho.event.v1 (${place})`);
    this.#digest.update(body).update('\n');
  }

  #check(event: Event): void {
    if (event.seq !== this.count) this.fault(`event ${this.count} has the number ${event.seq}`);
    if (event.run_id !== this.#run_id) this.fault(`event ${this.count} is of run ${event.run_id}`);
    if (event.at_ms < this.#at_ms) this.fault(`event ${this.count} goes back in time`);
    if (this.#finished) this.fault(`event ${this.count} comes after the end record`);
    this.#at_ms = event.at_ms;
    if (event.kind === 'run_finished') {
      this.#finished = true;
      this.completeness = event.data.completeness;
      const { digest } = event.data;
      const sha256 = this.#digest.copy().digest('hex');
      if (digest === null) this.fault('the end record has no digest');
      else if (digest.sha256 !== sha256 || digest.events !== this.count - 1)
        this.fault('the digest of the end record does not match the events');
    }
  }

  end(): void {
    if (!this.#finished) this.fault('there is no end record');
  }
}
