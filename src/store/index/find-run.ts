/** Finds runs by the names that people use. */
import { wellFormed } from '../../lib/utf8.ts';
import { IN_ORDER } from './index-schema.ts';
import type { Prepared } from './prepared.ts';

/** A run that a name may refer to. */
export interface Candidate {
  run_id: string;
  agent: string;
  started_ms: number | null;
  /** Its beginning only. */
  prompt: string | null;
}

/** The most candidates returned for an ambiguous name. */
const CANDIDATES_MAX = 6;

const SELECT = 'SELECT run_id, agent, started_ms, prompt FROM runs';
const LAST = `${SELECT} ${IN_ORDER} LIMIT 1 OFFSET ?`;
const WHOLE = `${SELECT} WHERE run_id = ? OR session_id = ? ${IN_ORDER} LIMIT ${CANDIDATES_MAX}`;
/** Every text that begins with P is at least P and less than P followed by this. */
const AFTER = '\u{10ffff}';
const BEGINNING = `${SELECT} WHERE run_id >= ? AND run_id < ?
  UNION ${SELECT} WHERE session_id >= ? AND session_id < ? ${IN_ORDER} LIMIT ${CANDIDATES_MAX}`;

/**
 * `last`, `last~N` (N runs before the last), a run id, a session id, or a prefix of either; a run id with or without
 * `r_`. A complete id takes precedence over a prefix. Several results mean that the name is ambiguous.
 */
export function findRuns(prepared: Prepared, given: string): Candidate[] {
  const all = (sql: string, ...values: (string | number)[]) =>
    prepared.all(sql, ...values) as unknown[] as Candidate[];
  const last = /^last(?:~(\d{1,9}))?$/.exec(given);
  if (last !== null) return all(LAST, Number(last[1] ?? 0));
  if (given === '') return [];
  const name = wellFormed(given);
  const run_id = name.startsWith('r_') ? name : `r_${name}`;
  const whole = all(WHOLE, run_id, name);
  return whole.length > 0 ? whole : all(BEGINNING, run_id, run_id + AFTER, name, name + AFTER);
}
