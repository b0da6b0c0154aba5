/** The chain over runs: adds the runs of the store, and compares both (ADR 0023). */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileError, TachoError } from '../../lib/errors.ts';
import type { ChainCheck } from '../../model/audit.ts';
import { CAPTURE_SOURCE } from '../../model/words.ts';
import {
  appendChain,
  type ChainEntry,
  type ChainHead,
  type ChainLink,
  readChain,
} from '../../store/chain/chain.ts';
import { type Index, openIndex } from '../../store/index/index-db.ts';
import { readSession } from '../../store/journal/read.ts';
import type { StateDir } from '../../store/state-dir.ts';

/** Links that are written together. */
const LINKS_TOGETHER = 500;

/** The latest entry of each run. */
const latestOf = (entries: readonly ChainEntry[]) =>
  new Map(entries.map((entry) => [entry.run_id, entry]));

/** The number of events of a run, without reading them. */
const eventsOf = (index: Index, run_id: string) =>
  index
    .getPositions(run_id)
    .filter(({ source }) => source === CAPTURE_SOURCE)
    .reduce((most, { last_seq }) => Math.max(most, last_seq), 0);

/** Of all events; `at` is called with the number and the hash of the events so far, after each one. */
async function digestOf(
  state: StateDir,
  index: Index,
  run_id: string,
  at: (events: number, sha256: () => string) => void = () => {},
) {
  const hash = createHash('sha256');
  let events = 0;
  for await (const { source, body } of readSession(state.journal, run_id, { index })) {
    if (source !== CAPTURE_SOURCE) continue;
    hash.update(body).update('\n');
    events += 1;
    at(events, () => hash.copy().digest('hex'));
  }
  return { events, sha256: hash.digest('hex') };
}

/** Runs that the chain does not have, or has with fewer events, in the order of their ids. */
function notChained(index: Index, latest: ReadonlyMap<string, ChainEntry>): string[] {
  return index
    .runIds()
    .filter((run_id) => {
      const entry = latest.get(run_id);
      return entry?.kind !== 'run' || entry.events !== eventsOf(index, run_id);
    })
    .sort();
}

/** Adds all runs that the chain lacks, and returns its head. Null if there are no runs. */
export async function chainHead(state: StateDir, at_ms: number): Promise<ChainHead | null> {
  using index = openIndex(state);
  const missing = notChained(index, latestOf(readChain(state)?.entries ?? []));
  let links: ChainLink[] = [];
  let head: ChainHead | null = null;
  for (const run_id of missing) {
    links.push({ kind: 'run', run_id, ...(await digestOf(state, index, run_id)) });
    if (links.length < LINKS_TOGETHER) continue;
    head = appendChain(state, links, at_ms);
    links = [];
  }
  if (links.length > 0) head = appendChain(state, links, at_ms);
  const last = readChain(state)?.entries.at(-1);
  return head ?? (last === undefined ? null : { entries: last.n, sha256: last.hash });
}

/** The entries of each run that are still valid: those since it was last removed or restored. */
function validOf(entries: readonly ChainEntry[]): Map<string, ChainEntry[]> {
  const valid = new Map<string, ChainEntry[]>();
  for (const entry of entries) {
    const before = valid.get(entry.run_id) ?? [];
    valid.set(entry.run_id, entry.kind === 'run' ? [...before, entry] : []);
  }
  return valid;
}

/** Compares the chain with the store, event by event. Null without a chain. */
export async function checkChain(state: StateDir): Promise<ChainCheck | null> {
  const chain = readChain(state);
  if (chain === null) return null;
  using index = openIndex(state);
  const latest = latestOf(chain.entries);
  const last = chain.entries.at(-1);
  const check: ChainCheck = {
    ...{ entries: chain.entries.length, sha256: last?.hash ?? null, runs: 0 },
    ...{ removed: [], not_chained: notChained(index, latest).length, faults: [...chain.faults] },
  };
  for (const { run_id, kind, at_ms } of latest.values())
    if (kind === 'removed') check.removed.push({ run_id, at_ms });
  for (const [run_id, entries] of validOf(chain.entries)) {
    if (entries.length === 0) continue;
    const fault = await faultOf(run_id, entries, state, index);
    if (fault === null) check.runs += 1;
    else check.faults.push(fault);
  }
  return check;
}

/** A run only grows, so it still begins with the events of each of its entries. */
async function faultOf(
  run_id: string,
  entries: readonly ChainEntry[],
  state: StateDir,
  index: Index,
): Promise<string | null> {
  const open = new Map(entries.map((entry) => [entry.n, entry]));
  const { events } = await digestOf(state, index, run_id, (count, sha256) => {
    for (const entry of open.values())
      if (entry.events === count && entry.sha256 === sha256()) open.delete(entry.n);
  });
  const [first] = open.values();
  if (first === undefined) return null;
  const { n, events: most } = first;
  if (events === 0)
    return `run ${run_id} is missing: entry ${n} has it with ${most} events, and no entry records its removal`;
  return events < (most ?? 0)
    ? `run ${run_id} has ${events} events; entry ${n} has it with ${most}`
    : `the events of run ${run_id} differ from those of entry ${n}`;
}

/** The result of comparing an earlier head with the chain. */
export interface HeadCheck {
  /** Whether the chain still contains the head. */
  ok: boolean;
  /** Number of the entry with this hash; null if there is none. */
  entry: number | null;
  /** Number of entries after it. */
  entries_since: number;
  /** Runs that tacho removed since then, as the chain records. */
  removed_since: string[];
  /** Why it is not ok. */
  faults: string[];
}

/** `given`: a hash, or a file with one, such as the output of `--head`. */
export function checkHead(state: StateDir, given: string): HeadCheck {
  const sha256 = hashIn(given);
  const chain = readChain(state);
  const at = chain?.entries.findIndex(({ hash }) => hash === sha256) ?? -1;
  const since = at < 0 ? [] : (chain?.entries.slice(at + 1) ?? []);
  const faults = [...(chain?.faults ?? [])];
  if (chain === null) faults.push(`${state.path} has no chain of runs`);
  else if (at < 0)
    faults.push('the chain does not contain this head: earlier entries were removed or changed');
  return {
    ok: faults.length === 0,
    entry: at < 0 ? null : at + 1,
    entries_since: since.length,
    removed_since: since.filter(({ kind }) => kind === 'removed').map(({ run_id }) => run_id),
    faults,
  };
}

const FILE_BYTES_MAX = 64 * 1024;

function hashIn(given: string): string {
  const hash = (text: string) =>
    /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/i.exec(text)?.[0].toLowerCase();
  const direct = /^[0-9a-f]{64}$/i.test(given) ? given.toLowerCase() : undefined;
  if (direct !== undefined) return direct;
  let text: string;
  try {
    text = readFileSync(given).subarray(0, FILE_BYTES_MAX).toString('utf8');
  } catch (cause) {
    throw fileError(cause, given, 'chain');
  }
  const found = hash(text);
  if (found === undefined)
    throw new TachoError('usage', `${given}: contains no hash of a chain`, { stage: 'chain' });
  return found;
}
