import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Schema from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { CONFIG, createMaker, USAGE } from '../../test/build-events.ts';
import { call, transcript } from '../../test/build-transcript.ts';
import { verifies } from '../../test/e2e/verifies.ts';
import { AGENT_IDS, allAgents, findAgent } from '../agents/registry.ts';
import { Pipeline } from '../capture/pipeline.ts';
import { recordedRun } from '../capture/run-info.ts';
import type { Event } from '../model/event.ts';
import { checkTranscript } from '../model/generated/checks.ts';
import type { Transcript, TranscriptCall, TranscriptMessage } from '../model/transcript.ts';
import { agentvLines } from './agentv.ts';
import { atifText } from './atif.ts';
import { transcriptOf, viewOf } from './transcript.ts';

const AGENTS_FOLDER = join(import.meta.dirname, '../agents');
const testdata = (agent: string) => join(AGENTS_FOLDER, agent, 'testdata');

const SAID: TranscriptMessage = {
  index: 0,
  role: 'assistant',
  content: '',
  thinking: null,
  tool_calls: [],
  step: null,
  time_ms: 1_000_001,
  parent_tool_call_id: null,
};

const CALL: TranscriptCall = {
  id: 'c1',
  name: 'Bash',
  native_name: 'bash',
  input: { command: 'npm test' },
  output: 'done',
  status: 'ok',
  exit_code: 0,
  reads: [],
  start_time_ms: 1_000_004,
  end_time_ms: 1_000_005,
  duration_ms: 12,
};

/** Role, text, thinking and names of calls of every message. */
const shape = (events: Event[]) =>
  transcriptOf(events).messages.map(({ role, content, thinking, tool_calls }) =>
    [role, content, thinking, ...tool_calls.map((call) => `${call.id} ${call.status}`)].filter(
      (part) => part !== null,
    ),
  );

describe('a transcript', () => {
  verifies('TR-1', 'contains the messages with their calls, and the facts of the outcome', () => {
    const make = createMaker();
    const made = transcriptOf([
      make('run_started', { config: { ...CONFIG, target: 'toy' } }),
      make('step_started', {}, { step: 1 }),
      make('message_finished', { text: 'I test.' }, { step: 1 }),
      make('call_requested', {}, { step: 1 }),
      make('call_started', {}, { step: 1 }),
      make('call_finished', {}, { step: 1 }),
      make('process_exited'),
      make('run_finished'),
    ]);
    expect(checkTranscript(made)).toBe(true);
    const start = made.start_time_ms as number;
    expect(made).toEqual({
      schema_version: 'tacho.transcript.v1',
      test_id: null,
      run_id: 'r_1',
      session_id: 's1',
      agent: 'demo',
      agent_version: '1.0',
      target: 'toy',
      model: 'toy',
      success: true,
      exit_reason: 'ok',
      terminal_evidence: 'native_result',
      final_output: 'Hello.',
      skills_used: [],
      start_time_ms: start,
      end_time_ms: start + 7,
      duration_ms: 1234,
      steps: 1,
      tool_calls_count: 1,
      token_usage: USAGE,
      cost_usd: 0.0123,
      cost_source: 'agent',
      completeness: { grade: 'complete', gaps: [], filled: [] },
      source: { kind: 'run', path: null, cwd: '/home/user/project' },
      messages: [
        { ...SAID, role: 'user', content: 'Say hello', time_ms: start },
        {
          ...SAID,
          index: 1,
          content: 'I test.',
          step: 1,
          time_ms: start + 2,
          tool_calls: [{ ...CALL, start_time_ms: start + 4, end_time_ms: start + 5 }],
        },
      ],
    });
  });

  test('joins pieces of text, also if the complete text never arrives', () => {
    const make = createMaker();
    const piece = (text: string, message_id: string | null) =>
      make('message_delta', { text, message_id });
    expect(
      shape([
        piece('One', 'a'),
        piece(' two', 'a'),
        make('message_finished', { text: 'One two.', message_id: 'a' }),
        make('message_finished', { text: 'Three.', message_id: 'a' }),
        piece('Fo', 'b'),
        piece('ur', 'b'),
        make('thinking_delta', { text: 'Hm', message_id: 'other' }),
        piece(', five', 'b'),
      ]),
    ).toEqual([
      ['assistant', 'One two.\nThree.'],
      ['assistant', 'Four, five', 'Hm'],
    ]);
  });

  test('begins a message with each step, and with text after a call', () => {
    const make = createMaker();
    const call = (call_id: string) => make('call_requested', { call_id, native_call_id: call_id });
    const end = (call_id: string) => make('call_finished', { call_id });
    expect(
      shape([
        make('step_started'),
        make('thinking_finished', { text: 'Think.', message_id: 't1' }),
        call('a'),
        call('b'),
        end('b'),
        end('a'),
        make('thinking_finished', { text: 'Again.', message_id: 't2' }),
        make('message_finished', { text: 'Then.', message_id: 'm2' }),
        make('step_started'),
        call('c'),
      ]),
    ).toEqual([
      ['assistant', '', 'Think.', 'a ok', 'b ok'],
      ['assistant', 'Then.', 'Again.'],
      ['assistant', '', 'c unknown'],
    ]);
  });

  test('separates sub-agents, each with the call that started it', () => {
    const make = createMaker();
    const parent_call_id = 'task';
    const made = transcriptOf([
      make('call_requested', { call_id: 'task', native_call_id: 'task', tool: 'Task' }),
      make('message_finished', { role: 'user', text: 'Look.', synthetic: true, parent_call_id }),
      make('message_finished', { text: 'I look.', message_id: 's', parent_call_id }),
      make('call_requested', { call_id: 'r', native_call_id: 'r', parent_call_id }),
      make('call_finished', { call_id: 'r' }),
      make('call_finished', { call_id: 'task', output: 'Seen.' }),
      make('message_finished', { text: 'All seen.', message_id: 'm2' }),
    ]);
    expect(
      made.messages.map(({ role, content, parent_tool_call_id, tool_calls }) => [
        role,
        content,
        parent_tool_call_id,
        tool_calls.map((call) => call.id).join(),
      ]),
    ).toEqual([
      ['assistant', '', null, 'task'],
      ['user', 'Look.', 'task', ''],
      ['assistant', 'I look.', 'task', 'r'],
      ['assistant', 'All seen.', null, ''],
    ]);
  });

  test('contains repeated prompts and messages once, and messages of the CLI as the system', () => {
    const make = createMaker();
    const said = make('message_finished', { text: 'Hello.', message_id: 'm1' });
    expect(
      shape([
        make('run_started', { prompt: 'Say hello' }),
        make('message_finished', { role: 'user', text: 'Say hello\n', message_id: null }),
        make('step_started'),
        said,
        make('step_started'),
        said,
        make('message_finished', { text: 'API error', synthetic: true, message_id: 'e' }),
        make('message_finished', { role: 'user', text: 'Say hello', message_id: null }),
      ]),
    ).toEqual([
      ['user', 'Say hello'],
      ['assistant', 'Hello.'],
      ['system', 'API error'],
      ['user', 'Say hello'],
    ]);
  });

  test('places calls that only the session file has before the answer', () => {
    const make = createMaker();
    const live = { raw: { channel: 'stdout', line: 1, offset: 0 } } as const;
    const filed = { raw: { channel: 'session', line: 9, offset: 0 } } as const;
    const made = transcriptOf([
      make('run_started', {}, live),
      make('message_finished', { text: 'Not allowed.' }, live),
      make('call_requested', {}, filed),
      make('call_finished', { status: 'denied' }, filed),
      make('call_updated', { exit_code: 7 }, filed),
    ]);
    expect(
      made.messages.map(({ index, content, tool_calls }) => [index, content, tool_calls.length]),
    ).toEqual([
      [0, 'Say hello', 0],
      [1, '', 1],
      [2, 'Not allowed.', 0],
    ]);
    expect(made.messages[1]?.tool_calls[0]).toMatchObject({ status: 'denied', exit_code: 7 });
  });
});

/** The canonical fields of a tool's input; native fields differ between agents. */
const FIELDS: Readonly<Record<string, string[]>> = {
  Read: ['file_path'],
  Bash: ['command'],
  Write: ['file_path', 'content'],
  Edit: ['file_path', 'old_string', 'new_string'],
  Skill: ['skill'],
};

const fieldsOf = ({ name, input }: TranscriptCall) =>
  FIELDS[name]?.filter((field) => Object.hasOwn(input as object, field)) ??
  Object.keys(input ?? {});

/** The parts that two transcripts of one scenario share: roles, texts, names, fields, order, pairs. */
const skeleton = ({ messages }: Transcript) =>
  messages
    .filter(({ role }) => role !== 'system')
    .map((message) => ({
      index: message.role,
      content: message.role === 'user' ? '' : message.content,
      parent: message.parent_tool_call_id === null,
      calls: message.tool_calls.map((call) => ({
        name: call.name,
        status: call.status,
        fields: fieldsOf(call),
        answered: call.output !== null,
      })),
    }));

async function recorded(id: string, scenario: string): Promise<Transcript> {
  const agent = await findAgent(id);
  if (agent === undefined) throw new Error(`no agent ${id}`);
  const pipeline = new Pipeline({
    agent,
    primary: 'stdout',
    now: null,
    info: recordedRun('r_1', id),
  });
  const bytes = readFileSync(join(testdata(id), scenario, 'stdout.jsonl'));
  return transcriptOf([
    ...pipeline.push('stdout', bytes),
    ...pipeline.endOfInput('stdout'),
    ...pipeline.finish(),
  ]);
}

/** Agents that were recorded with the same model output, and so did the same. */
const ALIKE: Readonly<Record<string, string[][]>> = {
  text: [
    ['claude', 'copilot'],
    ['codex', 'gemini', 'qwen'],
    ['opencode', 'pi'],
  ],
  read: [
    ['claude', 'copilot'],
    ['codex', 'gemini', 'qwen'],
    ['opencode', 'pi'],
  ],
  'bash-fail': [
    ['claude', 'copilot'],
    ['codex', 'qwen'],
  ],
  'write-edit': [
    ['claude', 'copilot'],
    ['opencode', 'pi'],
  ],
  skill: [
    ['claude', 'copilot'],
    ['gemini', 'qwen'],
  ],
  mcp: [
    ['claude', 'copilot'],
    ['opencode', 'pi'],
  ],
  denied: [['opencode', 'pi']],
};

describe('the same scenario', () => {
  for (const [scenario, groups] of Object.entries(ALIKE)) {
    for (const [first = '', ...others] of groups) {
      verifies('TR-4', `${scenario} of ${[first, ...others].join(', ')} is the same`, async () => {
        const assistant = (made: Transcript) =>
          skeleton(made).filter(({ index }) => index === 'assistant');
        const expected = assistant(await recorded(first, scenario));
        expect(expected.length).toBeGreaterThan(0);
        for (const id of others)
          expect(assistant(await recorded(id, scenario)), id).toEqual(expected);
      });
    }
  }

  verifies(
    'TR-4',
    'has canonical names, fields and one result per call for every agent',
    async () => {
      // Built-in and generic agents have no recordings of these tasks.
      const agents = (await allAgents()).filter(
        ({ binaries, launch }) => binaries.length > 0 && launch !== null,
      );
      for (const { id, capabilities } of agents) {
        const skill = capabilities.skills === 'never' ? [] : ['skill'];
        for (const scenario of ['read', 'bash-fail', 'write-edit', ...skill]) {
          const made = await recorded(id, scenario);
          const calls = made.messages.flatMap((message) => message.tool_calls);
          expect(new Set(calls.map((call) => call.id)).size, `${id} ${scenario}`).toBe(
            calls.length,
          );
          expect(calls.length, `${id} ${scenario}`).toBe(made.tool_calls_count);
          expect(made.messages.map(({ index }) => index)).toEqual([...made.messages.keys()]);
          const last = made.messages.at(-1);
          expect([last?.role, last?.content.trim(), last?.tool_calls]).toEqual([
            'assistant',
            made.final_output,
            [],
          ]);
          for (const call of calls)
            expect(Object.keys(FIELDS), `${id} ${call.name}`).toContain(call.name);
        }
      }
    },
  );
});

interface Step {
  step_id: number;
  source: string;
  tool_calls?: { tool_call_id: string }[];
  observation?: { results: { source_call_id: string }[] };
}
interface Trajectory {
  steps: Step[];
  subagent_trajectories?: (Trajectory & { trajectory_id: string })[];
}

/** The rules of ATIF that its schema cannot express. */
function crossFaults({ steps, subagent_trajectories = [] }: Trajectory): string[] {
  const faults = steps.flatMap((step, at) => {
    const calls = (step.tool_calls ?? []).map((call) => call.tool_call_id);
    const results = (step.observation?.results ?? []).map((result) => result.source_call_id);
    return [
      ...(step.step_id === at + 1 ? [] : [`step ${at + 1} is numbered ${step.step_id}`]),
      ...results.filter((id) => !calls.includes(id)).map((id) => `${id} is dangling`),
      ...(calls.length > 0 && step.source !== 'agent' ? [`step ${at + 1} calls`] : []),
    ];
  });
  return [...faults, ...subagent_trajectories.flatMap(crossFaults)];
}

const atif = (made: Transcript) => JSON.parse([...atifText(viewOf(made))].join('')) as Trajectory;

describe('every recording', () => {
  const schema = Schema.Compile(
    JSON.parse(
      readFileSync(
        join(import.meta.dirname, '../../test/fixtures/data/atif-v1.7.schema.json'),
        'utf8',
      ),
    ),
  );
  const scenarios = AGENT_IDS.flatMap((id) =>
    readdirSync(testdata(id))
      .filter((scenario) => existsSync(join(testdata(id), scenario, 'stdout.jsonl')))
      .map((scenario) => [id, scenario] as const),
  );

  verifies('TR-1', 'makes a transcript that matches the schema', async () => {
    expect(scenarios.length).toBeGreaterThan(150);
    for (const [id, scenario] of scenarios) {
      const made = await recorded(id, scenario);
      expect(checkTranscript(JSON.parse(JSON.stringify(made))), `${id} ${scenario}`).toBe(true);
    }
  });

  verifies('TR-5', 'makes a valid ATIF trajectory', async () => {
    const wrong: unknown[] = [];
    for (const [id, scenario] of scenarios) {
      const made = atif(await recorded(id, scenario));
      if (!schema.Check(made)) wrong.push([id, scenario, schema.Errors(made)]);
      const faults = crossFaults(made);
      if (faults.length > 0) wrong.push([id, scenario, faults]);
    }
    expect(wrong).toEqual([]);
    const agent = { name: 'a', version: '1' };
    expect(schema.Check({ agent, steps: [{ step_id: 1, source: 'agent' }] })).toBe(true);
    for (const step of [
      { step_id: 0, source: 'agent' },
      { step_id: 1, source: 'me' },
    ])
      expect(schema.Check({ agent, steps: [step] })).toBe(false);
    expect(schema.Check({ agent, steps: [], more: 1 })).toBe(false);
  });

  verifies('TR-5', 'makes rows in the form of AgentV', async () => {
    for (const [id, scenario] of scenarios) {
      const made = await recorded(id, scenario);
      const rows = [...agentvLines(viewOf(made), 'the-test')].map((line) => JSON.parse(line));
      expect(rows.map((row) => row.message_index)).toEqual([...made.messages.keys()]);
      for (const row of rows) {
        expect(row).toMatchObject({ schema_version: 'agentv.transcript.v1', test_id: 'the-test' });
        expect(typeof row.source.session_id).toBe('string');
        for (const call of row.tool_calls ?? [])
          expect(['ok', 'error', 'unknown']).toContain(call.status);
      }
    }
  });
});

test('a sub-agent is a separate trajectory that its call refers to', async () => {
  const made = atif(await recorded('claude', 'subagent-forward'));
  const task = made.steps.find((step) => step.tool_calls !== undefined);
  expect(task?.observation?.results).toMatchObject([
    { subagent_trajectory_ref: [{ trajectory_id: 'toolu_mock_0001' }] },
  ]);
  const [sub] = made.subagent_trajectories ?? [];
  expect(sub?.trajectory_id).toBe('toolu_mock_0001');
  expect(sub?.steps.map((step) => step.source)).toEqual(['user', 'agent', 'agent']);
});

verifies('TR-5', 'times outside the range of dates are unknown in ATIF and AgentV', () => {
  const NO_DATE = 9e15;
  const called = call('Bash', {}, { start_time_ms: NO_DATE, end_time_ms: NO_DATE });
  const made = transcript([called], { start_time_ms: NO_DATE, end_time_ms: NO_DATE });
  for (const message of made.messages) message.time_ms = NO_DATE;
  expect(atif(made).steps).toMatchObject([{ timestamp: null }]);
  const rows = [...agentvLines(viewOf(made), null)];
  expect(rows).toHaveLength(1);
  expect(rows.join('')).not.toMatch(/"(start_time|end_time|timestamp)"/);
});

verifies('TR-5', 'AgentV gets a call’s canonical name, and denied calls as failed', async () => {
  const rows = [...agentvLines(viewOf(await recorded('claude', 'denied')), null)].map((line) =>
    JSON.parse(line),
  );
  const calls = rows.flatMap((row) => row.tool_calls ?? []);
  expect(calls.map(({ tool, status }) => [tool, status])).toEqual([
    ['Bash', 'error'],
    ['Write', 'error'],
  ]);
  expect(rows.at(-1)).toMatchObject({ role: 'assistant', content: 'I was not allowed to.' });
  expect(new Set(rows.map((row) => row.test_id)).size).toBe(1);
});
