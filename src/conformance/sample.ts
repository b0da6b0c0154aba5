/**
 * Which messages a person looks at: one of a hundred, drawn by a hash of session and number, so that every machine and
 * every run draws the same. `mixed(fnv1a("<session_id>:<seq>")) % 100 === 0`; FNV-1a alone is not even enough for texts
 * that differ in their last digits only.
 */
import { fnv1a, mixed } from './hash.ts';

const SAMPLE_OF = 100;

export function isSampled(session_id: string, seq: number): boolean {
  return mixed(fnv1a(`${session_id}:${seq}`)) % SAMPLE_OF === 0;
}
