import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../test/cpu-ms.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { NO_FILES, parse } from '../../../test/grade.ts';
import { TachoError } from '../../lib/errors.ts';
import { parseEvalFile } from './eval-file.ts';
import type { Files } from './suite.ts';

async function mistakesIn(text: string): Promise<string[]> {
  try {
    await parse(text);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(TachoError);
    expect((error as TachoError).code).toBe('config_invalid');
    return (error as Error).message.split('\n');
  }
}

/** An assertion of the one test of a file. */
const asserting = (assertion: string) =>
  `tests:\n  - id: a\n    assertions:\n      - ${assertion}\n`;

describe('mistakes are reported with file, line, column and field', () => {
  const cases: [string, string, string][] = [
    ['no YAML', 'tests: [', 'evals/a.yaml:1:'],
    ['no map', '- a', 'evals/a.yaml:1:1: must be a map'],
    ['nothing', '', 'evals/a.yaml:1:1: the file is empty'],
    ['no tests', 'description: x', 'evals/a.yaml:1:1: lacks the field tests'],
    ['tests that are not a list', 'tests: 3', 'evals/a.yaml:1:1: tests must be a list of tests'],
    ['no test at all', 'tests: []', 'evals/a.yaml:1:1: tests is empty'],
    ['a test that is not a map', 'tests:\n  - x', 'evals/a.yaml:2:5: tests[0] must be a map'],
    [
      'a test without an id',
      'tests:\n  - assertions: [{type: is-json}]',
      'evals/a.yaml:2:5: tests[0] lacks the field id',
    ],
    [
      'a duplicate id',
      'assertions: [{type: is-json}]\ntests:\n  - id: a\n  - id: a',
      'evals/a.yaml:4:5: tests[1].id "a" is already used',
    ],
    [
      'an unknown field',
      'test: []\ntests: []',
      'evals/a.yaml:1:1: test: unknown field; did you mean tests?',
    ],
    [
      'the same field in two spellings',
      'tests: [{id: a, assert: [{type: is-json}], assertions: []}]',
      'evals/a.yaml:1:44: tests[0].assertions is already given under another name',
    ],
    ['nothing asserted', 'tests:\n  - id: a', 'evals/a.yaml:2:5: tests[0] asserts nothing'],
    [
      'an empty list of assertions',
      'tests:\n  - id: a\n    assert: []',
      'evals/a.yaml:3:5: tests[0].assert asserts nothing: the list is empty',
    ],
    [
      'no type',
      asserting('skill: x'),
      'evals/a.yaml:4:9: tests[0].assertions[0] lacks the field type',
    ],
    [
      'an unknown grader',
      asserting('type: skil-triger'),
      'evals/a.yaml:4:9: tests[0].assertions[0].type: unknown assertion type "skil-triger"; did you mean skill-trigger?',
    ],
    [
      'a missing field',
      asserting('type: skill-trigger'),
      'evals/a.yaml:4:9: tests[0].assertions[0] lacks the field skill',
    ],
    [
      'a field of the wrong kind',
      asserting('{type: skill-trigger, skill: x, should_trigger: maybe}'),
      'evals/a.yaml:4:41: tests[0].assertions[0].should_trigger must be true or false',
    ],
    [
      'a value that is not a string',
      asserting('{type: skill-trigger, skill: [x]}'),
      'evals/a.yaml:4:31: tests[0].assertions[0].skill must be a string',
    ],
    [
      'an unknown mode',
      asserting('{type: tool-trajectory, mode: sorted, expected: []}'),
      'evals/a.yaml:4:33: tests[0].assertions[0].mode must be one of exact, in_order, any_order, superset, subset',
    ],
    [
      'an expected step without a tool',
      asserting('{type: tool-trajectory, mode: exact, expected: [{args: {}}]}'),
      'evals/a.yaml:4:57: tests[0].assertions[0].expected[0] lacks the field tool',
    ],
    [
      'a mode without its steps',
      asserting('{type: tool-trajectory, mode: in_order}'),
      'evals/a.yaml:4:9: tests[0].assertions[0] lacks the field expected',
    ],
    [
      'a pattern that cannot be read',
      asserting("{type: regex, value: '('}"),
      'evals/a.yaml:4:9: tests[0].assertions[0] has a value that is not a valid regular expression',
    ],
    [
      'a negative limit',
      asserting('{type: cost, budget: -1}'),
      'evals/a.yaml:4:22: tests[0].assertions[0].budget must be a number of at least 0',
    ],
    [
      'no limit',
      asserting('type: execution-metrics'),
      'evals/a.yaml:4:9: tests[0].assertions[0] limits nothing',
    ],
    [
      'a threshold over 1',
      'threshold: 80\ntests: [{id: a, assert: [{type: is-json}]}]',
      'evals/a.yaml:1:1: threshold must be a number from 0 to 1',
    ],
    [
      'no command',
      asserting('{type: code-grader, command: []}'),
      'evals/a.yaml:4:29: tests[0].assertions[0].command must be a list of strings',
    ],
    [
      'a mistake in a member',
      asserting('{type: composite, assertions: [{type: contains}]}'),
      'evals/a.yaml:4:40: tests[0].assertions[0].assertions[0] lacks the field value',
    ],
    [
      'an empty composite',
      asserting('{type: composite, assertions: []}'),
      'evals/a.yaml:4:27: tests[0].assertions[0].assertions is empty: there is nothing to assert',
    ],
    [
      'an invalid repeat',
      'repeat: 0\ntests: [{id: a, assert: [{type: is-json}]}]',
      'evals/a.yaml:1:1: repeat must be a whole number of at least 1',
    ],
    [
      'a missing file',
      'tests: cases.yaml',
      'evals/a.yaml:1:1: tests names a file that cannot be read: cases.yaml',
    ],
  ];
  test.each(cases)('%s', async (_, text, want) => {
    const [first] = await mistakesIn(text);
    expect(first?.slice(0, want.length)).toBe(want);
  });

  verifies('EV-9', 'all mistakes of a file are reported together', async () => {
    expect(
      await mistakesIn('tests:\n  - id: a\n    assert:\n      - type: cost\n      - type: x\n'),
    ).toEqual([
      'evals/a.yaml:4:9: tests[0].assert[0] limits nothing: give at least one limit',
      expect.stringMatching(
        /^evals\/a\.yaml:5:9: tests\[0\]\.assert\[1\]\.type: unknown assertion type "x"; expected one of: skill-trigger, /,
      ),
    ]);
  });

  verifies(
    'EV-9',
    'mistakes of every kind, also in a file of cases, have the same form',
    async () => {
      const cases = '{"id":"a","assert":[{"type":"is-json"}],"repeat":0}\n{"id"\n{"input":"x"}\n';
      const files: Files = { ...NO_FILES, open: (_, path) => ({ path, text: cases }) };
      const text =
        'threshold: 2\ntest: x\nworkspace: 3\ntarget: {}\nmetadata: []\ntests: c.jsonl\n';
      const error = await parseEvalFile('a.yaml', text, files, {}).catch((thrown: Error) => thrown);
      expect((error as Error).message.split('\n')).toEqual([
        'a.yaml:1:1: threshold must be a number from 0 to 1',
        'a.yaml:2:1: test: unknown field; did you mean tests?',
        'a.yaml:3:1: workspace must be a string',
        'a.yaml:4:1: target must be a string, or a map with name',
        'a.yaml:5:1: metadata must be a map',
        "c.jsonl:2:6: no JSON: Expected ':' after property name in JSON",
        'c.jsonl:1:41: [0].repeat must be a whole number of at least 1',
        'c.jsonl:3:1: [1] lacks the field id',
        'c.jsonl:3:1: [1] asserts nothing: add assertions, such as {type: llm-grader}',
      ]);
    },
  );

  test('a hundred mistakes are counted, not listed', async () => {
    const tests = Array.from({ length: 100 }, () => ({}));
    const lines = await mistakesIn(JSON.stringify({ tests }));
    expect([lines.length, lines.at(-1)]).toEqual([21, expect.stringMatching(/^and \d+ more$/)]);
  });

  test('aliases that would expand without limit are refused', async () => {
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    for (const [one, two] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh']) {
      bomb.push(`${two}: &${two} [${Array(9).fill(`*${one}`).join(',')}]`);
    }
    expect((await mistakesIn(bomb.join('\n')))[0]).toBe(
      'evals/a.yaml:6:8: has aliases that expand to more than 100000 values',
    );
  });

  test('only the mistakes that are shown cost time, whatever their length', async () => {
    const keys = Array.from({ length: 1_000 }, (_, i) => `${'assertion'.repeat(6)}${i}: 1`);
    const text = `metadata: &a {${keys.join(', ')}}\ntests:\n${'  - {<<: *a}\n'.repeat(45)}`;
    const grader = `- {id: a, assertions: [{type: ${'x'.repeat(1_000_000)}}]}`;
    const start = cpuMs();
    expect(await mistakesIn(text)).toHaveLength(21);
    expect((await mistakesIn(`tests:\n  ${grader}\n`))[0]).toContain('unknown assertion type');
    expect(cpuMs() - start).toBeLessThan(2_000);
  });
});

describe('forms', () => {
  verifies('EV-11', "a file in AgentV's form is read unchanged", async () => {
    const text = `
name: skills
description: skills
version: "1.0"
tags: [a]
experiment: nightly
execution: { target: review, workers: 3 }
input: Be brief.
assertions:
  - type: latency
    threshold: 5000
tests:
  - id: greets
    input:
      - role: system
        content: You greet.
      - role: user
        content: [{ type: text, value: Say hello }]
    criteria: uses the skill
    expected_output: [{ role: assistant, content: hello }]
    metadata: { owner: me }
    assertions:
      - type: skill-trigger
        skill: greeting-style
        should_trigger: true
  - id: alone
    input: { task: sum }
    execution: { skip_defaults: true }
    assertions:
      - { name: mine, type: skill-trigger, skill: x, required: 0.6, weight: 2, negate: true }
`;
    const { tests, notes, name } = await parse(text);
    expect(name).toBe('skills');
    expect(notes).toEqual([
      'evals/a.yaml:7:30: execution.workers has no effect: targets of tacho.yaml define where and how an agent runs',
    ]);
    const latency = {
      type: 'latency',
      name: 'latency',
      weight: 1,
      required: null,
      min_score: 0.8,
      negate: false,
      options: { threshold: 5000 },
    };
    expect(tests).toEqual([
      {
        id: 'greets',
        line: 13,
        input: [
          { role: 'user', content: 'Be brief.' },
          { role: 'system', content: 'You greet.' },
          { role: 'user', content: 'Say hello' },
        ],
        criteria: 'uses the skill',
        expected_output: [{ role: 'assistant', content: 'hello' }],
        metadata: { owner: 'me' },
        assertions: [
          {
            ...latency,
            type: 'skill-trigger',
            name: 'skill-trigger',
            options: { skill: 'greeting-style', should_trigger: true },
          },
          latency,
        ],
        threshold: 0.8,
        repeat: { count: 1, strategy: 'pass_all' },
        target: 'review',
        timeout_ms: null,
        workspace: null,
      },
      {
        id: 'alone',
        line: 26,
        input: [{ role: 'user', content: '{\n  "task": "sum"\n}' }],
        criteria: null,
        expected_output: null,
        metadata: {},
        assertions: [
          {
            type: 'skill-trigger',
            name: 'mine',
            weight: 2,
            required: 0.6,
            min_score: 0.8,
            negate: true,
            options: { skill: 'x' },
          },
        ],
        threshold: 0.8,
        repeat: { count: 1, strategy: 'pass_all' },
        target: 'review',
        timeout_ms: null,
        workspace: null,
      },
    ]);
  });

  verifies('EV-11', 'every documented spelling means the same', async () => {
    const usual = await parse(
      'tests: [{id: a, assertions: [{type: tool-trajectory, mode: exact, args_match: exact, expected: [{tool: A, max_duration_ms: 1, args_match: [x]}]}]}]',
    );
    const other = await parse(
      'cases: [{id: a, assert: [{type: tool_trajectory, mode: exact, argsMatch: exact, expected: [{tool: A, maxDurationMs: 1, argsMatch: [x]}]}]}]',
    );
    expect(other.tests[0]?.assertions).toEqual(usual.tests[0]?.assertions);
  });

  test('a text is a criterion for a judging model, with the settings of the file', async () => {
    const { tests } = await parse(
      'grader: {api: anthropic, model: m}\ntests: [{id: a, assertions: [is kind, {type: rubrics, criteria: [{id: k, outcome: is kind}]}]}]',
    );
    expect(tests[0]?.assertions.map(({ type, options }) => ({ type, options }))).toEqual([
      { type: 'llm-grader', options: { api: 'anthropic', model: 'm', criteria: 'is kind' } },
      {
        type: 'rubrics',
        options: { api: 'anthropic', model: 'm', rubrics: [{ id: 'k', outcome: 'is kind' }] },
      },
    ]);
  });

  test('prompts take the variables of their tests', async () => {
    const { tests } = await parse(
      'prompts: ["Do {{ input }}, {{other}}"]\nassert: [{type: skill_trigger, skill_name: x}]\ntests: [{id: a, vars: {input: it}}, {id: b, input: "Say {{ w }}", vars: {w: hi}}]',
    );
    expect(tests.map(({ input }) => input[0]?.content)).toEqual(['Do it, {{other}}', 'Say hi']);
    expect(tests[0]?.assertions[0]?.options).toEqual({ skill: 'x' });
  });

  test('cases, prompts and inputs may be in other files, and mistakes name those files', async () => {
    const texts: Record<string, string> = {
      'cases.yaml': '- id: a\n  input: [{role: user, content: [{type: file, value: p.md}]}]',
      'cases.jsonl': '{"id":"b"}\n\n{"id":3,"input":"x"}\n',
      'bad.yaml': '- id: a\n  inptu: x',
      'bad.jsonl': '{"id":"b"}\n{"id":',
      'p.md': 'Hello',
    };
    const files: Files = {
      ...NO_FILES,
      open: (_, name) => (texts[name] === undefined ? null : { path: name, text: texts[name] }),
    };
    const open = (name: string) =>
      parseEvalFile('a.yaml', `assert: [{type: is-json}]\ntests: ${name}`, files, {});
    expect((await open('cases.yaml')).tests[0]?.input).toEqual([
      { role: 'user', content: 'Hello' },
    ]);
    expect((await open('cases.jsonl')).tests.map(({ id, line }) => [id, line])).toEqual([
      ['b', 1],
      ['3', 3],
    ]);
    await expect(open('bad.yaml')).rejects.toThrow(
      'bad.yaml:2:3: [0].inptu: unknown field; did you mean input?',
    );
    await expect(open('bad.jsonl')).rejects.toThrow(/^bad\.jsonl:2:1: no JSON/);
  });
});
