/** After every event of a run all views show the same figures, because they read the same fold. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { demo } from '../../src/agents/demo/index.ts';
import { allAgents } from '../../src/agents/registry.ts';
import { QUIET_ENDING, runFinished } from '../../src/capture/finish.ts';
import { applyEvent, RunState } from '../../src/capture/run-state.ts';
import { costText, countText, plural } from '../../src/lib/figures.ts';
import { forTerminal } from '../../src/lib/terminal-text.ts';
import type { DataOf, Event } from '../../src/model/event.ts';
import type { LiveMessage } from '../../src/model/live.ts';
import type { OutcomeCall } from '../../src/model/outcome.ts';
import type { Usage } from '../../src/model/parts.ts';
import { tokensUsed } from '../../src/model/run-fold.ts';
import { HumanProjection } from '../../src/projections/human.ts';
import { LiveProjector } from '../../src/projections/live/live.ts';
import { createOutcomeFold } from '../../src/projections/outcome.ts';
import { takeEvent } from '../../src/tui/fold.ts';
import { layout } from '../../src/tui/layout.ts';
import { createMaker } from '../build-events.ts';
import type { Data } from '../live-stream.ts';
import { recordingsIn, wholeRun } from '../test-agent.ts';
import { frameOf, PLAIN } from '../tui-frame.ts';

/** Absent: the view does not show it at this point. */
interface Stated {
  steps?: string;
  tokens?: string;
  cost?: string;
  calls?: number;
  /** Failed and denied calls. */
  bad_calls?: string;
  open_calls?: number;
  final_output?: string;
  exit_reason?: string | null;
}

interface View {
  push(event: Event): void;
  stated(): Stated;
  /** Texts of the root agent so far. */
  shown?(): string;
}

const plain = (text: string) => text;
const colour = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, cyan: plain };
const tokensText = (usage: Usage | null) => {
  const used = tokensUsed(usage);
  return used === null ? 'tokens unknown' : `${countText(used)} tokens`;
};
const costOf = (cost: number | null) => (cost === null ? 'cost unknown' : costText(cost));

/** The end record, as it would be now. */
function runStateView(): View & { state: RunState } {
  const state = new RunState();
  return {
    state,
    push: (event) => applyEvent(state, event, 'stdout'),
    stated() {
      const end = runFinished(state, demo, QUIET_ENDING);
      return {
        steps: plural(end.steps, 'step'),
        tokens: tokensText(end.usage),
        cost: costOf(end.cost_usd),
        calls: end.tool_calls,
        open_calls: state.calls.open.size,
        final_output: end.final_output,
        exit_reason: state.finished?.data.exit_reason ?? null,
      };
    },
  };
}

function badText(calls: readonly OutcomeCall[]): string {
  const of = (...wanted: string[]) => calls.filter(({ status }) => wanted.includes(status)).length;
  return `${of('error', 'timeout')} failed, ${of('denied')} denied`;
}

function outcomeView(): View {
  let ended = 0;
  const listing = createOutcomeFold({ keepIo: false });
  const handing = createOutcomeFold({ keepIo: false, onCall: () => (ended += 1) });
  return {
    push(event) {
      listing.push(event);
      handing.push(event);
    },
    stated() {
      const { metrics, tool_calls, message, completeness, exit_reason } = listing.finish();
      expect(tool_calls.length).toBe(metrics.tool_calls_count);
      return {
        steps: plural(metrics.steps, 'step'),
        tokens: tokensText(metrics.tokens),
        cost: costOf(metrics.cost),
        calls: tool_calls.length,
        bad_calls: badText(tool_calls),
        open_calls: tool_calls.length - ended,
        final_output: message,
        exit_reason: completeness.gaps.includes('not_finished') ? null : exit_reason,
      };
    },
  };
}

/** Read from the screen. */
function tuiView(): View {
  const frame = frameOf([], { cols: 300, rows: 3 });
  const { state } = frame;
  return {
    push: (event) => takeEvent(state, event, 0),
    stated() {
      const [header = ''] = layout(frame, PLAIN);
      const [, reason = '', tokens = '', cost = '', step = ''] =
        /^ \S (\S+) [^·]+ · [^·]+ · ([^·]+) · ([^·]+) · step (\d+) ·/.exec(header) ?? [];
      const calls = state.rows.filter((row) => row.kind === 'call');
      return {
        steps: plural(Number(step), 'step'),
        tokens,
        cost,
        calls: calls.length,
        open_calls: calls.filter((row) => row.status === null).length,
        exit_reason: reason === 'running' ? null : reason,
      };
    },
    shown: () =>
      forTerminal(state.rows.map((row) => (row.kind === 'text' ? row.text : '')).join('')),
  };
}

/** Read from the printed text; the figures are in the summary. */
function humanView(): View {
  const options = { colour, unicode: true, width: 1000, cwd: null };
  const streaming = new HumanProjection({ ...options, stream: true });
  const whole = new HumanProjection({ ...options, stream: false });
  let shown = '';
  let summary: string | null = null;
  return {
    push(event) {
      const text = streaming.project(event);
      const other = whole.project(event);
      if (/^message_/.test(event.kind) && isOfRoot(event)) shown += text;
      else {
        expect(text.endsWith(other)).toBe(true);
        shown += text.slice(0, text.length - other.length);
      }
      if (event.kind === 'run_finished') summary = other;
    },
    stated() {
      if (summary === null) return {};
      const figures =
        /^\S+ (\w+) · (\d+ steps?) · (\d+) calls?(?:, (\d+) failed)?(?:, (\d+) denied)? · ([^·(]+?)(?: \([^)]*\))? · ([^·]+?) ·/m;
      const [
        ,
        exit_reason = '',
        steps = '',
        calls,
        failed = 0,
        denied = 0,
        tokens = '',
        cost = '',
      ] = figures.exec(summary) ?? [];
      const bad_calls = `${failed} failed, ${denied} denied`;
      return { exit_reason, steps, calls: Number(calls), bad_calls, tokens, cost };
    },
    shown: () => shown,
  };
}

const isOfRoot = ({ data }: Event) =>
  (data as { parent_call_id?: unknown }).parent_call_id === null;

/** Read from the sent messages. */
function liveView(): View {
  const options = { session_id: 'r_1', call_timeout_ms: null, trace: null, abandoned_ms: null };
  const projector = new LiveProjector(options);
  const open = new Set<string>();
  const texts = new Set<string>();
  let end: LiveMessage<'session_end'>['data'] | null = null;
  let calls = 0;
  let shown = '';
  const take = ({ type, data }: LiveMessage) => {
    const { call_id, message_id, message, content_type, index, delta, counters } = data as Data;
    if (type === 'tool_call_request') {
      calls += 1;
      open.add(call_id);
    } else if (type === 'tool_call_response') open.delete(call_id);
    else if (type === 'session_state') expect(counters.open_calls).toBe(open.size);
    else if (type === 'message_start' && message.role === 'assistant') {
      if (message.parent_call_id === null) texts.add(message.id);
    } else if (type === 'content_block_start' && content_type === 'text') {
      if (texts.has(message_id)) texts.add(`${message_id} ${index}`);
    } else if (type === 'content_block_delta' && texts.has(`${message_id} ${index}`)) {
      shown += delta.text;
    } else if (type === 'session_end') end = data as LiveMessage<'session_end'>['data'];
  };
  return {
    push: (event) => projector.push(event).forEach(take),
    stated() {
      const now = { calls, open_calls: open.size };
      if (end === null) return { ...now, exit_reason: null };
      const { tokens, cost_usd, steps } = end.totals as Data;
      return {
        ...now,
        exit_reason: end.status,
        steps: plural(steps, 'step'),
        tokens: tokensText(tokens),
        cost: costOf(cost_usd),
        final_output: (end as Data).final_output,
      };
    },
    shown: () => forTerminal(shown),
  };
}

/** The longest character that the text view holds back while it may grow. */
const HELD_MAX = 64;
const squeezed = (text: string) => text.replace(/\s+/g, '');

/** Feeds all views, and lists their differences. */
class Comparison {
  readonly differences: string[] = [];
  readonly run = runStateView();
  readonly #outcome = outcomeView();
  readonly #tui = tuiView();
  readonly #live = liveView();
  readonly #human = humanView();

  push(event: Event): void {
    const views = { outcome: this.#outcome, tui: this.#tui, live: this.#live, human: this.#human };
    this.run.push(event);
    const expected = this.run.stated();
    for (const [name, view] of Object.entries(views)) {
      view.push(event);
      // The run state has no such figure: the outcome decides.
      if (name === 'outcome') expected.bad_calls = view.stated().bad_calls as string;
      for (const [figure, value] of Object.entries(view.stated())) {
        const wanted = expected[figure as keyof Stated];
        if (value !== wanted) this.#differs(event, `${name} ${figure}`, value, wanted);
      }
    }
    if (/^(message|run)_/.test(event.kind)) this.#compareTexts(event);
  }

  #compareTexts(event: Event): void {
    const [tui, live, human] = [this.#tui, this.#live, this.#human].map((view) =>
      squeezed(view.shown?.() ?? ''),
    ) as [string, string, string];
    if (live !== tui) this.#differs(event, 'live texts', live, tui);
    const held = event.kind === 'run_finished' ? 0 : HELD_MAX;
    if (!tui.startsWith(human) || tui.length - human.length > held)
      this.#differs(event, 'human texts', human, tui);
  }

  #differs({ seq, kind }: Event, what: string, value: unknown, wanted: unknown): void {
    this.differences.push(`${seq} ${kind}: ${what}: ${value}, not ${wanted}`);
  }
}

const root = join(import.meta.dirname, '../..');

for (const agent of await allAgents()) {
  test(`${agent.id}: all views agree after every event of every recording`, async () => {
    const dir = join(root, 'src/agents', agent.id, 'testdata');
    const wrong: string[] = [];
    const seen = { recordings: 0, events: 0 };
    for (const recording of existsSync(dir) ? recordingsIn(dir) : []) {
      const views = new Comparison();
      for (const event of await wholeRun(agent, recording)) {
        views.push(event);
        seen.events += 1;
      }
      seen.recordings += 1;
      for (const difference of views.differences)
        wrong.push(`${recording.scenario} ${recording.channel} ${difference}`);
    }
    expect(wrong).toEqual([]);
    expect(seen.recordings).toBeGreaterThan(0);
    expect(seen.events).toBeGreaterThan(seen.recordings);
  });
}

const figure = fc.option(fc.integer({ min: 0, max: 1_000_000 }));
const words = fc.constantFrom('Hello', ' wor', 'ld.', '\n', '', 'héé');
const message_id = fc.constantFrom('m1', 'm2', null);

const usage: fc.Arbitrary<Partial<DataOf<'usage_reported'>>> = fc.record({
  mode: fc.constantFrom('add', 'total'),
  usage: fc.record({
    input: figure,
    output: figure,
    cache_read: figure,
    cache_write: figure,
    reasoning: figure,
  }),
  cost_usd: fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 400 })),
});

type Made = { [K in Event['kind']]: [K, Partial<DataOf<K>>] }[Event['kind']];

/** A message in pieces, then complete, with a part that was not streamed. */
const spoken = fc.record({ pieces: fc.array(words), rest: words, message_id }).map((said) => {
  const { pieces, rest, message_id } = said;
  const deltas = pieces.map((text): Made => ['message_delta', { text, message_id }]);
  const whole: Made = ['message_finished', { text: pieces.join('') + rest, message_id }];
  return [...deltas, whole];
});

/** Any other event that can follow. */
const next = fc.oneof(
  usage.map((data): Made => ['usage_reported', data]),
  fc
    .record({ text: words, message_id, parent_call_id: fc.constantFrom(null, null, 'c1') })
    .map((data): Made => ['message_delta', data]),
  fc
    .record({
      text: words,
      message_id,
      synthetic: fc.boolean(),
      role: fc.constantFrom('assistant', 'assistant', 'user'),
    })
    .map((data): Made => ['message_finished', data]),
  fc.constantFrom<Made>(
    ['step_started', {}],
    ['call_requested', {}],
    ['call_finished', {}],
    ['call_finished', { status: 'unknown' }],
    ['call_updated', { exit_code: 1 }],
    ['provider_retried', {}],
    ['problem', {}],
    ['notice', {}],
    ['skill_used', {}],
  ),
);

/** Events as capture writes them: numbered steps, unique call ids, ends of open calls only. */
function eventsOf(made: readonly Made[], make = createMaker()): Event[] {
  const open: string[] = [];
  let steps = 0;
  let calls = 0;
  return made.flatMap(([kind, data]): Event[] => {
    if (kind === 'step_started') {
      steps += 1;
      return [make(kind, { step_index: steps })];
    }
    if (kind === 'call_requested') {
      calls += 1;
      open.push(`c${calls}`);
      return [make(kind, { call_id: `c${calls}`, native_call_id: `c${calls}` })];
    }
    if (kind !== 'call_finished' && kind !== 'call_updated') return [make(kind, data)];
    const call_id = kind === 'call_finished' ? open.shift() : open[0];
    return call_id === undefined ? [] : [make(kind, { ...data, call_id })];
  });
}

test('all views agree after every event of a random run', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(spoken, fc.tuple(next)), { maxLength: 20 }), (made) => {
      const views = new Comparison();
      const make = createMaker();
      const events = eventsOf([['run_started', {}], ...made.flat()], make);
      for (const event of events) views.push(event);
      const { state } = views.run;
      for (const call_id of [...state.calls.open.keys()])
        views.push(make('call_finished', { call_id, status: 'cancelled' }));
      views.push(make('run_finished', runFinished(state, demo, QUIET_ENDING)));
      expect(views.differences).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

test('a total without a figure makes the figure unknown in every view', () => {
  const none = { input: null, output: null, cache_read: null, cache_write: null, reasoning: null };
  const views = new Comparison();
  const used = { ...none, input: 100 };
  const [first, second] = eventsOf([
    ['usage_reported', { mode: 'add', usage: used, cost_usd: 0.5 }],
    ['usage_reported', { mode: 'total', usage: none, cost_usd: null }],
  ]) as [Event, Event];
  views.push(first);
  expect(views.run.stated()).toMatchObject({ tokens: '100 tokens', cost: '$0.5000' });
  views.push(second);
  expect(views.run.stated()).toMatchObject({ tokens: 'tokens unknown', cost: 'cost unknown' });
  expect(views.differences).toEqual([]);
});
