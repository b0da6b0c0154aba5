import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { claude } from '../agents/claude/index.ts';
import { demo } from '../agents/demo/index.ts';
import type { Agent } from '../model/agent.ts';
import type { Event, EventOf } from '../model/event.ts';
import type { Channel } from '../model/words.ts';
import { problem } from './decode.ts';
import { CAPTURE_LIMITS } from './limits.ts';
import { Pipeline } from './pipeline.ts';
import { recordedRun } from './run-info.ts';
import { Series } from './series.ts';

const MAX = CAPTURE_LIMITS.series_lines_max;
const HELLO = '{"t":"hello","session":"s","version":"1","model":"m"}\n{"t":"turn","id":"t1"}\n';
const END = '{"t":"text","id":"m1","text":"done"}\n{"t":"end","reason":"ok"}\n';

function pipeline(agent: Agent = demo): Pipeline {
  const info = recordedRun('r_test', 'demo', { started_ms: 1 });
  return new Pipeline({ agent, primary: 'stdout', now: null, info });
}

type Chunks = readonly (readonly [Channel, string | Buffer])[];

function play(chunks: Chunks, resumed: readonly Event[] = [], agent: Agent = demo): Event[] {
  const made = pipeline(agent);
  for (const event of resumed) made.resumption.resume(event);
  made.resumed();
  const events = [...resumed];
  for (const [channel, text] of chunks) events.push(...made.push(channel, Buffer.from(text)));
  events.push(...made.endOfInput('stdout'), ...made.endOfInput('stderr'), ...made.finish());
  return events;
}

const problemsIn = (events: readonly Event[]) =>
  events.filter((event): event is EventOf<'problem'> => event.kind === 'problem');
const lost = (events: readonly Event[]) =>
  problemsIn(events).reduce((sum, { data }) => sum + (data.count ?? 1), 0);
const gapsOf = (events: readonly Event[]) =>
  (events.at(-1) as EventOf<'run_finished'>).data.completeness.gaps;
const heard = (events: readonly Event[]) =>
  events.flatMap((event) => (event.kind === 'notice' ? (event.data.text ?? '').split('\n') : []));

verifies('RE-19', 'a long series of lines that are not records is counted in one problem', () => {
  const events = play([['stdout', HELLO + 'y\n'.repeat(5 * MAX) + END]]);
  const problems = problemsIn(events);
  expect(problems.length).toBe(MAX + 1);
  const first = HELLO.length + 2 * MAX;
  const last = HELLO.length + 2 * (5 * MAX - 1);
  expect(problems.at(-1)).toMatchObject({
    // Reported at the end, with the last line of all.
    raw: { channel: 'stdout', line: 5 * MAX + 4 },
    data: {
      stage: 'decode',
      code: 'not_json',
      count: 4 * MAX,
      bytes: 4 * MAX,
      excerpt: null,
      detail: `more of these, only counted (not_json: ${4 * MAX}): line ${MAX + 3} (byte ${first}) to line ${5 * MAX + 2} (byte ${last}) of stdout`,
    },
  });
  expect(gapsOf(events)).toContain(`not_json:${5 * MAX}`);
  expect(events.at(-1)).toMatchObject({ data: { final_output: 'done' } });
});

for (const [what, noise] of [
  ['alternating words', 'y\nn\n'],
  ['records of no type', '{}\n'],
  ['JSON that is not a record', 'null\n12\n'],
  ['records of an unknown type', '{"t":"zz"}\n'],
  ['different kinds in turn', 'y\n{}\n{"t":"zz"}\n'],
  ['blank lines between', 'y\n\n \n'],
  ['words between records', 'y\n{"t":"turn","id":"t"}\n'],
] as const)
  test(`a flood of ${what} is bounded and counted exactly`, () => {
    const times = 10 * MAX;
    const lines = noise
      .split('\n')
      .filter((line) => /^[^ ]/.test(line) && !/turn/.test(line)).length;
    const events = play([['stdout', HELLO + noise.repeat(times) + END]]);
    expect(problemsIn(events).length).toBeLessThanOrEqual(MAX + 4);
    expect(lost(events)).toBe(times * lines);
  });

test('each new kind of problem is an event, however many others came before', () => {
  const late = '{"t":"first seen late"}\n';
  const flood = 'y\n'.repeat(3 * MAX);
  const details = problemsIn(play([['stdout', HELLO + flood + late + flood + END]]));
  expect(details.filter(({ data }) => data.detail === 'first seen late').length).toBe(1);
});

test('ever-different problems are events up to a bound and counted beyond it', () => {
  const lines = Array.from({ length: 5 * MAX }, (_, n) => `{"t":"kind ${n}"}\n`);
  const events = play([['stdout', HELLO + lines.join('') + END]]);
  expect(problemsIn(events).length).toBeLessThanOrEqual(MAX + 4);
  expect(lost(events)).toBe(5 * MAX);
});

verifies('ST-3', 'a recorder killed after the count of a series counts nothing again', () => {
  const chunks: Chunks = [
    ['stdout', HELLO + 'y\n'.repeat(2 * MAX)],
    ['stderr', 'word\n'.repeat(2 * MAX)],
    ['stdout', END],
  ];
  const all = play(chunks);
  expect(lost(all)).toBe(2 * MAX);
  // The count of stdout, the last lines of stderr, the end.
  const counted = all.length - 2;
  for (const kept of [counted - 1, counted, counted + 1])
    expect(play(chunks, all.slice(0, kept)), `${kept} events`).toEqual(all);
});

test('any chunking gives the same events', () => {
  const text = HELLO + 'y\n{}\n'.repeat(2 * MAX) + END;
  const all = play([['stdout', text]]);
  for (const size of [1, 7, 1_000]) {
    const cut: [Channel, string][] = [];
    for (let at = 0; at < text.length; at += size) cut.push(['stdout', text.slice(at, at + size)]);
    expect(play(cut)).toEqual(all);
  }
});

verifies(
  'ST-3',
  'after a kill anywhere in a series, recovery neither loses nor counts twice',
  () => {
    const middle = '{"t":"text","id":"m0","text":"between"}\n';
    const flood = 'y\n{}\n'.repeat(MAX);
    const mixed = `${flood + middle}y\n${middle.repeat(3)}${flood}`;
    const chunks: Chunks = [
      ['stdout', HELLO + mixed],
      ['stderr', `${'word\n'.repeat(2 * MAX)}`],
      ['stdout', END],
    ];
    const all = play(chunks);
    expect(lost(all)).toBe(4 * MAX + 1);
    for (let kept = 0; kept < all.length; kept += kept < 5 || kept > all.length - 20 ? 1 : 97)
      expect(play(chunks, all.slice(0, kept)), `${kept} events`).toEqual(all);
  },
);

verifies(
  ['RE-19', 'ST-3'],
  'many problems of one line are counted, and its content is kept',
  () => {
    const content = [{ type: 'text', text: 'said' }, ...Array.from({ length: 5 * MAX }, () => 1)];
    const message = (id: string) =>
      `${JSON.stringify({ type: 'assistant', message: { id, role: 'assistant', content } })}\n`;
    const chunks: Chunks = [['stdout', message('m1') + message('m2') + message('m3')]];
    const all = play(chunks, [], claude);
    expect(all.filter(({ kind }) => kind === 'message_finished').length).toBe(3);
    expect(problemsIn(all).filter(({ data }) => data.code === 'bad_record').length).toBe(MAX + 1);
    expect(gapsOf(all)).toContain(`bad_record:${15 * MAX}`);
    for (const kept of [1, 2, 3, MAX, MAX + 3, MAX + 4, MAX + 5, MAX + 6])
      expect(play(chunks, all.slice(0, kept), claude), `${kept} events`).toEqual(all);
  },
);

test('many lines of stderr are combined, and none is lost', () => {
  const lines = Array.from({ length: 30 * MAX }, (_, n) => `line ${n}`);
  const stderr = `${lines.join('\n')}\n`;
  const chunks: Chunks = [
    ['stdout', HELLO],
    ['stderr', stderr],
    ['stdout', END],
  ];
  const events = play(chunks);
  expect(heard(events)).toEqual(lines);
  expect(events.length).toBeLessThan(MAX + 20);
  for (const kept of [5, MAX, MAX + 4, MAX + 5, events.length - 3]) {
    const again = play(chunks, events.slice(0, kept));
    expect(heard(again), `${kept} events`).toEqual(lines);
    expect(again.map(({ seq }) => seq)).toEqual(again.map((_, index) => index + 1));
  }
});

test('if a line is both text and a problem and a kill separates the two, recovery returns both', () => {
  const lines = Array.from({ length: 2 * MAX }, (_, n) => `line ${n} \xff`);
  const chunks: Chunks = [
    ['stdout', HELLO],
    ['stderr', Buffer.from(`${lines.join('\n')}\n`, 'latin1')],
    ['stdout', END],
  ];
  const events = play(chunks);
  expect([heard(events).length, lost(events)]).toEqual([2 * MAX, 2 * MAX]);
  const counted = events.findIndex(({ data }) => (data as { count?: number }).count !== undefined);
  for (const kept of [counted - 1, counted, counted + 1, counted + 2]) {
    const again = play(chunks, events.slice(0, kept));
    expect(heard(again), `${kept} events`).toEqual(heard(events));
  }
});

test('combined lines are bounded in bytes', () => {
  const line = 'x'.repeat(99);
  const bytes = 5 * CAPTURE_LIMITS.series_text_bytes;
  const lines = MAX + Math.ceil(bytes / (line.length + 1));
  const events = play([
    ['stdout', HELLO],
    ['stderr', `${line}\n`.repeat(lines)],
  ]);
  const texts = events.flatMap((event) => (event.kind === 'notice' ? [event.data.text ?? ''] : []));
  expect(heard(events).length).toBe(lines);
  const longest = Math.max(...texts.map((text) => text.length));
  expect(longest).toBeLessThan(1.1 * CAPTURE_LIMITS.series_text_bytes);
});

test('text that waits for more is returned in a pause, and a recovery returns the rest', () => {
  const made = pipeline();
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => `line ${from + n}`);
  const text = (from: number, to: number) => `${lines(from, to).join('\n')}\n`;
  const events = [
    ...made.push('stdout', Buffer.from(HELLO)),
    ...made.push('stderr', Buffer.from(text(0, MAX + 5))),
    ...made.pause(),
    ...made.push('stderr', Buffer.from(text(MAX + 5, MAX + 8))),
  ];
  expect(heard(events)).toEqual(lines(0, MAX + 5));
  const again = play(
    [
      ['stdout', HELLO],
      ['stderr', text(0, MAX + 8)],
    ],
    events,
  );
  expect(heard(again)).toEqual(lines(0, MAX + 8));
});

test('problems are recognised by the stored part of their details', () => {
  const series = new Series();
  const raw = { channel: 'stdout' as const, line: 1, offset: 0 };
  const keeps = (detail: string) =>
    series.take([problem('decode', 'unknown_record', detail)], raw, 1, false).length === 0;
  const long = 'x'.repeat(1024 * 1024);
  for (let line = 0; line < MAX; line++) expect(keeps(long)).toBe(false);
  expect(keeps('another')).toBe(false);
  expect(keeps(`${long}y`)).toBe(true);
});
