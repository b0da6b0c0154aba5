/**
 * Selects the messages for human review: one in a hundred, by a hash of session and number, so that every machine and
 * every run selects the same ones: `mixed(fnv1a("<session_id>:<seq>")) % 100 === 0`. FNV-1a alone is not uniform enough
 * for texts that differ only in their last digits.
 */
import { fnv1a, mixed } from '../lib/hash.ts';

const SAMPLE_OF = 100;

export function isSampled(session_id: string, seq: number): boolean {
  return mixed(fnv1a(`${session_id}:${seq}`)) % SAMPLE_OF === 0;
}
