import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMaker, EVENT_KINDS, type MakeEvent } from '../../test/build-events.ts';
import { keptBytes, longText } from '../../test/kept-bytes.ts';
import { columns } from '../lib/terminal-text.ts';
import type { Event } from '../model/event.ts';
import { type Colours, type HumanOptions, HumanProjection } from './human.ts';

const tag = (name: string) => (text: string) => `<${name}>${text}</${name}>`;
const plain = (text: string) => text;
const PLAIN: Colours = {
  bold: plain,
  dim: plain,
  red: plain,
  green: plain,
  yellow: plain,
  cyan: plain,
};
const TAGGED: Colours = {
  bold: tag('b'),
  dim: tag('dim'),
  red: tag('red'),
  green: tag('green'),
  yellow: tag('yellow'),
  cyan: tag('cyan'),
};

function print(events: readonly Event[], options: Partial<HumanOptions> = {}): string {
  const human = new HumanProjection({
    colour: PLAIN,
    unicode: true,
    width: 60,
    stream: false,
    cwd: '/home/user/project',
    ...options,
  });
  return events.map((event) => human.project(event)).join('');
}

function failingRun(make: MakeEvent): Event[] {
  return [
    make('run_started'),
    make('step_started'),
    make('thinking_finished', { text: 'Let me\nsee.' }),
    make('message_finished', { text: 'I will run the tests.' }),
    make('call_requested'),
    make('call_finished', {
      status: 'error',
      ok: false,
      exit_code: 3,
      duration_ms: 1234,
      output: 'line 1\n\n\u001b[31mline 2\n3\n4\n5\n6\n7\n8\n',
    }),
    make('call_requested', { call_id: 'c2', tool: 'Bash', input: { command: 'rm -rf x' } }),
    make('call_decided', { call_id: 'c2', decision: 'deny', reason: 'not allowed' }),
    make('call_finished', { call_id: 'c2', status: 'denied', exit_code: null, duration_ms: null }),
    make('provider_retried'),
    make('message_finished', { message_id: 'm2', text: 'Hello.' }),
    make('file_changed', { path: '/home/user/project/a.txt' }),
    make('run_finished', {
      ok: false,
      exit_reason: 'agent_error',
      error: 'gave up',
      tool_calls: 2,
      completeness: { grade: 'partial', gaps: ['no_end_record', 'torn_line'], filled: [] },
    }),
  ];
}

describe('human output', () => {
  test('shows an unrecognised status as unknown', () => {
    const make = createMaker();
    for (const status of ['constructor', 'toString', 'from_the_future'] as never[])
      expect(print([make('call_requested'), make('call_finished', { status })])).toMatch(/^\? /m);
  });

  test('shows a run from its beginning to its summary', () => {
    expect(print(failingRun(createMaker()))).toBe(
      [
        'run 1 · demo 1.0 · toy · /home/user/project',
        '',
        'step 1',
        'thinking: Let me see.',
        'I will run the tests.',
        '✗ Bash npm test (exit 3, 1.2s)',
        '  line 1',
        '  \\u{1b}[31mline 2',
        '  3',
        '  4',
        '  5',
        '  6',
        '  … 2 more lines',
        '⊘ Bash rm -rf x (denied, not allowed)',
        '! provider retry: attempt 1 of 3, rate_limit, status 429,',
        '  waited 500 ms',
        '',
        'Hello.',
        '',
        '✗ agent_error · 1 step · 2 calls, 1 failed, 1 denied',
        '  125 tokens (100 in, 20 out, 5 cache read) · $0.0123 · 1.2s',
        '  gave up',
        '  record incomplete: no end record, 1 torn line',
        '  1 file changed: a.txt created',
        '  read it again: tacho show 1',
        '',
      ].join('\n'),
    );
  });

  test('has only ASCII characters, and words for marks, when requested', () => {
    const text = print(failingRun(createMaker()), { unicode: false });
    expect(text).toMatch(/^[\x20-\x7e\n]*$/);
    expect(text).toContain('\nFAIL   Bash npm test (exit 3, 1.2s)\n');
    expect(text).toContain('\ndenied Bash rm -rf x (not allowed)\n');
    expect(text).toContain('\nFAIL agent_error - 1 step - 2 calls, 1 failed, 1 denied\n');
    const make = createMaker();
    const fine = [make('call_requested'), make('call_finished'), make('run_finished')];
    expect(print(fine, { unicode: false, width: 200 })).toMatch(
      /^ok {5}Bash npm test \(12ms\)\n[\s\S]*\nok - 1 step - 1 call - .* - record complete\n/,
    );
  });

  test('has the error of a failed run first, then its record, and names each gap once', () => {
    const make = createMaker();
    const end = { ok: false, exit_reason: 'cancelled', error: 'cancelled by SIGINT' } as const;
    const stopped = [
      make('problem', { code: 'unfinished_call' }),
      make('problem', { code: 'no_end_record' }),
      make('run_finished', {
        ...end,
        completeness: { grade: 'partial', gaps: ['no_end_record'], filled: [] },
      }),
    ];
    const ascii = { unicode: false, width: 200 };
    expect(print(stopped, ascii).split('\n').slice(-5)).toEqual([
      expect.stringMatching(/^cancelled - 1 step - /),
      '  cancelled by SIGINT',
      '  record incomplete: no end record',
      '  read it again: tacho show 1',
      '',
    ]);
    expect(print(stopped, ascii)).not.toContain('no_end_record');
    const failed = print([make('run_finished', { ...end, exit_reason: 'timeout' })], ascii);
    expect(failed).toMatch(/^FAIL timeout - .*\n {2}cancelled by SIGINT\n {2}record complete\n/m);
  });

  test.each([80, 200])('keeps every line to a width of %i columns', (width) => {
    const make = createMaker();
    const long = 'a word or two 日本語の長い文章 '.repeat(40);
    const events = [
      make('run_started', { cwd: `/${'deep/'.repeat(20)}` }),
      make('message_finished', { text: long }),
      make('notice', { text: long }),
      make('provider_failed', { message: long }),
      make('call_requested', { input: { command: long } }),
      make('call_decided', { decision: 'deny', reason: long }),
      make('call_finished', { status: 'denied', ok: false, output: long }),
      make('call_requested', { call_id: 'c2' }),
      make('call_finished', { call_id: 'c2', status: 'error', ok: false, output: long }),
      make('run_finished', { ok: false, exit_reason: 'agent_error', error: long }),
    ];
    for (const unicode of [true, false]) {
      const text = print(events, { width, unicode, wrap: true });
      for (const line of text.split('\n')) expect(columns(line)).toBeLessThanOrEqual(width);
    }
  });

  test('shows the complete final error', () => {
    const make = createMaker();
    const error = `the agent exited with code 41: ${'Please set a key, or '.repeat(60)}GEMINI_API_KEY`;
    const end = make('run_finished', { ok: false, exit_reason: 'agent_error', error });
    expect(print([end]).replaceAll(/\s+/g, ' ')).toContain(error);
  });

  test('does not break the lines of messages without wrapping', () => {
    const text = 'one two three '.repeat(20).trim();
    expect(print([createMaker()('message_finished', { text })])).toBe(`${text}\n`);
  });

  test('counts a call by its status after late updates', () => {
    const make = createMaker();
    const calls = ['c1', 'c2', 'c3'].flatMap((call_id) => [
      make('call_requested', { call_id }),
      make('call_finished', call_id === 'c2' ? { call_id, status: 'error' } : { call_id }),
    ]);
    const late = [
      make('call_updated', { call_id: 'c1', status: 'error', exit_code: 1 }),
      make('call_updated', { call_id: 'c2', status: 'ok', exit_code: 0 }),
      make('call_updated', { call_id: 'c3', status: null, exit_code: 0 }),
    ];
    const end = make('run_finished', { tool_calls: 3 });
    expect(print([...calls, ...late, end])).toContain(' · 3 calls, 1 failed\n');
  });

  test('token figures add up, with cache writes', () => {
    const usage = { input: 5300, output: 129, cache_read: 1500, cache_write: 971, reasoning: 7 };
    const text = print([createMaker()('run_finished', { usage })], { width: 200 });
    expect(text).toContain('7.9k tokens (5.3k in, 129 out, 1.5k cache read, 971 cache written)');
  });

  test('colours marks, names and notes', () => {
    const make = createMaker();
    const text = print([make('call_requested'), make('call_finished')], { colour: TAGGED });
    expect(text).toBe('<green>✓</green> <b>Bash</b> npm test<dim> (12ms)</dim>\n');
  });

  test('shows the change of an edit, by the agent’s diff if there is one', () => {
    const make = createMaker();
    const edit = {
      tool: 'Edit',
      input: {
        file_path: '/home/user/project/src/a.ts',
        old_string: 'const a = 1;\n  keep();\n',
        new_string: 'const a = 2;\n  keep();\n',
      },
    };
    const done = { tool: 'Edit', exit_code: null };
    const own = [make('call_requested', edit), make('call_finished', done)];
    expect(print(own)).toBe(
      '✓ Edit src/a.ts (12ms)\n  -const a = 1;\n  +const a = 2;\n     keep();\n',
    );
    const diff = '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n';
    const given = [
      make('call_requested', edit),
      make('file_changed', { call_id: 'c1', operation: 'modified', diff }),
      make('call_finished', done),
    ];
    expect(print(given)).toBe('✓ Edit src/a.ts (12ms)\n  @@ -1 +1 @@\n  -old\n  +new\n');
    expect(print([make('file_changed', { diff })])).toBe('  @@ -1 +1 @@\n  -old\n  +new\n');
  });

  test('shows the patch of an edit with its files', () => {
    const make = createMaker();
    const input =
      '*** Begin Patch\n*** Update File: src/math.js\n@@\n add(a, b) {\n-  return a - b;\n+  return a + b;\n*** Add File: b.md\n+x\n*** End Patch';
    const edit = { tool: 'Edit', input: { file_path: 'src/math.js', input } };
    expect(print([make('call_requested', edit), make('call_finished', { tool: 'Edit' })])).toBe(
      [
        '✓ Edit src/math.js (12ms)',
        '  @@ src/math.js',
        '   add(a, b) {',
        '  -  return a - b;',
        '  +  return a + b;',
        '  @@ b.md',
        '  +x',
        '',
      ].join('\n'),
    );
  });

  test('marks unknown values', () => {
    const make = createMaker();
    const end = make('run_finished', {
      usage: null,
      cost_usd: null,
      duration_ms: null,
      final_output: '',
      completeness: { grade: 'unavailable', gaps: [], filled: [] },
    });
    expect(print([end])).toBe(
      [
        '✓ ok · 1 step · 1 call · tokens unknown · cost unknown',
        '  duration unknown',
        '  record empty',
        '  read it again: tacho show 1',
        '',
      ].join('\n'),
    );
  });

  test('prints a final text that no message showed', () => {
    const make = createMaker();
    expect(print([make('run_finished')])).toMatch(/^Hello\.\n\n✓ ok/);
    expect(print([make('message_finished'), make('run_finished')])).toMatch(/^Hello\.\n\n✓ ok/);
  });

  test('indents the actions of sub-agents and shortens their messages', () => {
    const make = createMaker();
    const parent_call_id = 'c0';
    expect(
      print([
        make('call_requested', { parent_call_id }),
        make('message_finished', { parent_call_id, text: `One\n${'two '.repeat(50)}` }),
        make('call_progress', { elapsed_ms: 9000 }),
        make('call_progress', { elapsed_ms: 19_000 }),
        make('call_finished'),
      ]),
    ).toBe(
      [`  One ${'two '.repeat(13)}t…`, '  … Bash npm test', '  ✓ Bash npm test (12ms)', ''].join(
        '\n',
      ),
    );
  });
});

describe('streamed text', () => {
  const streamed = (make: MakeEvent): Event[] => [
    make('message_delta', { text: 'Hel' }),
    make('message_delta', { text: 'lo 👩' }),
    make('message_delta', { text: '\u200d👧\ud83d' }),
    make('message_delta', { text: '\ude80 \u001b' }),
    make('message_delta', { text: 'sub', parent_call_id: 'c1' }),
    make('message_finished', { text: 'Hello 👩‍👧🚀 \u001b' }),
  ];

  test('is printed as it arrives, and not again when the message ends', () => {
    expect(print(streamed(createMaker()), { stream: true })).toBe('Hello 👩‍👧🚀 \\u{1b}\n');
  });

  test('is printed once, at the end of the message, without streaming', () => {
    expect(print(streamed(createMaker()))).toBe('Hello 👩‍👧🚀 \\u{1b}\n');
  });

  test('ends its line before other output', () => {
    const make = createMaker();
    expect(
      print(
        [
          make('message_delta', { text: 'Wait' }),
          make('call_requested'),
          make('call_finished'),
          make('message_delta', { text: ' for it' }),
          make('message_finished', { text: 'Wait for it' }),
          make('message_finished', { message_id: 'm2', text: 'Next.' }),
          make('message_delta', { message_id: 'm3', text: 'cut' }),
          make('message_delta', { message_id: 'm4', text: 'other' }),
          make('message_finished', { message_id: 'm4', text: 'other' }),
        ],
        { stream: true },
      ),
    ).toBe('Wait\n✓ Bash npm test (12ms)\n\n for it\n\nNext.\n\ncut\n\nother\n');
  });

  test('is completed at the end of the message', () => {
    const make = createMaker();
    const events = [
      make('message_delta', { text: 'All but ' }),
      make('message_finished', { text: 'All but this.' }),
    ];
    expect(print(events, { stream: true })).toBe('All but this.\n');
  });

  test('is the same text for any division into pieces', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(60), { maxLength: 8 }), (whole, cuts) => {
        const make = createMaker();
        const at = [0, ...cuts.sort((a, b) => a - b), whole.length];
        const pieces = at.slice(1).map((end, i) => whole.slice(at[i], end));
        const end = make('message_finished', { text: whole });
        const deltas = (texts: string[]) =>
          print([...texts.map((piece) => make('message_delta', { text: piece })), end], {
            stream: true,
          });
        return deltas(pieces) === deltas([whole]);
      }),
    );
  });
});

test('control characters of events are never printed', () => {
  const bad = 'x\u001b]0;t\u0007\u009b2J\u202e\r\u0000y';
  const closed = /^(?:status|exit_reason|decision|grade|role|operation|source|mode)$/;
  const poison = (value: unknown): unknown => {
    if (typeof value === 'string') return value + bad;
    if (Array.isArray(value)) return value.map(poison);
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value);
    return Object.fromEntries(
      entries.map(([key, item]) => [key, closed.test(key) ? item : poison(item)]),
    );
  };
  const make = createMaker();
  const events = EVENT_KINDS.map((kind) => {
    const event = make(kind);
    return { ...event, data: poison(event.data) } as Event;
  });
  for (const stream of [true, false]) {
    expect(print(events, { stream })).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  }
});

test('little is kept of open calls with long texts', () => {
  const make = createMaker();
  const kept = keptBytes(() => {
    const human = new HumanProjection({
      colour: PLAIN,
      unicode: true,
      width: 60,
      stream: false,
      cwd: null,
    });
    for (let n = 0; n < 40; n++) {
      const call_id = `c${n}`;
      const path = `p${n}`;
      const input = { command: longText(n) };
      human.project(make('call_requested', { call_id, tool: longText(n), input }));
      human.project(make('call_decided', { call_id, decision: 'deny', reason: longText(n) }));
      human.project(make('file_changed', { call_id, path, source: 'tool', diff: longText(n) }));
    }
    return human;
  });
  expect(kept).toBeLessThan(8 * 1024 * 1024);
});
