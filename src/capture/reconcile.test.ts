import { expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { kindsOf, pipelineFor } from '../../test/test-agent.ts';
import { demo } from '../agents/demo/index.ts';
import type { CallRequestedDraft, Draft } from '../model/draft.ts';
import { problem } from './decode.ts';
import { createReconciler } from './reconcile.ts';

verifies(
  ['AG-4', 'AG-16'],
  'a call that only the session file has is the same call in the record, whatever it was looked up as',
  () => {
    const raw = { channel: 'session' as const, line: 1, offset: 0 };
    const calls: Partial<CallRequestedDraft>[] = [
      { native_tool: 'edit_file' },
      { native_tool: 'invalid', looked_up_as: 'edit_file' },
      { native_tool: 'invalid', looked_up_as: 'hologram' },
      { native_tool: 'invalid', looked_up_as: 'mcp__toy__add' },
      { native_tool: 'invalid', mcp: { server: 'toy', tool: 'add' } },
      { native_tool: 'hologram' },
    ];
    const session = pipelineFor(demo, 'session');
    const filed = calls.flatMap((call, n) => {
      const input = { path: 'a.txt' };
      const data = { call_id: `c${n}`, native_tool: '', input, parent_call_id: null, ...call };
      return session.draft({ kind: 'call_requested', at_ms: 1_000, data }, raw);
    });
    const live = pipelineFor(demo, 'stdout');
    const reconciler = createReconciler(live.state);
    const added = filed
      .flatMap((event) => reconciler.event(event))
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

verifies('AG-4', 'a problem of the session files as a whole is one of the run', () => {
  const session = pipelineFor(demo, 'session');
  // Without a time of their own: the record begins with one that has it.
  session.draft({ kind: 'step_started', at_ms: 1_000, data: {} } as Draft, null);
  const drafts = [
    problem('reconcile', 'bad_record', 'a file was left out'),
    problem('decode', 'bad_record', 'of a line'),
  ];
  const reconciler = createReconciler(pipelineFor(demo, 'stdout').state);
  const given = drafts
    .flatMap((draft) => session.draft(draft, null))
    .flatMap((event) => reconciler.event(event));
  expect(given).toEqual([drafts[0]]);
});
