/**
 * The chain over runs: an append-only list of runs and removals, in which every line contains the hash of the line before
 * it (ADR 0023). Contract: with a hash of an earlier line, anyone can show that no run before it was removed or
 * changed unnoticed. Without such a hash the list proves nothing: its file can be written again as a whole.
 */
import { createHash } from 'node:crypto';
import { existsSync, fstatSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, fileError, TachoError, withPath } from '../../lib/errors.ts';
import { isRunId } from '../../lib/ids.ts';
import { jsonIn } from '../../lib/json.ts';
import { isMap } from '../../lib/own.ts';
import { withFd } from '../../lib/with-fd.ts';
import { appendDurably, openRead, readPrivate, sleepSync, syncFolder } from '../files.ts';
import { STORE_LIMITS } from '../limits.ts';
import { heldError, takeLock } from '../lock.ts';
import type { StateDir } from '../state-dir.ts';

const STAGE = 'chain';
const CHAIN_KINDS = ['run', 'removed', 'restored'] as const;

/** A line of the chain without its place. */
export interface ChainLink {
  /** run: the events of a run at this time; removed and restored: by a command. */
  kind: (typeof CHAIN_KINDS)[number];
  run_id: string;
  /** Number of events, and SHA-256 of their journal entries, one line each; null unless `kind` is `run`. */
  events: number | null;
  sha256: string | null;
}

export interface ChainEntry extends ChainLink {
  /** From 1. */
  n: number;
  at_ms: number;
  /** The hash of the line before; of the first line, 64 zeros. */
  prev: string;
  /** The hash of this line. */
  hash: string;
}

/** The last line of a chain: its number and hash. */
export interface ChainHead {
  /** Number of entries. */
  entries: number;
  /** Hash of the last entry. */
  sha256: string;
}

const FIRST = '0'.repeat(64);
/** Far longer than a line. */
const TAIL_BYTES = 4_096;

const chainAt = (state: StateDir) => join(state.path, 'chain.jsonl');
const hashOf = (line: string) => createHash('sha256').update(line).digest('hex');

/** Whether the store has a chain. Without one, nothing is recorded in it. */
export const hasChain = (state: StateDir): boolean => existsSync(chainAt(state));

const HASH = /^[0-9a-f]{64}$/;

function entryIn(line: string): ChainEntry | null {
  const value = jsonIn(line);
  if (!isMap(value)) return null;
  const { n, prev, kind, run_id, events, sha256, at_ms } = value as unknown as ChainEntry;
  const known = CHAIN_KINDS.includes(kind) && typeof run_id === 'string' && isRunId(run_id);
  if (!known || !Number.isSafeInteger(n) || !Number.isSafeInteger(at_ms)) return null;
  if (typeof prev !== 'string' || !HASH.test(prev)) return null;
  const counted = Number.isSafeInteger(events) && typeof sha256 === 'string' && HASH.test(sha256);
  if (kind === 'run' && !counted) return null;
  return { n, prev, kind, run_id, events, sha256, at_ms, hash: hashOf(line) };
}

/** Adds links durably, and creates the chain if it is missing. Other processes wait. Returns the new head. */
export function appendChain(
  state: StateDir,
  links: readonly ChainLink[],
  at_ms: number,
): ChainHead | null {
  const path = chainAt(state);
  const release = lockChain(path);
  try {
    return withPath(path, STAGE, () => {
      const { last, torn } = lastOf(path);
      let head = last;
      // The leading LF ends a line that a killed process left torn.
      let text = torn ? '\n' : '';
      for (const { kind, run_id, events, sha256 } of links) {
        const n: number = (head?.entries ?? 0) + 1;
        const prev: string = head?.sha256 ?? FIRST;
        const line = JSON.stringify({ n, prev, kind, run_id, events, sha256, at_ms });
        text += `${line}\n`;
        head = { entries: n, sha256: hashOf(line) };
      }
      if (links.length > 0) appendDurably(path, text);
      if (last === null) syncFolder(state.path);
      return head;
    });
  } finally {
    release();
  }
}

function lockChain(path: string): () => void {
  const until = performance.now() + STORE_LIMITS.lock_wait_ms;
  for (;;) {
    const release = takeLock(`${path}.lock`);
    if (release !== null) return release;
    if (performance.now() >= until) throw heldError(`${path}.lock`, 'the chain of runs', STAGE);
    sleepSync(STORE_LIMITS.lock_poll_ms);
  }
}

/** The last complete entry. `torn`: something follows it. */
function lastOf(path: string): { last: ChainHead | null; torn: boolean } {
  if (!existsSync(path)) return { last: null, torn: false };
  const { text, whole } = withFd(openRead(path), (fd) => {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return { text: bytes.toString('utf8'), whole: bytes.length === size };
  });
  const torn = text !== '' && !text.endsWith('\n');
  const lines = text.split('\n').slice(0, -1);
  const candidates = (whole ? lines : lines.slice(1)).toReversed();
  for (const line of candidates) {
    const entry = entryIn(line);
    if (entry !== null) return { last: { entries: entry.n, sha256: entry.hash }, torn };
  }
  if (whole && !candidates.some((line) => line !== '')) return { last: null, torn };
  throw new TachoError(
    'state_unusable',
    `${path}: has no valid entry at its end: move it away to begin a new chain`,
    { stage: STAGE },
  );
}

export interface ChainRead {
  entries: ChainEntry[];
  /** Breaks of the chain, for people. */
  faults: string[];
  /** Lines that are not entries, such as those of a killed process. */
  torn: number;
}

/** The whole chain, with every hash checked. Null if there is none. */
export function readChain(state: StateDir): ChainRead | null {
  const path = chainAt(state);
  let text: string;
  try {
    text = readPrivate(path).toString('utf8');
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return null;
    throw fileError(cause, path, STAGE);
  }
  const read: ChainRead = { entries: [], faults: [], torn: 0 };
  let [n, prev] = [0, FIRST];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const entry = entryIn(line);
    if (entry === null) {
      read.torn += 1;
      continue;
    }
    if (entry.prev !== prev || entry.n !== n + 1)
      read.faults.push(
        `the chain is broken before entry ${entry.n}: entries were removed, changed or added`,
      );
    [n, prev] = [entry.n, entry.hash];
    read.entries.push(entry);
  }
  return read;
}
