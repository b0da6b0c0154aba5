import { expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { kindsOf, pipelineFor } from '../../test/test-agent.ts';
import { demo } from '../agents/demo/index.ts';
import type { CallRequestedDraft, Draft, DraftOf } from '../model/draft.ts';
import type { Event } from '../model/event.ts';
import { problem } from './decode.ts';
import { Reconciler } from './reconcile.ts';

const raw = { channel: 'session', line: 1, offset: 0 } as const;

verifies(
  ['AG-4', 'AG-16'],
  'a call that only the session file has is recorded the same, whatever name it was looked up by',
  () => {
    const calls: Partial<CallRequestedDraft>[] = [
      { native_tool: 'edit_file' },
      { native_tool: 'invalid', looked_up_as: 'edit_file' },
      { native_tool: 'invalid', looked_up_as: 'hologram' },
      { native_tool: 'invalid', looked_up_as: 'mcp__toy__add' },
      { native_tool: 'invalid', mcp: { server: 'toy', tool: 'add' } },
      { native_tool: 'hologram' },
    ];
    const drafts = calls.map((call, n): Draft => {
      const input = { path: 'a.txt' };
      const data = { call_id: `c${n}`, native_tool: '', input, parent_call_id: null, ...call };
      return { kind: 'call_requested', at_ms: 1_000, data };
    });
    const session = pipelineFor(demo, 'session');
    const filed = drafts.flatMap((draft) => session.draft(draft, raw));
    const live = pipelineFor(demo, 'stdout');
    const reconciler = new Reconciler(demo, live.state);
    const added = drafts
      .flatMap((draft) => reconciler.draft(draft))
      .flatMap((draft) => live.draft(draft, raw));
    const dataOf = (events: typeof added) =>
      kindsOf([...events], 'call_requested').map(({ data }) => data);
    const filled = dataOf([...added, ...live.finish()]);
    expect(filled.map(({ tool, row }) => [tool, row])).toEqual([
      ['Edit', 'demo:edit_file'],
      ['Edit', 'demo:edit_file'],
      ['hologram', 'pass'],
      ['mcp__toy__add', 'mcp'],
      ['mcp__toy__add', 'mcp'],
      ['hologram', 'pass'],
    ]);
    expect(filled).toEqual(dataOf([...filed, ...session.finish()]));
  },
);

verifies('AG-4', 'a problem of the session files as a whole is a problem of the run', () => {
  const drafts = [
    problem('reconcile', 'bad_record', 'a file was left out'),
    problem('decode', 'bad_record', 'of a line'),
  ];
  const reconciler = new Reconciler(demo, pipelineFor(demo, 'stdout').state);
  expect(drafts.flatMap((draft) => reconciler.draft(draft))).toEqual([drafts[0]]);
});

/** The drafts of the session file of a run without a stream, and the events made of them. */
function filled(drafts: readonly Draft[]) {
  const live = pipelineFor(demo, 'stdout');
  const reconciler = new Reconciler(demo, live.state);
  const given: Draft[] = [];
  const events: Event[] = [];
  for (const draft of drafts) {
    for (const own of reconciler.draft(draft)) {
      given.push(own);
      events.push(...live.draft(own, raw));
    }
  }
  return { given, events };
}

const requested = (at_ms?: number): Draft => {
  const data = { call_id: 'c', native_tool: 'edit_file', input: {}, parent_call_id: null };
  return { kind: 'call_requested', at_ms, data };
};
const finished = (at_ms?: number, more = {}): Draft => {
  const data = { call_id: 'c', status: 'ok', exit_code: null, output: 'done', ...more } as const;
  return { kind: 'call_finished', at_ms, data };
};
const failed: Draft = {
  kind: 'call_updated',
  at_ms: 1_700,
  data: { call_id: 'c', status: 'error', exit_code: 1 },
};

/** Kind, status and duration of the events of calls. */
const gist = (...drafts: Draft[]) =>
  filled(drafts).events.flatMap(({ kind, data }) => {
    const { status = '', duration_ms = '' } = data as Record<string, unknown>;
    return kind.startsWith('call_') ? [`${kind} ${status} ${duration_ms}`.trim()] : [];
  });

verifies(['AG-3', 'AG-16'], 'a call is filled in once, however often its file repeats it', () => {
  const once = ['call_requested', 'call_started', 'call_finished ok 500'];
  expect(gist(requested(1_000), finished(1_500))).toEqual(once);
  expect(gist(requested(1_000), requested(1_200), finished(1_500))).toEqual(once);
  expect(gist(requested(1_000), finished(1_500), finished(1_700))).toEqual(once);
  expect(gist(finished(1_500))).toEqual([]);
  expect(gist(finished(1_500, { native_tool: 'edit_file' }))).toEqual([
    'call_requested',
    'call_started',
    'call_finished ok 0',
  ]);
});

verifies(['AG-9', 'AG-16'], 'a later update of a call in its file ends or changes it', () => {
  const begun = ['call_requested', 'call_started'];
  expect(gist(requested(1_000), failed)).toEqual([...begun, 'call_finished error 700']);
  expect(gist(requested(1_000), finished(1_500), failed)).toEqual([
    ...begun,
    'call_finished ok 500',
    'call_updated error',
  ]);
  expect(gist(failed)).toEqual([]);
});

verifies('AG-16', 'the duration of a filled call is taken from its file, or unknown', () => {
  const durationOf = (...drafts: Draft[]) =>
    (filled(drafts).given.at(-1) as DraftOf<'call_finished'>).data.duration_ms;
  expect(durationOf(requested(1_000), finished(1_500, { duration_ms: 7 }))).toBe(7);
  expect(durationOf(requested(1_000), finished(1_500, { duration_ms: -7 }))).toBe(500);
  expect(durationOf(requested(1_500), finished(1_000))).toBe(0);
  expect(durationOf(requested(), finished(1_500))).toBe(null);
  expect(durationOf(requested(1_000), finished())).toBe(null);
});
