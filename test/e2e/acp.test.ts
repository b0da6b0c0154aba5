/** A toy agent of the Agent Client Protocol, run with the built command line. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { finished, fixture, type Result, type Row, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const LONG_MS = 120_000;

const toy = (steps: readonly object[]) => [
  process.execPath,
  fixture('acp-agent.mjs'),
  JSON.stringify(steps),
];

const args = (steps: readonly object[], ...flags: string[]) => [
  'run',
  '--agent',
  'acp',
  '--output',
  'json',
  ...flags,
  'please',
  '--',
  ...toy(steps),
];

const play = (steps: readonly object[], ...flags: string[]) => place.tacho(args(steps, ...flags));

/** The facts about the end of a run that matter here. */
function endOf(result: Result): object {
  const { exit_reason, ok, final_output, error, completeness } = finished(result);
  return { code: result.code, exit_reason, ok, final_output, error, gaps: completeness.gaps };
}

const OK = { code: 0, exit_reason: 'ok', ok: true, error: null, gaps: [] };

const SHELL = { sessionUpdate: 'tool_call_update', toolCallId: 'c-1', kind: 'execute', title: 'x' };
const asked = (kind: string, rawInput: object) => [
  { update: { ...SHELL, kind, sessionUpdate: 'tool_call', status: 'pending', rawInput } },
  {
    // The request does not repeat the kind: the client has to remember it.
    ask: { sessionUpdate: 'tool_call_update', toolCallId: 'c-1' },
    allowed: { status: 'completed', rawOutput: { output: 'bad', exitCode: 3 } },
    refused: { status: 'failed', rawOutput: 'no' },
  },
  { text: 'Done.' },
];

const callsOf = (result: Result) =>
  result.records
    .filter((record: Row) => /^tool_(decision|exec_finished)$/.test(record.type))
    .map(({ data }: Row) => ({
      tool: data.tool,
      ...(data.decision === undefined
        ? { status: data.status, exit_code: data.exit_code }
        : { decision: data.decision }),
    }));

describe('a run', () => {
  verifies(['AG-3', 'AG-11'], 'an ACP agent answers a prompt', async () => {
    const result = await play([{ text: 'Hel' }, { text: 'lo.' }]);
    expect(endOf(result)).toEqual({ ...OK, final_output: 'Hello.' });
    const { agent, agent_version, model, session_id } = result.records[0].data;
    expect({ agent, agent_version, model, session_id }).toEqual({
      agent: 'acp',
      agent_version: 'toy 0.1',
      model: 'toy-1',
      session_id: 's-1',
    });
    expect(finished(result).usage.input).toBe('please'.length);
  });

  verifies(
    'AG-18',
    'a prompt of several megabytes reaches an ACP agent intact',
    async () => {
      const prompt = 'ä'.repeat(3_000_000);
      const options = ['run', '--agent', 'acp', '--output', 'json', '-', '--'];
      const result = await place.tacho([...options, ...toy([{ text: 'Read.' }])], {
        input: prompt,
      });
      expect(endOf(result)).toEqual({ ...OK, final_output: 'Read.' });
      expect(finished(result).usage.input).toBe(prompt.length);
    },
    LONG_MS,
  );

  verifies('AG-9', 'the approval mode answers permission requests', async () => {
    const modes = ['default', 'edits', 'all'];
    const shell = asked('execute', { command: 'exit 3' });
    const edit = asked('edit', { path: 'x.txt', old_str: 'a', new_str: 'b' });
    const results = [];
    for (const steps of [shell, edit]) {
      for (const mode of modes) results.push(callsOf(await play(steps, '--approve', mode)));
    }
    const denied = (tool: string) => [
      { tool, decision: 'deny' },
      { tool, status: 'denied', exit_code: null },
    ];
    const ran = [
      { tool: 'Bash', decision: 'allow' },
      { tool: 'Bash', status: 'error', exit_code: 3 },
    ];
    const edited = [
      { tool: 'Edit', decision: 'allow' },
      { tool: 'Edit', status: 'ok', exit_code: null },
    ];
    expect(results).toEqual([denied('Bash'), denied('Bash'), ran, denied('Edit'), edited, edited]);
  });

  verifies(
    ['AG-2', 'AG-19'],
    'updates of version 2 and of future versions are tolerated',
    async () => {
      const content = [{ type: 'text', text: 'Whole.' }];
      const result = await play([
        { update: { sessionUpdate: 'agent_message', messageId: 'm', content } },
        { update: { sessionUpdate: 'zz_new_thing', data: 1 } },
        { raw: '{"jsonrpc":"2.0","method":"_vendor/thing","params":{}}\n' },
        { raw: '{"jsonrpc":"2.0","id":"v","method":"vendor/question","params":{}}\n' },
        { update: { sessionUpdate: 'state_update', state: 'idle', stopReason: 'end_turn' } },
        { answer: { messageId: 'u' } },
      ]);
      const gaps = ['unknown_record:2', 'usage_unknown'];
      expect(endOf(result)).toEqual({ ...OK, final_output: 'Whole.', gaps });
    },
  );

  verifies(['AG-2', 'AG-13'], 'garbage and a huge message do not end the session', async () => {
    const result = await play([
      { raw: 'npm warn something\n{"half":\n' },
      { text: 'x', times: 9_000_000 },
      { text: 'Still here.' },
    ]);
    const gaps = ['not_json:2', 'oversize_line:1'];
    expect(endOf(result)).toEqual({ ...OK, final_output: 'Still here.', gaps });
  });

  verifies('AG-14', 'an ACP agent that dies is not ok', async () => {
    const exited = await play([{ text: 'Half a' }, { exit: 7 }]);
    const gaps = ['no_end_record', 'usage_unknown'];
    const cut = { code: 1, ok: false, exit_reason: 'incomplete', final_output: 'Half a', gaps };
    expect(endOf(exited)).toEqual({
      ...cut,
      error: "the stream stopped without the agent's end record (exit code 7)",
    });
    expect(endOf(await play([{ text: 'Half a' }, { die: 'SIGKILL' }]))).toEqual({
      ...cut,
      error: 'the agent was ended by SIGKILL before its end record',
    });
    expect(endOf(await play([{ exit: 0 }]))).toMatchObject({ code: 1, ok: false });
  });

  verifies('AG-11', 'an error response to the prompt ends the run', async () => {
    const error = 'the model is overloaded';
    const result = await play([{ fail: { code: 529, message: error } }]);
    const gaps = ['usage_unknown'];
    const end = { code: 3, exit_reason: 'provider_error', ok: false, final_output: '', error };
    expect(endOf(result)).toEqual({ ...end, gaps });
    expect(result.records.find((one: Row) => one.type === 'provider_error').data.status).toBe(529);
  });

  verifies('AG-11', 'a stop reason other than the end of a turn is reported', async () => {
    const reasons = ['max_tokens', 'max_turn_requests', 'refusal', 'zz_new'];
    const results = [];
    for (const stopReason of reasons) {
      results.push(finished(await play([{ answer: { stopReason } }])).exit_reason);
    }
    expect(results).toEqual(['ok', 'max_steps', 'agent_error', 'agent_error']);
  });
});

describe('an interrupted run', () => {
  const shell = { sessionUpdate: 'tool_call', toolCallId: 'c-1', kind: 'execute', title: 'sleep' };
  const waiting = [{ text: 'Wait' }, { update: { ...shell, rawInput: { command: 'sleep 9' } } }];

  async function interrupted(steps: readonly object[]): Promise<Result> {
    const started = place.start(args(steps), {
      seen: (sofar, child) => {
        if (sofar.includes('"tool_call_detected"')) child.kill('SIGINT');
      },
    });
    const result = await started.done;
    await until(() => place.left().length === 0, 'the end of the agent');
    return result;
  }

  verifies(
    'RE-22',
    'SIGINT cancels the turn of an ACP agent, which may still send its last text',
    async () => {
      const result = await interrupted([...waiting, { cancelled: true }]);
      const error = 'cancelled by SIGINT';
      const end = { code: 130, exit_reason: 'cancelled', ok: false, final_output: 'Wait', error };
      expect(endOf(result)).toEqual({ ...end, gaps: ['usage_unknown'] });
      expect(callsOf(result)).toEqual([{ tool: 'Bash', status: 'cancelled', exit_code: null }]);
    },
    LONG_MS,
  );

  verifies(
    'RE-22',
    'an ACP agent that does not answer is stopped',
    async () => {
      const result = await interrupted([
        { ignore: 'SIGTERM' },
        ...waiting,
        { ask: { toolCallId: 'none' } },
      ]);
      expect(endOf(result)).toMatchObject({ code: 130, exit_reason: 'cancelled' });
    },
    LONG_MS,
  );
});

describe('the session', () => {
  verifies('AG-10', 'a resumed session does not repeat its history', async () => {
    const result = await play([{ text: 'New.' }], '--resume', 's-1');
    expect(endOf(result)).toEqual({ ...OK, final_output: 'New.' });
    expect(finished(result).session_id).toBe('s-1');
  });

  verifies('RE-18', 'a model on offer is selected; with any other the run is refused', async () => {
    const chosen = await play([{ text: 'Hi.' }], '--model', 'toy-2');
    expect(endOf(chosen)).toEqual({ ...OK, final_output: 'Hi.' });
    const refused = await play([{ text: 'Hi.' }], '--model', 'toy-3');
    expect(endOf(refused)).toMatchObject({ code: 1, exit_reason: 'agent_error', final_output: '' });
    expect(finished(refused).error).toContain('does not offer the model toy-3');
  });
});

describe('the program', () => {
  verifies('RE-21', 'no program and a missing program are errors', async () => {
    const none = await place.tacho(['run', '--agent', 'acp', 'please']);
    expect({ code: none.code, said: none.stderr.includes('-- PROGRAM') }).toEqual({
      code: 2,
      said: true,
    });
    const start = ['run', '--agent', 'acp', '--output', 'json', 'please', '--'];
    const missing = await place.tacho([...start, 'no-such-program']);
    expect(finished(missing).error).toContain('cannot start no-such-program: ENOENT');
  });

  verifies('AG-17', 'tacho.yaml can name the program', async () => {
    const command = toy([{ text: 'By target.' }]);
    const targets = { toy: { agent: 'acp', command } };
    writeFileSync(join(place.work, 'tacho.yaml'), JSON.stringify({ targets }));
    const result = await place.tacho(['run', '--target', 'toy', '--output', 'json', 'please']);
    expect(endOf(result)).toEqual({ ...OK, final_output: 'By target.' });
  });

  verifies('AG-3', 'a recorded stream can be converted', async () => {
    const kept = await play(
      asked('execute', { command: 'exit 3' }),
      '--approve',
      'all',
      '--keep-raw',
    );
    const { run_id } = kept.records[0];
    const raw = join(place.state, 'spool', run_id, 'stdout');
    const copy = join(place.folder, 'copy.jsonl');
    writeFileSync(copy, readFileSync(raw));
    const again = await place.tacho(['convert', '--agent', 'acp', '--to', 'run-event', copy]);
    expect(callsOf(again)).toEqual(callsOf(kept));
  });
});
