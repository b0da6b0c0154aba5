import { describe, expect, test } from 'vitest';
import { call, transcript } from '../../../test/build-transcript.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { grade, gradeAll } from '../../../test/grade.ts';
import { gradeOfJudgement } from './llm-grader.ts';

const USED = transcript([call('Read'), call('Grep'), call('Edit')]);
const UNKNOWN = transcript([], {
  cost_usd: null,
  duration_ms: null,
  token_usage: { input: null, output: 20, cache_read: null, cache_write: null, reasoning: null },
});

describe('figures', () => {
  const limits: [Record<string, unknown>, string][] = [
    [{ type: 'execution-metrics', max_tool_calls: 3 }, 'pass'],
    [{ type: 'execution-metrics', max_tool_calls: 2 }, 'fail'],
    [{ type: 'execution-metrics', max_steps: 2, max_tokens: 125, max_cost_usd: 0.02 }, 'pass'],
    [{ type: 'execution-metrics', max_tokens: 124 }, 'fail'],
    [{ type: 'execution_metrics', maxDurationMs: 1999 }, 'fail'],
    [{ type: 'execution-metrics', max_steps: 1 }, 'fail'],
    [{ type: 'execution-metrics', target_exploration_ratio: 0.6 }, 'pass'],
    [{ type: 'execution-metrics', target_exploration_ratio: 0.2 }, 'fail'],
    [{ type: 'cost', budget: 0.02 }, 'pass'],
    [{ type: 'cost', max_usd: 0.019 }, 'fail'],
    [{ type: 'latency', threshold: 2000 }, 'pass'],
    [{ type: 'latency', max_ms: 1999 }, 'fail'],
    [{ type: 'token-usage', max_total: 125, max_input: 100, max_output: 20 }, 'pass'],
    [{ type: 'token_usage', max_output: 19 }, 'fail'],
  ];
  verifies('EV-5', 'a limit is either met or not', async () => {
    for (const [assertion, want] of limits) {
      const { verdict } = await grade(assertion, USED);
      expect({ assertion, verdict }).toEqual({ assertion, verdict: want });
    }
  });

  verifies('EV-5', 'an unknown figure fails and is named, however many others pass', async () => {
    const assertion = {
      type: 'execution-metrics',
      max_tool_calls: 9,
      max_steps: 9,
      max_duration_ms: 9,
      max_cost_usd: 9,
      max_tokens: 9,
    };
    expect(await grade(assertion, UNKNOWN)).toMatchObject({
      verdict: 'fail',
      score: 0,
      reason:
        'tokens: not known, limit 9; cost: not known, limit $9.00; duration: not known, limit 9ms',
    });
    for (const one of [
      { type: 'cost', budget: 1 },
      { type: 'latency', threshold: 1 },
      { type: 'token-usage', max_input: 1 },
      { type: 'token-usage', max_total: 1 },
    ]) {
      const { verdict, reason } = await grade(one, UNKNOWN);
      expect({ one, verdict, known: !reason.includes('not known') }).toEqual({
        one,
        verdict: 'fail',
        known: false,
      });
      const negated = await grade({ ...one, negate: true }, UNKNOWN);
      expect({ one, verdict: negated.verdict, score: negated.score }).toEqual({
        one,
        verdict: 'fail',
        score: 0,
      });
    }
  });
});

describe('text', () => {
  const said = (final_output: string) => transcript([], { final_output });
  const rules: [Record<string, unknown>, string, string][] = [
    [{ type: 'contains', value: 'lo W' }, 'Hello World', 'pass'],
    [{ type: 'contains', value: 'lo w' }, 'Hello World', 'fail'],
    [{ type: 'contains', value: 42 }, 'it is 42', 'pass'],
    [{ type: 'contains-any', value: ['x', 'World'] }, 'Hello World', 'pass'],
    [{ type: 'contains_all', value: ['Hello', 'World'] }, 'Hello World', 'pass'],
    [{ type: 'contains-all', value: ['Hello', 'x'] }, 'Hello World', 'fail'],
    [{ type: 'icontains', value: 'WORLD' }, 'Hello World', 'pass'],
    [{ type: 'icontains-any', value: ['x', 'hELLO'] }, 'Hello World', 'pass'],
    [{ type: 'icontains-all', value: ['HELLO', 'x'] }, 'Hello World', 'fail'],
    [{ type: 'starts-with', value: 'Hello' }, '  Hello', 'pass'],
    [{ type: 'ends-with', value: 'World' }, 'Hello World\n', 'pass'],
    [{ type: 'ends-with', value: 'Hello' }, 'Hello World', 'fail'],
    [{ type: 'equals', value: 'Hello' }, ' Hello\n', 'pass'],
    [{ type: 'equals', value: 'Hello' }, 'Hello!', 'fail'],
    [{ type: 'regex', value: '^h.*d$', flags: 'i' }, 'Hello World', 'pass'],
    [{ type: 'regex', pattern: '^h' }, 'Hello', 'fail'],
    [{ type: 'is-json' }, '{"a": [1]}', 'pass'],
    [{ type: 'is_json' }, '{"a": [1]', 'fail'],
    [{ type: 'is-json' }, '', 'fail'],
    [{ type: 'contains', value: 'x', negate: true }, 'Hello', 'pass'],
    [{ type: 'contains', value: 'H', negate: true }, 'Hello', 'fail'],
  ];
  verifies('EV-6', 'each text grader checks what its name says', async () => {
    for (const [assertion, text, want] of rules) {
      const { verdict } = await grade(assertion, said(text));
      expect({ assertion, text, verdict }).toEqual({ assertion, text, verdict: want });
    }
  });

  test('a failure shows the text, and of several values those that are missing', async () => {
    const output = said('Hello World');
    const reasonOf = async (assertion: object) => (await grade(assertion, output)).reason;
    const found = '"Hello World"';
    expect(await reasonOf({ type: 'contains', value: 'x' })).toBe(
      `the final text does not contain "x": ${found}`,
    );
    expect(await reasonOf({ type: 'contains-all', value: ['Hello', 'x', 'y'] })).toBe(
      `the final text does not contain "x", "y": ${found}`,
    );
    expect(await reasonOf({ type: 'contains-any', value: ['x', 'y'] })).toBe(
      `the final text contains none of "x", "y": ${found}`,
    );
    expect(await reasonOf({ type: 'regex', value: '^w', flags: 'i' })).toBe(
      `the final text does not match /^w/i: ${found}`,
    );
    expect(await reasonOf({ type: 'is-json' })).toBe(`the final text is not JSON: ${found}`);
    const long = await grade({ type: 'ends-with', value: 'x' }, said(`a${'b'.repeat(500)}c`));
    expect(long.reason).toMatch(/^the final text does not end with "x": …b+c"$/);
    const none = await grade({ type: 'equals', value: 'x' }, said(''));
    expect(none.reason).toBe('the final text is not "x": it is empty');
  });

  test('a time outside the range of dates is not passed to a command', async () => {
    const tools = {
      run: async ({ input }: { input: string }) => {
        const { start_time } = JSON.parse(input);
        const stdout = JSON.stringify({ score: start_time === null ? 1 : 0 });
        return { failure: null, code: 0, stdout, stderr: '', dropped: 0 };
      },
    };
    const far = transcript([], { start_time_ms: 9e15 });
    const { verdict } = await gradeAll([{ type: 'code-grader', command: ['x'] }], far, { tools });
    expect(verdict).toBe('pass');
  });

  verifies('EV-7', 'a command gets the count of each tool, whatever its name', async () => {
    const names = ['constructor', '__proto__', 'Read', 'constructor', 'toString'];
    let input = '';
    const tools = {
      run: async (request: { input: string }) => {
        input = request.input;
        return { failure: null, code: 0, stdout: '{"score": 1}', stderr: '', dropped: 0 };
      },
    };
    const run = transcript(names.map((name) => call(name)));
    await gradeAll([{ type: 'code-grader', command: ['x'] }], run, { tools });
    const counts = '"tool_calls":{"constructor":2,"__proto__":1,"Read":1,"toString":1}';
    expect(input).toContain(counts);
  });

  test('a pattern that was not finished gives no verdict, even when negated', async () => {
    const tools = { matches: async () => ({ matched: [], failure: 'took too long' }) };
    const assertion = { type: 'regex', value: '(a+)+$', negate: true };
    expect(await grade(assertion, said('aaa'), tools)).toMatchObject({
      verdict: 'fail',
      score: 0,
      broken: true,
    });
  });
});

describe('several assertions', () => {
  const yes = { type: 'contains', value: 'Done' };
  const no = { type: 'contains', value: 'never' };
  const of = async (assertions: unknown[], test = {}) => {
    const { verdict, score } = await gradeAll(assertions, transcript(), { test });
    return [verdict, score];
  };

  verifies('EV-8', 'a test passes at its threshold, by weights', async () => {
    expect(await of([yes, no])).toEqual(['fail', 0.5]);
    expect(await of([yes, yes, yes, yes, no])).toEqual(['pass', 0.8]);
    expect(await of([{ ...yes, weight: 3 }, no])).toEqual(['fail', 0.75]);
    expect(await of([{ ...yes, weight: 9 }, no])).toEqual(['pass', 0.9]);
    expect(await of([yes, no], { threshold: 0.5 })).toEqual(['pass', 0.5]);
    expect(await of([{ ...yes, weight: 9 }, no], { threshold: 1 })).toEqual(['fail', 0.9]);
    expect(await of([{ ...yes, weight: 0 }])).toEqual(['fail', 0]);
    const thirds = [0.1, 0.7, 0.2].map((weight, i) => ({ ...(i === 2 ? no : yes), weight }));
    expect((await of(thirds))[0]).toBe('pass');
  });

  verifies('EV-8', 'a failed required assertion fails the test', async () => {
    expect(
      await of([
        { ...yes, weight: 99 },
        { ...no, required: true },
      ]),
    ).toEqual(['fail', 0.99]);
    expect(await of([yes, { ...no, required: false, weight: 0.1 }])).toEqual(['pass', 1 / 1.1]);
  });

  verifies('EV-8', 'a composite is one assertion', async () => {
    const of_two = (more: object) => [{ type: 'composite', assertions: [yes, no], ...more }];
    expect(await of(of_two({}))).toEqual(['fail', 0.5]);
    const weights = { yes: 9, no: 1 };
    const named = [
      { ...yes, name: 'yes' },
      { ...no, name: 'no' },
    ];
    expect(
      await of([
        {
          type: 'composite',
          assertions: named,
          aggregator: { type: 'weighted_average', weights },
        },
      ]),
    ).toEqual(['pass', 0.9]);
    const share = (threshold: number) => ({ aggregator: { type: 'threshold', threshold } });
    expect(await of(of_two(share(0.5)))).toEqual(['pass', 1]);
    expect(await of(of_two(share(1)))).toEqual(['fail', 0]);
    expect(
      await of([{ type: 'composite', graders: [yes, { ...no, required: true, weight: 0 }] }]),
    ).toEqual(['fail', 0]);
    const nested = { type: 'composite', assertions: [{ type: 'composite', assertions: [yes] }] };
    expect(await of([nested])).toEqual(['pass', 1]);
  });

  test('an exception in a grader becomes its verdict', async () => {
    const { assertions, verdict } = await gradeAll(
      [{ type: 'code-grader', command: ['x'], negate: true }, yes],
      transcript(),
    );
    expect(verdict).toBe('fail');
    expect(assertions.map(({ reason, verdict: one }) => [one, reason])).toEqual([
      ['fail', 'negated: the grader failed: no commands here'],
      ['pass', 'the final text contains "Done"'],
    ]);
  });
});

describe('the answer of a judging model', () => {
  const items = [
    { id: 'a', outcome: 'A', weight: 3 },
    { id: 'b', outcome: 'B' },
  ];
  const say = (checks: unknown) => gradeOfJudgement(JSON.stringify({ checks }), items);

  test('scores are weighted, with or without surrounding text or a fence', () => {
    const text = '{"checks":[{"id":"a","score":1},{"id":"b","score":0,"reason":"no"}]}';
    for (const answer of [text, `Sure!\n\`\`\`json\n${text}\n\`\`\``])
      expect(gradeOfJudgement(answer, items)).toMatchObject({ score: 0.75, reason: 'b: 0 no' });
  });

  test('an answer without a judgement gives no verdict', () => {
    const answers = [
      gradeOfJudgement('I think it is fine', items),
      gradeOfJudgement('{"checks": [', items),
      say([{ id: 'a', score: 1 }]),
      say([
        { id: 'a', score: 1 },
        { id: 'b', score: 7 },
      ]),
      say([
        { id: 'a', score: 1 },
        { id: 'b', score: '1' },
      ]),
    ];
    expect(answers.map(({ score, broken }) => [score, broken])).toEqual(
      answers.map(() => [0, true]),
    );
  });
});
