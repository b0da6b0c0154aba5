/** Provider failures use the same words for every agent: checked over all recordings. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allAgents } from '../../src/agents/registry.ts';
import { PROVIDER_FAILURE_KINDS } from '../../src/model/words.ts';
import { kindsOf, recordingsIn, wholeRun } from '../test-agent.ts';

interface Failure {
  where: string;
  kind: string | null;
  status: number | null;
  /** Undefined for a retry, which does not say. */
  retryable?: boolean | null;
}

const failures: Failure[] = [];
for (const agent of await allAgents()) {
  for (const recording of recordingsIn(
    join(import.meta.dirname, '../../src/agents', agent.id, 'testdata'),
  )) {
    const events = await wholeRun(agent, recording);
    const where = `${agent.id} ${recording.scenario} ${recording.channel}`;
    for (const kind of ['provider_failed', 'provider_retried'] as const)
      for (const { data } of kindsOf(events, kind)) failures.push({ where, ...data });
  }
}

const KINDS: readonly (string | null)[] = PROVIDER_FAILURE_KINDS;

test('every failure and every retry in every recording has a known kind', () => {
  expect(failures.filter(({ kind }) => !KINDS.includes(kind))).toEqual([]);
  expect(new Set(failures.map(({ where }) => where.split(' ')[0])).size).toBeGreaterThan(5);
});

test('the same HTTP status gives the same kind and retryability for all agents', () => {
  const by_status = Map.groupBy(failures, ({ status }) => status);
  by_status.delete(null);
  for (const [status, same] of by_status) {
    const kinds = new Set(same.map(({ kind }) => kind));
    expect({ status, kinds: [...kinds] }).toEqual({ status, kinds: [same[0]?.kind] });
    const failed = same.filter(({ retryable }) => retryable !== undefined);
    const retryable = new Set(failed.map((one) => one.retryable));
    expect({ status, retryable: retryable.size }).toEqual({
      status,
      retryable: failed.length && 1,
    });
  }
  expect(by_status.size).toBeGreaterThan(3);
});
