/** Checks whether a run's record is complete and unchanged: sequence, hashes, form, completeness, transcript (ST-10). */
import { createHash } from 'node:crypto';
import { createReadStream, lstatSync } from 'node:fs';
import type { Event } from '../../model/event.ts';
import type { Completeness } from '../../model/parts.ts';
import { CAPTURE_SOURCE, CLOSING_SOURCE } from '../../model/words.ts';
import { openRead } from '../../store/files.ts';
import { catalogueOf } from '../../store/index/catalogue.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { readSession, type StoredEntry } from '../../store/journal/read.ts';
import { newReport } from '../../store/journal/scan.ts';
import { transcriptPath } from '../../store/spool/run-files.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { importedDigest } from './import-id.ts';
import { eventOf } from './journal-events.ts';
import { RecordDigest } from './record-digest.ts';
import { findRunId, journalledEvents } from './replay.ts';
import { type Ends, endsOf } from './run-entries.ts';
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
  const check = new RecordCheck(run_id, await endsIn(state, index, run_id));
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

/** The provisional ends of a run. Most runs have none, and are read once. */
async function endsIn({ journal }: StateDir, index: Index, run_id: string): Promise<Ends['after']> {
  const catalogue = catalogueOf(journal, index);
  await catalogue.refresh(newReport());
  const some = catalogue.positions(run_id).some(({ source }) => source === CLOSING_SOURCE);
  return some ? (await endsOf(readSession(journal, run_id, { index }))).after : new Map();
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
  readonly #ends: Ends['after'];
  readonly #digest = new RecordDigest();
  #at_ms = 0;
  #finished = false;
  /** The number of events of a provisional end, if nothing follows it so far. */
  #closed = 0;

  /** `ends`: the run's provisional ends. */
  constructor(run_id: string, ends: Ends['after']) {
    this.#run_id = run_id;
    this.#ends = ends;
    for (const end of ends.get(0) ?? []) this.#checkEnd(end);
  }

  fault(text: string): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push(text);
  }

  take({ body, segment, offset }: StoredEntry): void {
    this.count += 1;
    this.#closed = 0;
    const event = eventOf(body);
    const place = `${segment}, byte ${offset}`;
    if (event !== null) this.#check(event);
    else this.fault(`event ${this.count} is not of the form tacho.event.v1 (${place})`);
    this.#digest.take(body);
    for (const end of this.#ends.get(this.count) ?? []) this.#checkEnd(end);
  }

  /** Checks a provisional end. The run counts as finished only if nothing follows it. */
  #checkEnd(bodies: readonly string[]): void {
    const { count } = this;
    const at_ms = this.#at_ms;
    for (const body of bodies) {
      this.count += 1;
      const event = eventOf(body);
      if (event !== null) this.#check(event);
      else this.fault(`event ${this.count} is not of the form tacho.event.v1`);
      if (event?.kind === 'run_finished')
        this.#digest.continueAfter(event.data.digest?.sha256 ?? '', count);
      else this.#digest.take(body);
    }
    this.#closed = this.count - count;
    this.#finished = false;
    this.#at_ms = at_ms;
    this.count = count;
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
      const { sha256 } = this.#digest.value;
      if (digest === null) this.fault('the end record has no digest');
      else if (digest.sha256 !== sha256 || digest.events !== this.count - 1)
        this.fault('the digest of the end record does not match the events');
    }
  }

  end(): void {
    this.count += this.#closed;
    if (!this.#finished && this.#closed === 0) this.fault('there is no end record');
  }
}
