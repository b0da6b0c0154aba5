/** A group: the entries that one write and one sync make durable together. */
import { TachoError } from '../../lib/errors.ts';
import { CONFLICT } from '../index/catalogue.ts';
import type { Position } from '../index/position-index.ts';
import { STORE_LIMITS } from '../limits.ts';
import { type JournalEntry, LINE_EXTRA_BYTES, type SourceHead, writeLine } from './line.ts';
import type { SessionState, Source } from './session-state.ts';
import { sourceOf } from './session-state.ts';
import type { AppendResult } from './state.ts';

/** Lines of one source with ascending numbers. `offset`: position of the first one in the group. */
type Run = Omit<Position, 'segment'>;

export interface Group {
  bytes: Buffer;
  fill: number;
  /** Sources in the group, with the run of entries that was extended last. */
  touched: Map<Source, Run | null>;
  runs: Run[];
}

export function newGroup(bytes: Buffer): Group {
  return { bytes, fill: 0, touched: new Map(), runs: [] };
}

/** Adds an entry to the group. Null if it has to wait for the next one. */
export function place(group: Group, entry: JournalEntry, state: SessionState): AppendResult | null {
  const { session, seq, body } = entry;
  const source = sourceOf(state, session, entry.source);
  const { head } = source;
  if (!makeRoom(group, head, body)) return null;
  const line = writeLine(group.bytes, group.fill, { head, seq, body });
  const result = source.take(seq, line.crc);
  if (result === 'conflict') {
    placeConflict(group, source, entry);
    return result;
  }
  const run = group.touched.get(source);
  if (result !== 'stored') {
    if (run === undefined) group.touched.set(source, null);
    return result;
  }
  if (run?.last_seq === seq - 1) run.last_seq = seq;
  else
    group.touched.set(
      source,
      addRun(group, { session, source: source.id, offset: line.at, first_seq: seq, last_seq: seq }),
    );
  group.fill = line.end;
  return result;
}

function addRun({ runs }: Group, run: Run): Run {
  runs.push(run);
  return run;
}

/** Stores it next to the entry with the same number, once. */
function placeConflict(group: Group, source: Source, { seq, body }: JournalEntry): void {
  const { session, conflict_head: head } = source;
  const { at, crc, end } = writeLine(group.bytes, group.fill, { head, seq, body });
  if (!group.touched.has(source)) group.touched.set(source, null);
  if (!source.addConflict(seq, crc)) return;
  addRun(group, {
    session,
    source: CONFLICT + source.id,
    offset: at,
    first_seq: seq,
    last_seq: seq,
  });
  group.fill = end;
}

function makeRoom(group: Group, head: SourceHead, body: string | Buffer): boolean {
  const around = head.bytes + CONFLICT.length + LINE_EXTRA_BYTES;
  const room = group.bytes.length - group.fill - around;
  if (body.length * 3 <= room) return true;
  const needed = Buffer.byteLength(body);
  if (needed <= room) return true;
  if (group.fill > 0) return false;
  group.bytes = Buffer.allocUnsafe(needed + around);
  return true;
}

/**
 * Approximate bytes of an entry. Entries come from our own code: one that breaks the contract is a bug, not an
 * event.
 */
export function checkEntry({ session, source, seq, body }: JournalEntry): number {
  const ids = Math.max(session.length, source.length);
  if (ids > STORE_LIMITS.journal_id_chars_max) throw refusal('a session or source id is too long');
  if (source.startsWith(CONFLICT)) throw refusal(`a source may not begin with ${CONFLICT}`);
  if (!Number.isSafeInteger(seq) || seq < 1) throw refusal(`${seq} is not a valid entry number`);
  if (body.length === 0) throw refusal('an entry is empty');
  if (typeof body === 'string' ? body.includes('\n') : body.includes(0x0a))
    throw refusal('an entry contains a line feed');
  const size =
    body.length * 3 > STORE_LIMITS.entry_bytes_max ? Buffer.byteLength(body) : body.length;
  if (size > STORE_LIMITS.entry_bytes_max) throw refusal(`an entry has ${size} bytes: too many`);
  return size;
}

export function refusal(text: string): TachoError {
  return new TachoError('journal_failed', `journal: ${text}`, { stage: 'journal' });
}
