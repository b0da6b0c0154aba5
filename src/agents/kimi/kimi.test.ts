import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import {
  eventsOf,
  filledIn,
  kindsOf,
  outcomeOf,
  pipelineFor,
  recordingsIn,
  testAgent,
} from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import { kimi } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');
testAgent(kimi, testdata);

const lines = (...records: object[]) => [
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join('')),
];
const recorded = (scenario: string, channel: 'stdout' | 'session') =>
  recordingsIn(testdata).find((one) => one.scenario === scenario && one.channel === channel)!;

describe('stdout', () => {
  const statusOf = (name: string, content: string) => {
    const call = { id: '1', type: 'function', function: { name, arguments: '{}' } };
    const records = lines(
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: '1', content },
    );
    const [end] = kindsOf(eventsOf(kimi, 'stdout', records), 'call_finished');
    return [end?.data.status, end?.data.exit_code];
  };

  verifies('AG-9', 'a status is known only if the text is one of the CLI itself', () => {
    expect([
      statusOf('Bash', 'a\nCommand failed with exit code: 127.'),
      statusOf('Bash', 'Command failed with exit code: 1.\nmore'),
      statusOf('Bash', 'x\nCommand killed by timeout (2s)'),
      statusOf('Bash', 'fine\n'),
      statusOf('Read', 'Command failed with exit code: 3.'),
      statusOf('Write', 'Wrote 5 bytes to a'),
      statusOf('Read', 'Wrote 5 bytes to a'),
      statusOf('Edit', 'Tool "Edit" was denied by permission rule.'),
    ]).toEqual([
      ['error', 127],
      ['unknown', null],
      ['timeout', null],
      ['unknown', null],
      ['unknown', null],
      ['ok', null],
      ['unknown', null],
      ['denied', null],
    ]);
  });

  verifies('AG-16', 'the session file adds status, tokens, thinking and sub-agents', async () => {
    const pipeline = pipelineFor(kimi, 'stdout');
    const events = pipeline.push('stdout', recorded('subagent', 'stdout').bytes);
    events.push(...pipeline.endOfInput('stdout'));
    events.push(...(await filledIn(kimi, pipeline, recorded('subagent', 'session'))));
    events.push(...pipeline.finish());
    const { tool_calls, metrics } = outcomeOf(events);
    expect(tool_calls.map(({ name, status, parent_id }) => [name, status, parent_id])).toEqual([
      ['Task', 'ok', null],
      ['Read', 'ok', 'call_0001'],
      ['Bash', 'error', 'call_0001'],
    ]);
    expect(metrics.tokens.input).toBe(3780);
  });

  verifies('AG-2', 'records without required fields are problems', () => {
    const events = eventsOf(
      kimi,
      'stdout',
      lines(
        { role: 'assistant', tool_calls: [{ id: '1' }] },
        { role: 'tool', content: 'x' },
        { role: 'meta' },
        { role: 'robot' },
        {},
      ),
    );
    expect(kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`)).toEqual([
      'bad_record tool call without id or name',
      'bad_record tool result without id',
      'unknown_record meta/no type',
      'unknown_record robot',
      'bad_record no type',
      'no_end_record the stream has no end record',
    ]);
  });
});

describe('session files', () => {
  const asked = {
    type: 'interaction.request',
    agentId: 'main',
    kind: 'approval',
    request: {
      toolCallId: '1',
      toolName: 'Bash',
      action: 'Running: ls',
      display: { kind: 'command', command: 'ls' },
    },
    time: 1_794_994_527_444,
  };

  test('a question that nobody has answered yet is an open call that needs approval', () => {
    const events = eventsOf(kimi, 'session', lines(asked));
    const [request] = kindsOf(events, 'call_requested');
    expect([request?.data.tool, request?.data.input]).toMatchObject(['Bash', { command: 'ls' }]);
    const decisions = kindsOf(events, 'call_decided').map(({ data }) => data.decision);
    expect(decisions).toEqual(['require_approval']);
  });

  test('an answered question is a decision about the call that follows', () => {
    const events = eventsOf(
      kimi,
      'session',
      lines(
        asked,
        {
          type: 'permission.record_approval_result',
          agentId: 'main',
          toolCallId: '1',
          result: { decision: 'rejected', selectedLabel: 'Reject' },
        },
        {
          type: 'context.append_loop_event',
          agentId: 'main',
          event: { type: 'tool.call', toolCallId: '1', name: 'Bash', args: { command: 'ls -l' } },
        },
      ),
    );
    const requests = kindsOf(events, 'call_requested').map(({ data }) => data.input);
    expect(requests).toEqual([{ command: 'ls -l' }]);
    const decisions = kindsOf(events, 'call_decided').map(({ data }) => data.decision);
    expect(decisions).toEqual(['deny']);
  });

  verifies('AG-10', 'a resumed run counts only its own turns', async () => {
    const { bytes } = recorded('resume', 'session');
    const second = /"type":"turn.prompt".*?"time":(\d+)/g;
    const times = [...bytes.toString('utf8').matchAll(second)].map(([, time]) => Number(time));
    const decoder = kimi.session!.decoder({ since_ms: times[1]! });
    const drafts: Parameters<typeof decoder.record>[1] = [];
    for (const line of bytes.toString('utf8').trim().split('\n'))
      decoder.record(JSON.parse(line), drafts);
    decoder.end(drafts);
    const usage = drafts.filter(({ kind }) => kind === 'usage_reported');
    expect([times.length, usage.length]).toEqual([2, 2]);
    const [session] = drafts.filter((draft) => draft.kind === 'session_started');
    expect(session?.data.model).toBe('scripted');
  });
});

describe('launch', () => {
  const request: LaunchRequest = {
    prompt: '--help "x"',
    model: null,
    approve: 'default',
    resume: null,
    stream: false,
    args: [],
    command: null,
    self: { node: 'node', entry: 'entry' },
  };

  verifies('AG-18', 'the prompt is joined with its option, and a longer one is refused', () => {
    expect(kimi.launch({ ...request, model: 'm', resume: 's', args: ['--plan'] })).toEqual({
      command: 'kimi',
      args: [
        '--prompt=--help "x"',
        '--output-format',
        'stream-json',
        '--model',
        'm',
        '--session',
        's',
        '--plan',
      ],
      env: { KIMI_CODE_NO_AUTO_UPDATE: '1' },
      stdin: null,
    });
    expect(() => kimi.launch({ ...request, prompt: 'x'.repeat(140_000) })).toThrow(
      'put the text into a file',
    );
  });
});
