import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { call, transcript } from '../../../test/build-transcript.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { grade } from '../../../test/grade.ts';
import type { TranscriptCall } from '../../model/transcript.ts';
import { matchAnyOrder, matchInOrder } from './trajectory-match.ts';

const read = (file_path: string) => call('Read', { file_path });
const edit = call('Edit', { file_path: '/b' });
const bash = (command: string, more: Partial<TranscriptCall> = {}) =>
  call('Bash', { command }, more);

async function score(
  calls: TranscriptCall[],
  trajectory: Record<string, unknown>,
): Promise<[string, number]> {
  const result = await grade({ type: 'tool-trajectory', ...trajectory }, transcript(calls));
  return [result.verdict, result.score];
}

describe('tool-trajectory', () => {
  verifies('EV-4', 'in_order takes the best match, not the first', async () => {
    const calls = [read('/a'), read('/b'), edit];
    const expected = [{ tool: 'Read', args: { file_path: '/b' } }, { tool: 'Edit' }];
    expect(
      await grade({ type: 'tool-trajectory', mode: 'in_order', expected }, transcript(calls)),
    ).toEqual({
      type: 'tool-trajectory',
      name: 'tool-trajectory',
      verdict: 'pass',
      score: 1,
      reason: 'the calls are as expected',
      evidence: [
        { text: 'found: Read {"file_path":"/b"}: Read /b', passed: true, call_id: 'c2' },
        { text: 'found: Edit: Edit /b', passed: true, call_id: 'c3' },
      ],
      weight: 1,
      required: false,
    });
  });

  verifies('EV-4', 'in_order loses one step rather than two if the order is wrong', async () => {
    // First fit would take Edit for the first step and find nothing after it.
    const calls = [read('/a'), bash('x'), edit];
    const expected = [{ tool: 'Edit' }, { tool: 'Read' }, { tool: 'Bash' }];
    expect(await score(calls, { mode: 'in_order', expected })).toEqual(['fail', 2 / 3]);
  });

  const modes: [string, Record<string, unknown>, TranscriptCall[], string][] = [
    ['exact', { expected: [{ tool: 'Read' }, { tool: 'Edit' }] }, [read('/a'), edit], 'pass'],
    ['exact', { expected: [{ tool: 'Read' }] }, [read('/a'), edit], 'fail'],
    ['exact', { expected: [{ tool: 'Edit' }, { tool: 'Read' }] }, [read('/a'), edit], 'fail'],
    ['exact', { expected: [] }, [], 'pass'],
    ['exact', { expected: [] }, [edit], 'fail'],
    ['in_order', { expected: [{ tool: 'Read' }, { tool: 'Edit' }] }, [edit, read('/a')], 'fail'],
    ['any_order', { minimums: { Read: 2 } }, [read('/a'), edit, read('/b')], 'pass'],
    ['any_order', { minimums: { Read: 2 } }, [read('/a')], 'fail'],
    ['any_order', { minimums: { Read: 0 } }, [], 'pass'],
    ['any_order', { expected: [{ tool: 'Edit' }, { tool: 'Read' }] }, [read('/a'), edit], 'pass'],
    ['superset', { expected: [{ tool: 'Edit' }] }, [read('/a'), edit], 'pass'],
    ['superset', { expected: [{ tool: 'Read' }, { tool: 'Read' }] }, [read('/a'), edit], 'fail'],
    ['subset', { expected: [{ tool: 'Read' }] }, [read('/a'), read('/b')], 'pass'],
    ['subset', { expected: [{ tool: 'Read' }] }, [read('/a'), edit], 'fail'],
    ['subset', { expected: [{ tool: 'Read' }] }, [], 'pass'],
    ['subset', { expected: [] }, [edit], 'fail'],
  ];
  verifies('EV-4', 'each mode checks what its name says', async () => {
    for (const [mode, more, calls, want] of modes) {
      const [got] = await score(calls, { mode, ...more });
      expect({ mode, more, got }).toEqual({ mode, more, got: want });
    }
  });

  verifies('EV-4', 'superset gives a call to the step that needs it', async () => {
    const expected = [{ tool: 'Read' }, { tool: 'Read', args: { file_path: '/a' } }];
    expect(await score([read('/a'), read('/b')], { mode: 'superset', expected })).toEqual([
      'pass',
      1,
    ]);
  });

  const args = { command: 'ls', env: { A: '1' } };
  const input = { command: 'ls', env: { A: '1' }, native: true };
  const matches: [unknown, unknown, unknown, string][] = [
    [undefined, args, input, 'pass'],
    ['superset', args, input, 'pass'],
    ['superset', { env: {} }, input, 'pass'],
    ['superset', { other: 1 }, input, 'fail'],
    ['exact', args, input, 'fail'],
    ['exact', args, { env: { A: '1' }, command: 'ls' }, 'pass'],
    ['exact', { list: [1, 2] }, { list: [1, 2, 3] }, 'fail'],
    ['subset', args, { command: 'ls' }, 'pass'],
    ['subset', args, input, 'fail'],
    ['ignore', { command: 'rm' }, input, 'pass'],
    [['env.A'], { command: 'rm', env: { A: '1' } }, input, 'pass'],
    [['command'], { command: 'rm' }, input, 'fail'],
    [undefined, 'any', input, 'pass'],
    ['exact', args, 'a text', 'fail'],
    ['superset', { __proto__: null, constructor: 1 }, input, 'fail'],
  ];
  verifies('EV-4', 'arguments are compared as requested, for all steps or one', async () => {
    for (const [args_match, wanted, given, want] of matches) {
      const calls = [call('Bash', given)];
      const step = { tool: 'Bash', args: wanted };
      const how = args_match === undefined ? {} : { args_match };
      const [all] = await score(calls, { mode: 'exact', expected: [step], ...how });
      const [one] = await score(calls, { mode: 'exact', expected: [{ ...step, ...how }] });
      expect({ args_match, wanted, all, one }).toEqual({
        args_match,
        wanted,
        all: want,
        one: want,
      });
    }
  });

  verifies(
    'EV-4',
    "a step's time is limited, and one that is not known is not in time",
    async () => {
      const expected = [{ tool: 'Bash', max_duration_ms: 100 }];
      const took = (duration_ms: number | null) => [bash('x', { duration_ms })];
      expect(await score(took(100), { mode: 'in_order', expected })).toEqual(['pass', 1]);
      expect(await score(took(101), { mode: 'in_order', expected })).toEqual(['fail', 0.5]);
      expect(await score(took(null), { mode: 'exact', expected })).toEqual(['fail', 0.5]);
      const two = [...took(500), ...took(50)];
      expect(await score(two, { mode: 'in_order', expected })).toEqual(['pass', 1]);
      expect(await score(two, { mode: 'superset', expected })).toEqual(['pass', 1]);
    },
  );

  test('a step may require the status of its call', async () => {
    const expected = [{ tool: 'Bash', status: 'error' }];
    expect(await score([bash('x')], { mode: 'in_order', expected })).toEqual(['fail', 0]);
    const failed = [bash('x', { status: 'error' })];
    expect(await score(failed, { mode: 'in_order', expected })).toEqual(['pass', 1]);
  });

  test('too many calls and steps to compare do not pass', async () => {
    const calls = Array.from({ length: 3000 }, () => bash('x'));
    const expected = Array.from({ length: 3000 }, () => ({ tool: 'Bash' }));
    const result = await grade(
      { type: 'tool-trajectory', mode: 'exact', expected },
      transcript(calls),
    );
    expect(result).toMatchObject({ verdict: 'fail', broken: true });
  });
});

describe('matching', () => {
  const cases = fc.array(fc.array(fc.constantFrom(0, 0, 1, 2), { minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 4,
  });
  const width = (table: number[][]) => Math.min(...table.map((row) => row.length));
  const sides = (table: number[][], full: number) => ({
    steps: table,
    calls: Array.from({ length: width(table) }),
    points: (step: number, at: number) => table[step]![at]!,
    full: () => full,
  });
  const total = (table: number[][], found: Int32Array) =>
    [...found].reduce((sum, at, step) => sum + (at < 0 ? 0 : table[step]![at]!), 0);
  /** Tries every assignment. */
  function best(table: number[][], step: number, taken: number[], ordered: boolean): number {
    if (step === table.length) return 0;
    let most = best(table, step + 1, taken, ordered);
    for (let at = ordered ? (taken.at(-1) ?? -1) + 1 : 0; at < width(table); at++) {
      const own = table[step]![at]!;
      if (own > 0 && !taken.includes(at))
        most = Math.max(most, own + best(table, step + 1, [...taken, at], ordered));
    }
    return most;
  }

  test('in order, the result is the best assignment', () => {
    fc.assert(
      fc.property(cases, (table) => {
        const found = matchInOrder(sides(table, 2));
        const used = [...found].filter((at) => at >= 0);
        expect(used).toEqual([...new Set(used)].sort((a, b) => a - b));
        expect(total(table, found)).toBe(best(table, 0, [], true));
      }),
    );
  });

  test('in any order, the result has the most steps', () => {
    fc.assert(
      fc.property(cases, (table) => {
        const ones = table.map((row) => row.map((points) => Math.min(points, 1)));
        const found = matchAnyOrder(sides(ones, 1));
        const used = [...found].filter((at) => at >= 0);
        expect(new Set(used).size).toBe(used.length);
        expect(total(ones, found)).toBe(best(ones, 0, [], false));
      }),
    );
  });
});
