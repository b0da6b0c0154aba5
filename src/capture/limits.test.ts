/** Limits of a run: the run is closed with the events it has, and one problem counts the rest. */

import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createMaker } from '../../test/build-events.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { demo } from '../agents/demo/index.ts';
import { keptName } from '../lib/foreign.ts';
import { LIMITS } from '../lib/limits.ts';
import type { DataOf, Event, EventOf } from '../model/event.ts';
import { CAPTURE_LIMITS } from './limits.ts';
import { Pipeline } from './pipeline.ts';
import { recordedRun } from './run-info.ts';
import { applyEvent, RunState } from './run-state.ts';
import { keptSession } from './session-facts.ts';

/** Runs `work` with other limits. */
function withLimits<T>(
  limits: Partial<Record<keyof typeof LIMITS | keyof typeof CAPTURE_LIMITS, number>>,
  work: () => T,
): T {
  const all = [LIMITS, CAPTURE_LIMITS].map((own) => ({ own, before: { ...own } }));
  for (const { own } of all)
    Object.assign(own, Object.fromEntries(Object.entries(limits).filter(([name]) => name in own)));
  try {
    return work();
  } finally {
    for (const { own, before } of all) Object.assign(own, before);
  }
}

function live(): Pipeline {
  let now = 1_000;
  const info = recordedRun('r_test', 'demo', {
    cwd: '/w',
    prompt: 'p',
    started_ms: 500,
    fingerprint: () => 'f',
  });
  return new Pipeline({ agent: demo, primary: 'stdout', now: () => now++, info });
}

const lines = (...records: object[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));

function whole(pipeline: Pipeline, input: Buffer): Event[] {
  const events = pipeline.push('stdout', input);
  return [...events, ...pipeline.endOfInput('stdout'), ...pipeline.finish()];
}

const problemsOf = (events: readonly Event[], code: string) =>
  events.filter(
    (event): event is EventOf<'problem'> => event.kind === 'problem' && event.data.code === code,
  );

const hashed = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const HELLO = { t: 'hello', session: 's', version: '1', model: 'm' };
const call = (n: number) => ({ t: 'call', id: `c${n}`, tool: 'run', input: { cmd: 'x' } });
const text = (n: number) => ({ t: 'text', id: `m${n}`, text: `text ${n}` });
const count = <T>(n: number, make: (n: number) => T) =>
  Array.from({ length: n }, (_, i) => make(i));

verifies(
  ['RE-12', 'ST-3'],
  'a run over its event limit keeps its end, whenever it is killed',
  () => {
    const input = lines(HELLO, call(0), call(1), ...count(500, text), { t: 'end', reason: 'ok' });
    withLimits({ run_events_max: 100, session_events_max: 200 }, () => {
      const events = whole(live(), input);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect(events.length).toBeLessThan(115);
      const [said, ...more] = problemsOf(events, 'events_over_limit');
      expect(more).toEqual([]);
      const recorded = events.filter(({ kind }) => kind === 'message_finished').length;
      expect(said?.data.detail).toContain(`${500 - recorded} later ones were not recorded`);
      const end = events.at(-1) as EventOf<'run_finished'>;
      expect(end.data).toMatchObject({ exit_reason: 'ok', completeness: { grade: 'partial' } });
      expect(end.data.completeness.gaps).toContain('events_over_limit:1');
      expect(events.filter(({ kind }) => kind === 'call_finished')).toHaveLength(2);
      for (const kept of [0, 50, 99, 100, 101, 102]) {
        const again = live();
        for (const event of events.slice(0, kept)) again.resumption.resume(event);
        again.resumed();
        const kinds = [...events.slice(0, kept), ...whole(again, input)].map(({ kind }) => kind);
        expect(kinds, `killed after ${kept} events`).toEqual(events.map(({ kind }) => kind));
      }
    });
  },
);

test('an agent that continues past all limits cannot use the room reserved for the end', () => {
  const ends = count(500, () => ({ t: 'end', reason: 'ok' }));
  const input = lines(HELLO, ...count(200, text), ...ends, ...count(200, text));
  withLimits({ run_events_max: 100, session_events_max: 200 }, () => {
    const events = whole(live(), input);
    expect(events.length).toBeLessThan(200);
    expect(events.at(-1)?.kind).toBe('run_finished');
  });
});

test('unanswered calls beyond a bound are closed, oldest first', () => {
  withLimits({ open_calls_max: 10 }, () => {
    const pipeline = live();
    const events = pipeline.push('stdout', lines(HELLO, ...count(11, call)));
    const given_up = events.filter(({ kind }) => kind === 'call_finished');
    expect(given_up.map(({ data }) => (data as { call_id: string }).call_id)).toEqual(
      count(5, (n) => `c${n}`),
    );
    expect(pipeline.state.calls.open.size).toBe(6);
  });
});

test('calls with marks in their ids are closed once each', () => {
  withLimits({ open_calls_max: 10 }, () => {
    const marked = (n: number) => [
      { ...call(n), id: `k${n}#2` },
      { t: 'call_end', call: `k${n}#2`, status: 'ok', output: '' },
      { ...call(n), id: `k${n}#2` },
    ];
    const events = whole(live(), lines(HELLO, ...count(10, marked).flat(), ...count(100, call)));
    const ends = events.flatMap((event) =>
      event.kind === 'call_finished' ? [event.data.call_id] : [],
    );
    expect(ends).toHaveLength(120);
    expect(new Set(ends).size).toBe(120);
  });
});

test('ids of finished calls are kept up to a bound, including those of a reused id', () => {
  withLimits({ calls_remembered_max: 10 }, () => {
    const end = { t: 'call_end', call: 'c0', status: 'ok', output: '' };
    const pipeline = live();
    const events = pipeline.push(
      'stdout',
      lines(HELLO, ...count(100, () => [call(0), end]).flat()),
    );
    const ids = events.flatMap((event) =>
      event.kind === 'call_requested' ? [event.data.call_id] : [],
    );
    expect(new Set(ids).size).toBe(100);
    expect(pipeline.state.calls.marked.size).toBeLessThanOrEqual(20);
  });
});

test('drafts that wait for the beginning of a run are bounded in bytes', () => {
  withLimits({ waiting_bytes_max: 1_000 }, () => {
    const pipeline = live();
    const note = { t: 'note', code: 'hint', text: 'x'.repeat(400) };
    expect(pipeline.push('stdout', lines(note, note))).toEqual([]);
    const kinds = pipeline.push('stdout', lines(note, note)).map(({ kind }) => kind);
    expect(kinds).toEqual(['run_started', ...count(4, () => 'notice')]);
  });
});

test('a final output over its limit is cut, and that is a problem', () => {
  withLimits({ final_output_chars_max: 10 }, () => {
    const said = count(5, () => ({ t: 'text', id: 'm', text: 'four' }));
    const events = whole(live(), lines(HELLO, { t: 'turn', id: 't' }, ...said));
    const end = events.at(-1) as EventOf<'run_finished'>;
    // Whole texts only: a part of one could be a part of a secret.
    expect(end.data.final_output).toBe('four\nfour');
    const [problem] = problemsOf(events, 'truncated_value');
    expect(problem?.data.detail).toBe('the final output has 20 characters: 8 were kept');
    const long = lines(HELLO, { t: 'turn', id: 't' }, { t: 'text', id: 'm', text: 'a long text' });
    expect(whole(live(), long).at(-1)?.data).toMatchObject({ final_output: 'a long tex' });
  });
});

test('the files and skills that are remembered are bounded in number and length', () => {
  const make = createMaker();
  const state = new RunState();
  const apply = (path: string) => {
    applyEvent(state, make('file_changed', { path }), 'stdout');
    applyEvent(state, make('skill_used', { skill: path }), 'stdout');
  };
  const long = 'x'.repeat(1024 * 1024);
  for (let at = 0; at < 100; at++) apply(`${long}${at}`);
  const chars = [...state.files, ...state.skills].reduce((sum, { length }) => sum + length, 0);
  expect(chars).toBeLessThanOrEqual(LIMITS.artifacts_chars_max + LIMITS.skill_uses_chars_max);
  for (let at = 0; at < 20_000; at++) apply(`${at}`);
  expect([state.files.size, state.skills.size]).toEqual([10_000, 10_000]);
});

verifies(
  'RE-11',
  'a long id is kept as its hash: its call is paired, and each record reports it',
  () => {
    const long = (end: string) => 'x'.repeat(LIMITS.name_chars_max) + end;
    const ended = (id: string) => ({ t: 'call_end', call: id, status: 'ok', output: '' });
    const ids = [long('a'), long('b'), long('').slice(1)];
    const input = lines(HELLO, ...ids.map((id) => ({ ...call(0), id })), ...ids.map(ended));
    const events = whole(live(), input);
    const idsOf = (kind: Event['kind']) =>
      events.flatMap((event) =>
        event.kind === kind ? [(event.data as { call_id: string }).call_id] : [],
      );
    const kept = idsOf('call_requested');
    expect(kept).toEqual([hashed(long('a')), hashed(long('b')), ids[2]]);
    expect(idsOf('call_finished')).toEqual(kept);
    expect(problemsOf(events, 'truncated_value').length).toBe(4);
    expect(problemsOf(events, 'orphan_result')).toEqual([]);
  },
);

test('names from a session are bounded, and the excess is a problem', () => {
  const long = 'x'.repeat(10_000);
  for (const [said, kept] of [
    [{ model: long }, { model: hashed(long) }],
    [{ approve: long }, { permission_mode: hashed(long) }],
    [{ tools: ['run', long] }, { tools: ['run', hashed(long)] }],
    [{ tools: count(2_000, String) }, { tools: count(1_000, String) }],
    [{ tools: count(100, (n) => n + 'y'.repeat(1_000)) }, { tools: { length: 65 } }],
  ] as const) {
    const events = whole(live(), lines({ ...HELLO, ...said }));
    expect(events.find(({ kind }) => kind === 'session_started')?.data).toMatchObject(kept);
    expect(problemsOf(events, 'truncated_value').length).toBe(1);
  }
  // A name that another reader shortened before is not a problem of this session.
  keptName(long);
  const draft = { kind: 'session_started' as const, data: createMaker()('session_started').data };
  expect(keptSession(draft)).toEqual([draft]);
});

verifies(['RE-12', 'ST-3'], 'steps repeat the tools within a share of the input', () => {
  const turns = count(20, (n) => ({ t: 'turn', id: `t${n}` }));
  const input = lines({ ...HELLO, tools: ['x'.repeat(97)] }, ...turns);
  withLimits({ step_tools_chars_free: 1_000, step_tools_input_share: 0 }, () => {
    const events = whole(live(), input);
    const listed = events.flatMap(({ kind, data }) =>
      kind === 'step_started' ? [(data as DataOf<'step_started'>).allowed_tools !== null] : [],
    );
    expect(listed).toEqual(count(20, (n) => n < 10));
    expect(problemsOf(events, 'truncated_value').length).toBe(1);
    for (let kept = 1; kept < 24; kept++) {
      const again = live();
      for (const event of events.slice(0, kept)) again.resumption.resume(event);
      again.resumed();
      const kinds = [...events.slice(0, kept), ...whole(again, input)].map(({ kind }) => kind);
      expect(kinds, `killed after ${kept} events`).toEqual(events.map(({ kind }) => kind));
    }
  });
  const all = whole(live(), input).filter(({ kind }) => kind === 'step_started');
  expect(all.every(({ data }) => (data as DataOf<'step_started'>).allowed_tools !== null)).toBe(
    true,
  );
});
