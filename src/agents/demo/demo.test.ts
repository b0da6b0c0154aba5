import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, outcomeOf, testAgent } from '../../../test/test-agent.ts';
import type { Decoder, LaunchRequest } from '../../model/agent.ts';
import type { Draft } from '../../model/draft.ts';
import { CANONICAL_TOOLS, EXIT_REASONS, RUN_EVENT_TYPES } from '../../model/words.ts';
import { createRunEventProjection } from '../../projections/run-event.ts';
import { demo } from './index.ts';
import { session } from './session.ts';
import { RECORD_TYPES, stream } from './stream.ts';

const testdata = join(import.meta.dirname, 'testdata');
const scenarios = readdirSync(testdata).filter((name) => !name.endsWith('.json'));

function drafts(records: unknown[], decoder: Decoder = stream()): Draft[] {
  const out: Draft[] = [];
  for (const record of records) decoder.record(record, out);
  decoder.end(out);
  return out;
}

function recorded(scenario: string): Record<string, unknown>[] {
  const text = readFileSync(join(testdata, scenario, 'stdout.jsonl'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const problem = (code: 'unknown_record' | 'bad_record', detail: string): Draft => ({
  kind: 'problem',
  data: { stage: 'decode', code, detail, bytes: null, sha256: null, excerpt: null },
});

describe('the decoder', () => {
  test('reads a call from its request to its end, with times if the records have them', () => {
    const records = [
      { t: 'call', at: '2026-01-01T00:00:01.000Z', id: 'c1', tool: 'run', input: { cmd: 'ls' } },
      { t: 'permission', request: 'p1', call: 'c1', tool: 'run', reason: 'why' },
      { t: 'decision', request: 'p1', call: 'c1', tool: 'run', decision: 'allow', source: 'user' },
      { t: 'call_start', call: 'c1' },
      { t: 'call_output', call: 'c1', text: 'a\n' },
      { t: 'call_retry', call: 'c1', attempt: 1, max: 2, why: 'transient', action: 'retry' },
      { t: 'file', call: 'c1', path: 'a', operation: 'created', size: 2 },
      { t: 'call_end', call: 'c1', status: 'error', exit_code: 3, output: 'a\n', ms: 12 },
      { t: 'call_late', call: 'c1', status: 'ok', exit_code: 0 },
    ];
    const ids = { request_id: 'p1', call_id: 'c1', tool: 'run' };
    const expected: Draft[] = [
      {
        kind: 'call_requested',
        at_ms: Date.UTC(2026, 0, 1, 0, 0, 1),
        data: { call_id: 'c1', native_tool: 'run', input: { cmd: 'ls' }, parent_call_id: null },
      },
      { kind: 'permission_asked', data: { ...ids, reason: 'why' } },
      { kind: 'permission_answered', data: { ...ids, decision: 'allow', source: 'user' } },
      {
        kind: 'call_decided',
        data: { call_id: 'c1', decision: 'allow', reason: null, source: 'user' },
      },
      { kind: 'call_started', data: { call_id: 'c1' } },
      {
        kind: 'call_progress',
        data: { call_id: 'c1', text: 'a\n', elapsed_ms: null, stream: null },
      },
      {
        kind: 'call_retried',
        data: {
          call_id: 'c1',
          attempt: 1,
          max_retries: 2,
          failure_class: 'transient',
          action: 'retry',
        },
      },
      {
        kind: 'file_changed',
        data: {
          path: 'a',
          operation: 'created',
          call_id: 'c1',
          source: 'tool',
          diff: null,
          size: 2,
        },
      },
      {
        kind: 'call_finished',
        data: { call_id: 'c1', status: 'error', exit_code: 3, output: 'a\n', duration_ms: 12 },
      },
      { kind: 'call_updated', data: { call_id: 'c1', status: 'ok', exit_code: 0 } },
    ];
    expect(drafts(records)).toEqual(expected);
  });

  verifies('AG-12', "attributes a sub-agent's texts to its call and ignores its turns", () => {
    const records = [
      { t: 'turn', id: 't1' },
      { t: 'turn', id: 't2', parent: 'c1' },
      { t: 'text', id: 'm2', parent: 'c1', text: 'below' },
    ];
    expect(drafts(records)).toEqual([
      {
        kind: 'step_started',
        data: { step_id: 't1', allowed_tools: null, enforcement_mode: null },
      },
      {
        kind: 'message_finished',
        data: {
          message_id: 'm2',
          parent_call_id: 'c1',
          role: 'assistant',
          text: 'below',
          synthetic: false,
          partial: false,
        },
      },
    ]);
  });

  verifies('AG-2', 'reports unknown and unreadable records as problems', () => {
    const records = [{ t: 'news' }, {}, [1], null, { t: 'call' }, { t: 'end', reason: 'bored' }];
    expect(drafts([...records, { t: 'constructor' }])).toEqual([
      problem('unknown_record', 'news'),
      problem('bad_record', 'no type'),
      problem('bad_record', 'record is not an object'),
      problem('bad_record', 'record is not an object'),
      problem('bad_record', 'call'),
      problem('bad_record', 'end'),
      problem('unknown_record', 'constructor'),
    ]);
  });

  verifies('AG-2', 'never throws, whatever a record holds', () => {
    const values = scenarios.flatMap(recorded);
    const record = fc.record({ t: fc.constantFrom(...RECORD_TYPES) }).chain((base) => {
      const fields = [...new Set(values.filter((v) => v.t === base.t).flatMap(Object.keys))];
      const others = fields.filter((name) => name !== 't');
      if (others.length === 0) return fc.constant(base);
      return fc
        .dictionary(fc.constantFrom(...others), fc.jsonValue())
        .map((more) => ({ ...more, ...base }));
    });
    const input = fc.array(fc.oneof(record, fc.jsonValue()), { maxLength: 20 });
    fc.assert(
      fc.property(input, (records) => {
        for (const decoder of [stream(), session.decoder({ since_ms: 0 })]) {
          drafts(records, decoder);
        }
      }),
      { numRuns: 300 },
    );
  });
});

testAgent(demo, testdata);

verifies('AG-5', 'the demo reports the tools of its table', () => {
  const { rows, passed_through } = demo.tools;
  const names = [...rows.map((row) => row.native), ...passed_through];
  expect(recorded('default')[0]?.tools).toEqual(names);
  const offered = JSON.parse(readFileSync(join(testdata, 'tools.json'), 'utf8'));
  expect(offered.map(({ name }: { name: string }) => name)).toEqual(names);
  expect(new Set(rows.map((row) => row.tool))).toEqual(new Set(CANONICAL_TOOLS));
});

verifies('RE-8', 'the recordings together show each of the eleven types and every end', () => {
  const types = new Set<string>();
  const ends = new Set<string>();
  for (const scenario of scenarios) {
    const projection = createRunEventProjection({ stream: false });
    const bytes = readFileSync(join(testdata, scenario, 'stdout.jsonl'));
    for (const event of eventsOf(demo, 'stdout', [bytes])) {
      const type = projection.project(event)?.type;
      if (type !== undefined) types.add(type);
      if (event.kind === 'run_finished') ends.add(event.data.exit_reason);
    }
  }
  expect([...types].sort()).toEqual([...RUN_EVENT_TYPES].sort());
  // Tacho's own ends need a process: timeout, cancelled, and failures before and after the agent.
  const own = ['cancelled', 'capture_error', 'pre_run_error', 'timeout'];
  expect([...ends, ...own].sort()).toEqual([...EXIT_REASONS].sort());
});

describe('session files', () => {
  verifies('AG-15', 'are found where they are kept, with the files of sub-agents', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'demo-session-'));
    try {
      mkdirSync(join(folder, 'kept', 'one'), { recursive: true });
      const names = ['one.jsonl', 'one/c2.jsonl', 'one/c1.jsonl', 'one/notes.txt'];
      for (const name of names) writeFileSync(join(folder, 'kept', name), '');
      const env = { TACHO_DEMO_SESSIONS: 'kept' };
      const find = (session_id: string, given = env as NodeJS.ProcessEnv) =>
        session.find({ session_id, cwd: folder, env: given });
      const path = join(folder, 'kept', 'one.jsonl');
      expect(await find('one')).toBe(path);
      expect(await find('one', {})).toBe(null);
      expect(await find('two')).toBe(null);
      expect(await find('../kept/one')).toBe(null);
      expect(await session.parts(path)).toEqual([
        { path, parent_call_id: null },
        { path: join(folder, 'kept', 'one', 'c1.jsonl'), parent_call_id: 'c1' },
        { path: join(folder, 'kept', 'one', 'c2.jsonl'), parent_call_id: 'c2' },
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  verifies('AG-10', 'report the usage of this run once, without earlier runs', () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
    const records = [
      { t: 'usage', at: at(1), input: 1000, output: 1000, cost: 1 },
      { t: 'note', code: 'no time: still earlier' },
      { t: 'usage', at: at(5), input: 10, output: 1, cost: 0.25 },
      { t: 'usage', at: at(6), input: 20, reasoning: 4, cost: 0.5 },
    ];
    const decoder = session.decoder({ since_ms: Date.UTC(2026, 0, 1, 0, 0, 4) });
    const usage = { input: 30, output: 1, cache_read: null, cache_write: null, reasoning: 4 };
    expect(drafts(records, decoder)).toEqual([
      {
        kind: 'usage_reported',
        at_ms: Date.parse(at(6)),
        data: { mode: 'total', usage, cost_usd: 0.75, model: null },
      },
    ]);
  });

  verifies('AG-16', 'contain what a script hides from stdout', () => {
    const bytes = readFileSync(join(testdata, 'session-only', 'stdout.jsonl'));
    const { success, tool_calls, skills_used, metrics } = outcomeOf(
      eventsOf(demo, 'stdout', [bytes]),
    );
    const calls = tool_calls.map(({ id, status, exit_code }) => ({ id, status, exit_code }));
    const { tokens, cost } = metrics;
    const nothing = {
      input: null,
      output: null,
      cache_read: null,
      cache_write: null,
      reasoning: null,
    };
    expect({ success, calls, skills_used, tokens, cost }).toEqual({
      success: true,
      calls: [
        { id: 'c1', status: 'error', exit_code: null },
        { id: 'c2', status: 'denied', exit_code: null },
      ],
      skills_used: [],
      tokens: nothing,
      cost: null,
    });
  });
});

describe('launching', () => {
  const request: LaunchRequest = {
    prompt: 'do "it"\n',
    model: null,
    approve: 'default',
    resume: null,
    stream: false,
    args: [],
    command: null,
    self: { node: '/usr/bin/node', entry: '/opt/demo.js' },
  };

  verifies('AG-18', 'uses this Node with the entry file, the prompt unchanged on stdin', () => {
    expect(demo.launch(request)).toEqual({
      command: '/usr/bin/node',
      args: ['/opt/demo.js'],
      env: {},
      stdin: 'do "it"\n',
    });
  });

  verifies('AG-18', 'passes the request on, with the given arguments last', () => {
    const args = ['--speed', '0', '--session-dir', 'kept'];
    const asked = { model: 'm', approve: 'all', resume: 'one', stream: true, args } as const;
    const flags = ['--model', 'm', '--approve', 'all', '--resume', 'one', '--stream'];
    expect(demo.launch({ ...request, ...asked, command: ['sh', 'demo.sh'] })).toEqual({
      command: 'sh',
      args: ['demo.sh', ...flags, ...args],
      env: { TACHO_DEMO_SESSIONS: 'kept' },
      stdin: 'do "it"\n',
    });
  });
});
