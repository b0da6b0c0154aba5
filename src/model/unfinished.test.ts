/** States of unfinished runs: one case per rule, and each boundary. */
import { expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { type Evidence, type ProcessEvidence, stateOf } from './unfinished.ts';

const NOW = 1_800_000_000_000;
const ALIVE: ProcessEvidence = { is: 'alive', what: 'claude (process 7) runs' };
const GONE: ProcessEvidence = { is: 'gone', what: 'no claude runs in /p' };
const UNKNOWN: ProcessEvidence = { is: 'unknown' };

const at = (ago_s: number, more: Partial<Evidence> = {}): Evidence => ({
  last_ms: NOW - ago_s * 1000,
  ended: false,
  call: null,
  asked: null,
  cwd: '/p',
  ...more,
});
const CALL = { call: { tool: 'Bash', since_ms: NOW - 400_000 } };
const ASKED = { asked: { tool: 'Bash', since_ms: NOW - 90_000 } };

const CASES: readonly [string, Evidence, ProcessEvidence, string | null][] = [
  ['a record within a minute', at(59), UNKNOWN, 'working'],
  ['the same, and no process is found', at(59), GONE, 'working'],
  ['an open call of a running process', at(299, CALL), ALIVE, 'working'],
  ['an open call, process unknown', at(299, CALL), UNKNOWN, 'unknown'],
  ['an open call and nothing for 5 minutes', at(300, CALL), ALIVE, 'stuck'],
  ['the same, process unknown', at(300, CALL), UNKNOWN, 'stuck'],
  ['an open call of a process that is gone', at(61, CALL), GONE, 'gone'],
  ['no call, nothing for a minute', at(61), ALIVE, 'unknown'],
  ['a turn that ended', at(5, { ended: true }), UNKNOWN, 'waiting'],
  ['a turn that ended long ago, in a running process', at(9000, { ended: true }), ALIVE, 'waiting'],
  ['a turn that ended, and the process too', at(5, { ended: true }), GONE, null],
  ['a requested permission', at(90, { ...CALL, ...ASKED }), ALIVE, 'waiting'],
  ['the same, but the process is gone', at(90, { ...CALL, ...ASKED }), GONE, 'gone'],
];

for (const [title, evidence, process, state] of CASES)
  verifies('WA-9', `${title}: ${state ?? 'finished'}`, () => {
    expect(stateOf(evidence, process, NOW)?.state ?? null).toBe(state);
  });

verifies('WA-9', 'each state has a reason and a time', () => {
  expect(stateOf(at(400, CALL), ALIVE, NOW)).toEqual({
    state: 'stuck',
    reason:
      'Bash has no result, and nothing was written for over 5 minutes; claude (process 7) runs',
    since_ms: NOW - 400_000,
  });
});
