import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, outcomeOf, recordingsIn, testAgent } from '../../../test/test-agent.ts';
import type { LaunchRequest } from '../../model/agent.ts';
import { cline } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');
testAgent(cline, testdata);

const lines = (...records: object[]) => [
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join('')),
];
const event = (fields: object) => ({ type: 'agent_event', event: fields });
const tool = { contentType: 'tool', toolCallId: '1' };

verifies('AG-15', 'a session file as the CLI formats it gives the same run', () => {
  for (const { bytes, channel, scenario } of recordingsIn(testdata)) {
    if (channel !== 'session') continue;
    const formatted = JSON.stringify(JSON.parse(bytes.toString('utf8')), null, 2);
    const runs = [bytes, Buffer.from(formatted)].map((form) =>
      outcomeOf(eventsOf(cline, 'session', [form])),
    );
    expect(runs[1], scenario).toEqual(runs[0]);
  }
});

describe('results', () => {
  const end = (toolName: string, output: unknown, more: object = {}) => {
    const events = eventsOf(
      cline,
      'stdout',
      lines(
        event({ type: 'content_start', ...tool, toolName, input: {} }),
        event({ type: 'content_end', ...tool, toolName, output, ...more }),
      ),
    );
    const [finished] = kindsOf(events, 'call_finished');
    return [finished?.data.status, finished?.data.exit_code, finished?.data.output];
  };
  const one = (error: string, result = '') => [{ query: 'q', result, error, success: false }];

  verifies('AG-9', 'a call failed if one of its files or commands did', () => {
    const fine = { query: 'a', result: 'one', success: true };
    expect([
      end('run_commands', [fine]),
      end('run_commands', [fine, ...one('Command exited with code 2', 'two')]),
      end('run_commands', one('Command failed: Command timed out after 30000ms')),
      end('run_commands', one('Command failed: Command was aborted')),
      end('editor', { error: 'Tool "editor" requires approval in a TTY session -- no' }),
      end('srv__add', { content: [{ type: 'text', text: 'no' }], isError: true }),
      end('skills', 'text'),
      end('skills', 'text', { error: 'x' }),
    ]).toEqual([
      ['ok', null, 'one'],
      ['error', 2, 'one\ntwo'],
      ['timeout', null, 'Command failed: Command timed out after 30000ms'],
      ['cancelled', null, 'Command failed: Command was aborted'],
      ['denied', null, 'Tool "editor" requires approval in a TTY session -- no'],
      ['error', null, 'no'],
      ['ok', null, 'text'],
      ['error', null, 'text'],
    ]);
  });

  verifies('AG-6', 'server and tool of an MCP call are separated', () => {
    const names = ['srv__add', 'a__b__c', '__x', 'x__', 'team_status'].map((toolName) => {
      const record = event({ type: 'content_start', ...tool, toolName, input: {} });
      return kindsOf(eventsOf(cline, 'stdout', lines(record)), 'call_requested')[0]?.data.tool;
    });
    expect(names).toEqual(['mcp__srv__add', 'mcp__a__b__c', '__x', 'x__', 'team_status']);
  });
});

verifies('AG-2', 'records without required fields are problems', () => {
  const events = eventsOf(
    cline,
    'stdout',
    lines(
      event({ type: 'content_start', contentType: 'tool' }),
      event({ type: 'content_end', contentType: 'tool' }),
      event({ type: 'content_end', contentType: 'text' }),
      event({}),
      { type: 'hook_event' },
      { type: 'news' },
    ),
  );
  expect(kindsOf(events, 'problem').map(({ data }) => `${data.code} ${data.detail}`)).toEqual([
    'bad_record tool call without id or name',
    'bad_record tool result without id',
    'bad_record text without content',
    'unknown_record agent_event/no type',
    'unknown_record hook_event/no name',
    'unknown_record news',
    'no_end_record the stream has no end record',
  ]);
});

describe('launch', () => {
  const request: LaunchRequest = {
    prompt: 'Fix it.',
    model: 'm',
    approve: 'default',
    resume: null,
    stream: false,
    args: ['--verbose'],
    command: null,
    self: { node: 'node', entry: 'entry' },
  };

  verifies('AG-18', 'the prompt is the last argument, and never an option', () => {
    expect(cline.launch(request)).toEqual({
      command: 'cline',
      args: ['--json', '--auto-approve', 'false', '--model', 'm', '--verbose', 'Fix it.'],
      env: { CLINE_SESSION_BACKEND_MODE: 'local' },
      stdin: null,
    });
    const all = cline.launch({ ...request, approve: 'all', prompt: '--help', args: [] });
    expect(all.args).toEqual(['--json', '--model', 'm', '--', '--help']);
    const long = { ...request, prompt: 'x'.repeat(140_000) };
    expect(() => cline.launch(long)).toThrow('put the text into a file');
    expect(() => cline.launch({ ...request, resume: 's' })).toThrow('cannot continue a session');
  });
});
