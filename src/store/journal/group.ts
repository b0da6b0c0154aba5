/** A group: the entries that one write and one sync make durable together. */
import { TachoError } from '../../lib/errors.ts';
import { CONFLICT } from '../index/catalogue.ts';
import { STORE_LIMITS } from '../limits.ts';
import { headText, type JournalEntry, LINE_EXTRA_BYTES, writeLine } from './line.ts';
import { type SessionState, sourceOf } from './session-state.ts';
import type { AppendResult, SourceState } from './state.ts';

export interface Group {
  bytes: Buffer;
  fill: number;
  /** Sources that took something, with their sessions. */
  touched: Map<SourceState, string>;
  /** What stands in the bytes, and where. */
  lines: { session: string; source: string; seq: number; at: number }[];
}

export function newGroup(bytes: Buffer): Group {
  return { bytes, fill: 0, touched: new Map(), lines: [] };
}

/** Adds an entry to the group; null when it has to wait for the next one. */
export function place(group: Group, entry: JournalEntry, state: SessionState): AppendResult | null {
  const { session, seq, body } = entry;
  const head = headText(session, entry.source, seq);
  if (!makeRoom(group, head, body)) return null;
  const known = sourceOf(state, entry.source);
  group.touched.set(known, session);
  let line = writeLine(group.bytes, group.fill, head, body);
  let source = entry.source;
  const result = known.take(seq, line.crc);
  if (result === 'conflict') {
    source = CONFLICT + source;
    line = writeLine(group.bytes, group.fill, headText(session, source, seq), body);
    if (!known.addConflict(seq, line.crc)) return result;
  } else if (result !== 'stored') {
    return result;
  }
  group.fill = line.end;
  group.lines.push({ session, source, seq, at: line.at });
  return result;
}

function makeRoom(group: Group, head: string, body: string | Buffer): boolean {
  const around = head.length * 3 + CONFLICT.length + LINE_EXTRA_BYTES;
  const room = group.bytes.length - group.fill - around;
  if (body.length * 3 <= room) return true;
  const needed = Buffer.byteLength(body);
  if (needed <= room) return true;
  if (group.fill > 0) return false;
  group.bytes = Buffer.allocUnsafe(needed + around);
  return true;
}

/** Bytes of the entries, roughly. They come from our own code: one that breaks the contract is a fault, not an event. */
export function checkEntries(entries: readonly JournalEntry[]): number {
  let bytes = 0;
  for (const { session, source, seq, body } of entries) {
    const ids = Math.max(session.length, source.length);
    if (ids > STORE_LIMITS.journal_id_chars_max)
      throw refusal('a session or source id is too long');
    if (source.startsWith(CONFLICT)) throw refusal(`a source may not begin with ${CONFLICT}`);
    if (!Number.isSafeInteger(seq) || seq < 1) throw refusal(`${seq} is no number of an entry`);
    if (body.length === 0) throw refusal('an entry is empty');
    if (body.includes('\n')) throw refusal('an entry holds a line feed');
    const size =
      body.length * 3 > STORE_LIMITS.entry_bytes_max ? Buffer.byteLength(body) : body.length;
    if (size > STORE_LIMITS.entry_bytes_max) throw refusal(`an entry has ${size} bytes: too many`);
    bytes += size;
  }
  return bytes;
}

export function refusal(text: string): TachoError {
  return new TachoError('journal_failed', `journal: ${text}`, { stage: 'journal' });
}
