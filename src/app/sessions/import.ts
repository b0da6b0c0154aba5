/**
 * Session files → runs: through the same pipeline, redaction and journal as a live run. Contract: the same session in the
 * same state is one run, however often it is imported; memory is flat for any size; a file that cannot be read is reported
 * and does not keep the others from their turn.
 */
import { TachoError } from '../../lib/errors.ts';
import type { Agent } from '../../model/agent.ts';
import type { Redactor } from '../../redact/gate.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { freeDeleted } from '../../store/journal/free.ts';
import { openSecretHash, type SecretHash } from '../../store/journal/hash.ts';
import { type Journal, openJournal } from '../../store/journal/journal.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { lockStore, type StoreLockOptions } from '../../store/store-lock.ts';
import { openRedactor } from '../config/redaction.ts';
import { settleable } from '../runs/catch-up.ts';
import { settle } from '../runs/settle.ts';
import { ownPart } from './import-fork.ts';
import { Ledger } from './import-ledger.ts';
import { recordSession } from './import-record.ts';
import { digestOf, type Head, headOf, type SessionSource } from './import-source.ts';

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
    const { state, index, journal, progress } = this.#parts;
    const redactor = this.#redactor(agent);
    const report = (bytes: number) => progress?.(target, bytes);
    const into = { id, since_ms: own, state, journal, redactor, report };
    const outcome = await recordSession(target, into);
    index.saveOutcome(outcome);
    this.#ledger.record(outcome);
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
