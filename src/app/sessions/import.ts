/**
 * Session files → runs: through the same pipeline, redaction and journal as a live run. Contract: the same session in the
 * same state is one run, however often it is imported; memory is flat for any size; a file that cannot be read is told
 * and does not keep the others from their turn.
 */
import { basename } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import type { Agent } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import type { RunOutcome } from '../../model/outcome.ts';
import { IMPORTED_FILE_LABEL } from '../../model/words.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import type { Redactor } from '../../redact/redact.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import { openSecretHash, type SecretHash } from '../../store/journal/hash.ts';
import { type Journal, openJournal } from '../../store/journal/journal.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { lockStore, type StoreLockOptions } from '../../store/store-lock.ts';
import { openRedactor } from '../config/redaction.ts';
import { createRecorder } from '../run/recorder.ts';
import { prepareRecord } from '../run/request.ts';
import { settleable } from '../runs/catch-up.ts';
import { settle } from '../runs/settle.ts';
import { saveTranscript, TranscriptWriter } from '../runs/transcript-writer.ts';
import { ownPart } from './import-fork.ts';
import { entryOf, Ledger, type NewId } from './import-ledger.ts';
import { digestOf, type Head, headOf, runEvents, type SessionSource } from './import-source.ts';

export interface ImportTarget extends SessionSource {
  /** Asked for by file name or session id: comes back even when its import was deleted. */
  by_name: boolean;
}

export interface Imported {
  state:
    | 'imported'
    /** The same content is there already. */
    | 'known'
    /** Tacho recorded the session itself and nothing came after. */
    | 'recorded'
    /** A fork that has nothing of its own yet. */
    | 'shared'
    /** A later state of the session is there already. */
    | 'older'
    | 'deleted'
    | 'empty'
    | 'failed';
  agent: string;
  path: string;
  session_id: string | null;
  /** The run that holds the session now. */
  run_id: string | null;
  /** Imports of earlier states of the session, which are gone. */
  replaced: string[];
  /** What went wrong with which file; null when nothing did. */
  why: string | null;
}

interface ImportOptions extends StoreLockOptions {
  state_dir: string;
  env: NodeJS.ProcessEnv;
  /** Patterns of secrets, beyond the known shapes. */
  redact: readonly string[];
  /** Called before each session and each batch of its events, with the bytes of the main file recorded so far. */
  progress?: (target: ImportTarget, bytes: number) => void;
}

/** Events journalled together: files merged line by line would else wait for the disk at every line. */
const BATCH_EVENTS = 64;

export async function* importSessions(
  targets: Iterable<ImportTarget>,
  options: ImportOptions,
): AsyncGenerator<Imported> {
  const state = openStateDir(options.state_dir);
  const release = await lockStore(state, options);
  const index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  let replaced = 0;
  try {
    // What is known already is decided over all runs.
    await settle(state, index, settleable(state, index));
    const importer = new Importer({ ...options, state, index, journal });
    for (const target of targets) {
      const imported = await importer.take(target);
      replaced += imported.replaced.length;
      yield imported;
    }
  } finally {
    await journal.close();
    if (replaced > 0) await freeDeleted(state, index);
    index.close();
    release();
  }
}

interface Parts extends ImportOptions {
  state: StateDir;
  index: Index;
  journal: Journal;
}

type Found = Pick<Imported, 'state' | 'session_id' | 'run_id'> & Partial<Imported>;

class Importer {
  readonly #parts: Parts;
  readonly #ledger: Ledger;
  readonly #hash: SecretHash;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#ledger = new Ledger(parts.state, parts.index);
    this.#hash = openSecretHash(parts.state);
  }

  async take(target: ImportTarget): Promise<Imported> {
    const { agent, path } = target;
    const nothing = { agent: agent.id, path, replaced: [], why: null };
    this.#parts.progress?.(target, 0);
    try {
      return { ...nothing, ...(await this.#import(target)) };
    } catch (error) {
      // The state folder's own failures end the import; a session's do not.
      if (!(error instanceof TachoError) || !['read', 'import'].includes(error.stage)) throw error;
      const why = error.message;
      return { ...nothing, state: 'failed', session_id: null, run_id: null, why };
    }
  }

  async #import(target: ImportTarget): Promise<Found> {
    const { agent, by_name } = target;
    const sha256 = await digestOf(target);
    const known = this.#ledger.imported(agent.id, sha256);
    if (known !== null) {
      const replaced = this.#ledger.settle(agent.id, known.session_id);
      return this.#settled({ ...known, state: 'known', replaced });
    }
    const whole = await headOf(target, null);
    if (!whole.speaks) return silent(target, whole);
    const { session_id } = whole;
    const recorded = this.#ledger.recorded(agent.id, session_id);
    const since_ms = recorded === null ? null : recorded.finished_ms + 1;
    const head = since_ms === null ? whole : await headOf(target, since_ms);
    if (recorded !== null && !head.speaks) {
      const replaced = this.#ledger.settle(agent.id, session_id);
      return { state: 'recorded', session_id, run_id: recorded.run_id, replaced };
    }
    const own = await this.#ownPart(target, head, since_ms);
    if (typeof own === 'string') return { state: 'shared', session_id, run_id: own };
    const id = this.#ledger.newId({ agent: agent.id, sha256 }, whole.started_ms, by_name);
    if (id === null) return { state: 'deleted', session_id, run_id: null };
    await this.#record(target, id, own);
    const replaced = this.#ledger.settle(agent.id, session_id);
    return this.#settled({ state: 'imported', session_id, run_id: id.run_id, replaced });
  }

  /** The run itself can be among those that gave way. */
  #settled({ state, session_id, run_id, replaced }: Found & { replaced: string[] }): Found {
    if (run_id === null || !replaced.includes(run_id))
      return { state, session_id, run_id, replaced };
    return { state: 'older', session_id, run_id: null, replaced: [] };
  }

  /** From when on the session is its own, past what forks share; the id of the run that has all of it. */
  async #ownPart(
    target: ImportTarget,
    head: Head,
    since_ms: number | null,
  ): Promise<number | null | string> {
    const { state } = this.#parts;
    let [from_ms, begun_ms] = [since_ms, head.started_ms];
    const compared = new Set<string>();
    for (;;) {
      const others = this.#ledger.begunAt(target.agent.id, head.session_id, begun_ms);
      const other = others.find(({ run_id }) => !compared.has(run_id));
      if (other === undefined) return from_ms;
      compared.add(other.run_id);
      const redactor = this.#redactor(target.agent);
      const own = await ownPart(target, from_ms, { state, run_id: other.run_id, redactor });
      if (own === 'all') return other.run_id;
      if (own === null) continue;
      from_ms = own;
      begun_ms = (await headOf(target, from_ms)).started_ms;
    }
  }

  async #record(target: ImportTarget, id: NewId, since_ms: number | null): Promise<void> {
    const { state, index } = this.#parts;
    const transcript = new TranscriptWriter({ tmp: state.tmp });
    try {
      const outcome = await this.#journal(target, id, since_ms, transcript);
      saveTranscript(state, outcome, transcript);
      this.#store(index, outcome);
    } finally {
      transcript.close();
    }
  }

  async #journal(
    target: ImportTarget,
    id: NewId,
    since_ms: number | null,
    transcript: TranscriptWriter,
  ): Promise<RunOutcome> {
    const { agent, path } = target;
    const { run_id } = id;
    const { journal, progress } = this.#parts;
    const labels = { [IMPORTED_FILE_LABEL]: basename(path), ...id.labels };
    const { config } = await prepareRecord({ agent: agent.id, labels });
    const redactor = this.#redactor(agent);
    const fold = createOutcomeFold({ keepIo: false });
    const keep = (events: readonly Event[]) => {
      for (const event of events) {
        fold.push(event);
        transcript.push(event);
      }
    };
    const views = [{ name: 'the transcript', take: keep }];
    const recorder = createRecorder({ run_id, journal, redactor, views });
    let held: Event[] = [];
    let bytes = 0;
    for await (const events of runEvents(target, { run_id, config, redactor, since_ms })) {
      held = held.length === 0 ? events : [...held, ...events];
      if (held.length < BATCH_EVENTS) continue;
      bytes = Math.max(bytes, held.at(-1)?.raw?.offset ?? 0);
      progress?.(target, bytes);
      await recorder.take(held);
      held = [];
    }
    await recorder.take(held);
    if (recorder.failure !== null) throw refused(recorder.failure, path, run_id);
    // The next import of the file finds all of it in the journal, and makes these again.
    for (const { view, why } of recorder.failed) throw unmade(`${path}: ${view} failed: ${why}`);
    return fold.finish();
  }

  #store(index: Index, outcome: RunOutcome): void {
    index.saveOutcome(outcome);
    const { metrics, metadata } = outcome;
    this.#ledger.add(
      entryOf({
        ...outcome,
        started_ms: metrics.start_time_ms,
        finished_ms: metrics.end_time_ms,
        steps: metrics.steps,
        tool_calls: metrics.tool_calls_count,
        labels: metadata.labels,
      }),
    );
  }

  /** One per run: it counts what it replaced. */
  #redactor(agent: Agent): Redactor {
    const { env, redact } = this.#parts;
    return openRedactor({ env, redact, agents: [agent], hash: this.#hash });
  }
}

function silent({ agent, path }: ImportTarget, { session_id, problems }: Head): Found {
  if (problems === 0) return { state: 'empty', session_id, run_id: null };
  const why = `${path}: it holds nothing that ${agent.title} says in a session file (${problems} lines could not be read)`;
  return { state: 'failed', session_id, run_id: null, why };
}

const unmade = (text: string) => new TachoError('output_unwritable', text, { stage: 'import' });

/** An import that was cut off goes on where it stopped, unless another tacho or another environment made it. */
function refused(failure: Error, path: string, run_id: string): Error {
  if (failure instanceof TachoError) return failure;
  const say = `${path}: ${failure.message}; to import it anew: tacho runs rm ${run_id}, then import it by name`;
  return new TachoError('journal_failed', say, { stage: 'import', cause: failure });
}
