/**
 * Session files → runs: through the same pipeline, redaction and journal as a live run. Contract: the same session in
 * the same state is one run, however often it is imported. Memory is constant for any size. An unreadable file is
 * reported and does not affect the others.
 */
import { TachoError } from '../../lib/errors.ts';
import { collectEvery } from '../../lib/memory.ts';
import type { Agent, Memo } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { METADATA_ONLY_LABEL } from '../../model/words.ts';
import { createGate, type Gate, type Redactor } from '../../redact/gate.ts';
import { createCatalogue } from '../../store/index/catalogue.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import { openSecretHash, type SecretHash } from '../../store/journal/hash.ts';
import { type Journal, openJournal } from '../../store/journal/journal.ts';
import { newReport } from '../../store/journal/scan.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { lockStore, type StoreLockOptions, tryStoreLock } from '../../store/store-lock.ts';
import { openRedactor } from '../config/redaction.ts';
import { APP_LIMITS } from '../limits.ts';
import { priced } from '../prices/priced.ts';
import { settleable } from '../runs/catch-up.ts';
import type { NewId } from '../runs/import-id.ts';
import { settle } from '../runs/settle.ts';
import { removeTranscript } from '../runs/transcript-writer.ts';
import { metadataOnly } from '../watch/metadata-only.ts';
import { resumingSince } from './being-resumed.ts';
import type { GrowingRuns } from './growing-runs.ts';
import { ownPart } from './import-fork.ts';
import { type Entry, Ledger } from './import-ledger.ts';
import { type Into, type Recorded, recordSession } from './import-record.ts';
import { resumeSession } from './import-resume.ts';
import { type Head, headOf, identityOf } from './import-source.ts';
import type { Imported, ImportTarget, Privacy } from './imported.ts';
import { KnownFiles, type KnownSession } from './known-files.ts';
import { onlyGrew, readLess } from './part-places.ts';
import type { PartPlace } from './part-reader.ts';
import { mayPass } from './passing.ts';
import { partsOf, type SessionSource } from './session-source.ts';

export interface ImportOptions extends StoreLockOptions {
  state_dir: string;
  env: NodeJS.ProcessEnv;
  /** Patterns of secrets in addition to the known shapes. */
  redact: readonly string[];
  /** The contents found in the targets' folders. */
  memo?: Memo;
  /** A part of an import by several processes: the parent process has the store's lock, and frees deleted runs. */
  share?: boolean | undefined;
  /** Restrictions of what may be stored. Default: none. */
  privacy?: Privacy | undefined;
  /** Receives the new events of a run as they are stored. */
  observe?: ((target: ImportTarget, events: readonly Event[]) => void) | undefined;
  /** Runs that grow are kept open here. Default: none is. */
  growing?: GrowingRuns<ImportTarget> | undefined;
  /** Called before each session and each batch of its events, with the bytes of the main file recorded so far. */
  progress?: (target: ImportTarget, bytes: number) => void;
}

export async function* importSessions(
  targets: Iterable<ImportTarget>,
  options: ImportOptions,
): AsyncGenerator<Imported> {
  const state = openStateDir(options.state_dir);
  const release = options.share ? sharedLock(state) : await lockStore(state, options);
  const index = openIndex(state);
  let replaced = 0;
  try {
    if (!options.share) await prepare(state, index);
    try {
      for await (const imported of importLocked(targets, state, index, options)) {
        replaced += imported.replaced.length;
        yield imported;
      }
    } finally {
      if (replaced > 0 && !options.share) await freeDeleted(state, index);
    }
  } finally {
    index.close();
    release();
  }
}

/** The same into a store that is locked and prepared. Does not free replaced runs. */
export async function* importLocked(
  targets: Iterable<ImportTarget>,
  state: StateDir,
  index: Index,
  options: ImportOptions,
): AsyncGenerator<Imported> {
  const journal = openJournal(state.journal, { index });
  collectEvery(APP_LIMITS.import_collect_bytes);
  let importer: Importer | null = null;
  try {
    importer = new Importer({ ...options, state, index, journal });
    for (const target of targets) yield await importer.take(target);
  } finally {
    await journal.close();
    importer?.close();
  }
}

/** Decisions about known sessions need all runs, and the whole journal. */
export async function prepare(state: StateDir, index: Index): Promise<void> {
  const segments = settleable(state, index);
  if (segments.size > 0) await settle(state, index, segments);
  else await createCatalogue(state.journal, index).refresh(newReport());
}

/** The parent process holds the lock. */
function sharedLock(state: StateDir): () => void {
  const free = tryStoreLock(state);
  if (free === null) return () => undefined;
  free();
  const text = '--share is only for tacho import --jobs';
  throw new TachoError('usage', text, { stage: 'request' });
}

export interface ImporterParts extends Omit<ImportOptions, 'state_dir'> {
  state: StateDir;
  index: Index;
  journal: Journal;
}

type Found = Pick<Imported, 'state' | 'session_id' | 'run_id'> &
  Partial<Imported> & { places?: Map<string, PartPlace>; rewritten?: boolean; torn?: boolean };

const METADATA_ONLY = { [METADATA_ONLY_LABEL]: 'true' };

/** States in which the run has all of the session. */
const HAS_ALL = new Set<Imported['state']>(['imported', 'grown', 'known']);

/** Imports one session after the other into a store that is locked and prepared. */
export class Importer {
  readonly #parts: ImporterParts;
  readonly #ledger: Ledger;
  readonly #hash: SecretHash;
  readonly #files: KnownFiles;
  readonly #memo: Memo;

  constructor(parts: ImporterParts) {
    this.#parts = parts;
    this.#ledger = new Ledger(parts.state, parts.index);
    this.#hash = openSecretHash(parts.state);
    this.#memo = parts.memo ?? new Map();
    let redactor: Redactor | null = null;
    this.#files = new KnownFiles(parts.index, (text) => {
      redactor ??= this.#redactor();
      return redactor.text(text) === text;
    });
  }

  /** Stores the facts about the files that were read. */
  close(): void {
    this.#files.flush();
  }

  async take(target: ImportTarget): Promise<Imported> {
    const { agent, path } = target;
    const empty = { started_ms: null, prompt: null, project: null, replaced: [], why: null };
    const nothing = { agent: agent.id, path, ...empty };
    this.#parts.progress?.(target, 0);
    try {
      const source = { agent, path, ...(await partsOf(agent, path, this.#memo)) };
      const known = this.#files.of(source, target.stamp);
      const read = await this.#import(target, source, known);
      const { places, rewritten = false, torn = false, ...found } = read;
      const { run_id } = found;
      const whole = run_id !== null && HAS_ALL.has(found.state);
      known.keep(whole ? { run_id, rewritten, torn, ...(places && { places }) } : null);
      return { ...nothing, ...found };
    } catch (error) {
      // Failures of the state folder end the import; those of a session do not.
      if (!(error instanceof TachoError) || !['read', 'import'].includes(error.stage)) throw error;
      const why = error.message;
      const failed = { ...nothing, state: 'failed', session_id: null, run_id: null, why } as const;
      return mayPass(error) ? { ...failed, may_pass: true } : failed;
    }
  }

  async #import(target: ImportTarget, source: SessionSource, known: KnownSession): Promise<Found> {
    const { agent, by_name } = target;
    const whole = await known.head(null);
    if (!whole.speaks) return silent(target, whole);
    const { session_id, cwd } = whole;
    const { privacy } = this.#parts;
    if (!by_name && privacy?.includes({ session_file: source.path, cwd }) === false)
      return { state: 'excluded', session_id, run_id: null };
    const sha256 = await identityOf(source, whole);
    const same = this.#ledger.imported(agent.id, sha256);
    const resumed_ms = same === null ? null : this.#resumedAt(agent, same);
    if (same !== null) {
      const grown = await this.#grow(target, source, known, { ...same, until_ms: resumed_ms });
      // Turns after a run that tacho recorded itself are a run of their own.
      const next = resumed_ms === null ? null : this.#ledger.recorded(agent.id, session_id);
      if (next === null || next.started_ms < (resumed_ms ?? 0)) return grown;
      if (!(await known.head(next.finished_ms + 1)).speaks) return grown;
    }
    const recorded = this.#ledger.recorded(agent.id, session_id);
    const since_ms = recorded === null ? null : recorded.finished_ms + 1;
    const head = since_ms === null ? whole : await known.head(since_ms);
    if (recorded !== null && !head.speaks) {
      const replaced = this.#ledger.settle(agent.id, session_id);
      return { state: 'recorded', session_id, run_id: recorded.run_id, replaced };
    }
    const own = await this.#ownPart(source, head, since_ms);
    if (typeof own === 'string') return { state: 'shared', session_id, run_id: own };
    const { started_ms } = same === null ? whole : head;
    const id = this.#ledger.newId({ agent: agent.id, sha256 }, started_ms, by_name);
    if (id === null) return { state: 'deleted', session_id, run_id: null };
    const into = this.#into(target, id, { since_ms: own, until_ms: null });
    const { index, journal, state } = this.#parts;
    const begun = index.getPositions(id.run_id).length > 0;
    // The journal had no entry of it when the store was locked: nothing is looked up for it.
    if (!begun) journal.begin(id.run_id);
    const recording = begun
      ? resumeSession(source, {
          ...{ ...into, state, index, rewritten: true, same_files: false, waits: false },
          isLess: () => false,
        })
      : recordSession(source, into);
    return this.#stored(await recording, 'imported');
  }

  /** A session that has a run: what the run does not have is added to it. */
  async #grow(
    target: ImportTarget,
    source: SessionSource,
    known: KnownSession,
    { run_id, session_id, started_ms, labels, until_ms }: Entry & { until_ms: number | null },
  ): Promise<Found> {
    const { agent } = source;
    if (known.run_id === run_id) {
      const replaced = this.#ledger.settle(agent.id, session_id);
      return this.#settled({ state: 'known', session_id, run_id, replaced });
    }
    const places = known.placesIn(run_id);
    const { index, state } = this.#parts;
    const recorded = this.#ledger.recordedBefore(agent.id, session_id, started_ms);
    const whole = await known.head(null);
    // The run of a fork begins after the part that the session copied from another one.
    const own_ms = started_ms > whole.started_ms ? started_ms : null;
    const since_ms = recorded === null ? own_ms : recorded.finished_ms + 1;
    const into = this.#into(target, { run_id, labels }, { since_ms, until_ms });
    const rewritten = !(await onlyGrew(source, places));
    const { growing } = this.#parts;
    const kept = growing?.take(run_id) ?? null;
    const same_files = known.isOf(run_id);
    const isLess = (read: ReadonlyMap<string, PartPlace>) => readLess(read, places, source.path);
    const relation = { rewritten, same_files, isLess, waits: growing !== undefined };
    const resumed =
      kept?.path !== source.path || rewritten || !isSameTime(kept, into)
        ? await resumeSession(source, { ...into, state, index, ...relation })
        : await kept.grow(source);
    const { open, grew } = resumed;
    const stored = await this.#stored(resumed, grew ? 'grown' : 'known');
    if (open !== null && stored.run_id === run_id) growing?.keep(run_id, open, target);
    const torn = growing !== undefined && open?.torn === true;
    return { ...stored, rewritten: resumed.rewritten, torn };
  }

  /** When tacho itself recorded a later part of the session, or does so now. Null: it did not. */
  #resumedAt({ id }: Agent, { session_id, started_ms }: Entry): number | null {
    const after = this.#ledger.recordedAfter(id, session_id, started_ms)?.started_ms ?? null;
    return after ?? resumingSince(this.#parts.state, id, session_id);
  }

  #into(
    target: ImportTarget,
    id: NewId,
    { since_ms, until_ms }: Pick<Into, 'since_ms' | 'until_ms'>,
  ): Into {
    const { journal, progress, observe } = this.#parts;
    return {
      id: this.#metadataOnly ? { ...id, labels: { ...id.labels, ...METADATA_ONLY } } : id,
      ...{ since_ms, until_ms },
      journal,
      redactor: (byte_text) => this.#redactor(target.agent, byte_text),
      gate: (redactor) => this.#gate(redactor),
      bytes: !this.#metadataOnly,
      report: (bytes) => progress?.(target, bytes),
      ...(observe && { observe: (events: readonly Event[]) => observe(target, events) }),
    };
  }

  async #stored(recorded: Recorded, state: 'imported' | 'grown' | 'known'): Promise<Found> {
    const { places, events } = recorded;
    const run = await priced(recorded.run);
    const { outcome } = run;
    const { agent, session_id, run_id, metrics, metadata } = outcome;
    const replaced = this.#ledger.settle(agent, session_id, { run, events });
    const recent = Date.now() - recorded.evidence.last_ms < APP_LIMITS.unfinished_age_ms;
    this.#parts.index.saveEvidence(run_id, recent ? recorded.evidence : null);
    if (state === 'grown') removeTranscript(this.#parts.state, agent, run_id);
    if (state === 'known') return this.#settled({ state, session_id, run_id, places, replaced });
    const { start_time_ms: started_ms } = metrics;
    const { initial_prompt: prompt } = metadata;
    const project = metadata.project?.path ?? null;
    return this.#settled({
      state,
      session_id,
      run_id,
      places,
      started_ms,
      prompt,
      project,
      replaced,
    });
  }

  /** The run itself can be among the replaced ones. */
  #settled(found: Found & { replaced: string[] }): Found {
    const { session_id, run_id, replaced } = found;
    if (run_id === null || !replaced.includes(run_id)) return found;
    return { state: 'older', session_id, run_id: null, replaced: [] };
  }

  /**
   * The time from which the session is its own, after the part shared by forks, or the id of the run that has all of
   * it.
   */
  async #ownPart(
    source: SessionSource,
    head: Head,
    since_ms: number | null,
  ): Promise<number | null | string> {
    const { state, index } = this.#parts;
    let [from_ms, begun_ms] = [since_ms, head.started_ms];
    const compared = new Set<string>();
    for (;;) {
      const others = this.#ledger.begunAt(source.agent.id, head.session_id, begun_ms);
      const other = others.find(({ run_id }) => !compared.has(run_id));
      if (other === undefined) return from_ms;
      compared.add(other.run_id);
      const gate = this.#gate(this.#redactor(source.agent));
      const own = await ownPart(source, from_ms, { state, index, run_id: other.run_id, gate });
      if (own === 'all') return other.run_id;
      if (own === null) continue;
      from_ms = own;
      begun_ms = (await headOf(source, from_ms)).started_ms;
    }
  }

  get #metadataOnly(): boolean {
    return this.#parts.privacy?.metadata_only === true;
  }

  #gate(redactor: Redactor): Gate {
    const gate = createGate(redactor);
    if (!this.#metadataOnly) return gate;
    const mark = (text: string) => this.#hash(text);
    return { ...gate, event: (event) => metadataOnly(gate.event(event) as Event, mark) as never };
  }

  /** One per run: it counts its replacements. */
  #redactor(agent?: Agent, byte_text = false): Redactor {
    const { env, redact } = this.#parts;
    return openRedactor({ env, redact, agents: agent ? [agent] : [], hash: this.#hash, byte_text });
  }
}

/** Whether two readings of a session are about the same part of it. */
const isSameTime = (a: Pick<Into, 'since_ms' | 'until_ms'>, b: typeof a) =>
  a.since_ms === b.since_ms && a.until_ms === b.until_ms;

function silent({ agent, path }: ImportTarget, { session_id, problems }: Head): Found {
  if (problems === 0) return { state: 'empty', session_id, run_id: null };
  const why = `${path}: it is not a session file of ${agent.title} (${problems} lines could not be read)`;
  return { state: 'failed', session_id, run_id: null, why };
}
