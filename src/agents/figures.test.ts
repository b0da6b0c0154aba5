/** Figures and times that cannot be true are unknown, and reported: every field of every agent that a reader of lib/foreign reads. */
import { describe, expect } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { decodeEnd, decodeLine } from '../capture/decode.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Draft } from '../model/draft.ts';
import { findAgent } from './registry.ts';

const IMPOSSIBLE = [1e300, -1e300, '7', true, [], {}];
const TIME = Date.UTC(2026, 0, 1);
interface Reader {
  refused: readonly unknown[];
  taken: readonly number[];
  /** Values that are read as something else, without a problem. */
  read?: readonly [unknown, number | null][];
}
const READERS: Record<string, Reader> = {
  count: { refused: [...IMPOSSIBLE, -1, 1.5], taken: [0, 7] },
  tokens: { refused: [...IMPOSSIBLE, -1, 1.5, 1e13], taken: [0, 7] },
  cost: { refused: [...IMPOSSIBLE, -1], taken: [0, 0.5] },
  code: { refused: [...IMPOSSIBLE, 1.5, 2 ** 32], taken: [0, 7, -1] },
  status: { refused: [...IMPOSSIBLE, -1, 1.5], taken: [429], read: [['overloaded', null]] },
  seconds: {
    refused: [...IMPOSSIBLE, -1, 1e12, LIMITS.call_ms_max / 100],
    taken: [0],
    read: [[1.0006, 1001]],
  },
  duration: { refused: [...IMPOSSIBLE, -1, 1e12], taken: [0, 7], read: [[7.6, 8]] },
  time: {
    refused: [...IMPOSSIBLE, -1, TIME + 0.5, 9e15, 8.64e15, 'soon', '+275760-09-13T00:00:00.000Z'],
    taken: [TIME],
  },
};

const PART = '"sessionID":"s","part":{"id":"p","messageID":"m","sessionID":"s","type"';
const UPDATE = '{"method":"session/update","params":{"update":{"toolCallId":"c"';
const TELEMETRY = '{"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":';

/** Reader, kind of draft, its field, then the lines: `@` is the figure. */
const ROWS: Record<string, readonly string[]> = {
  'claude stdout': [
    'duration call_progress elapsed_ms {"type":"system","subtype":"task_progress","tool_use_id":"c","usage":{"duration_ms":@}}',
    'seconds call_progress elapsed_ms {"type":"tool_progress","tool_use_id":"c","elapsed_time_seconds":@}',
    'count provider_retried attempt {"type":"system","subtype":"api_retry","attempt":@}',
    'count provider_retried max_attempts {"type":"system","subtype":"api_retry","max_retries":@}',
    'status provider_retried status {"type":"system","subtype":"api_retry","error_status":@}',
    'duration provider_retried backoff_ms {"type":"system","subtype":"api_retry","retry_delay_ms":@}',
    'code hook_finished exit_code {"type":"system","subtype":"hook_response","exit_code":@}',
    'tokens usage_reported usage.input {"type":"result","subtype":"success","usage":{"input_tokens":@,"output_tokens":1}}',
    'cost usage_reported cost_usd {"type":"result","subtype":"success","usage":{"output_tokens":1},"total_cost_usd":@}',
    'time message_finished at_ms {"type":"user","timestamp":@,"message":{"role":"user","content":"x"}}',
  ],
  'claude session': [
    'duration provider_retried backoff_ms {"type":"system","subtype":"api_error","retryAttempt":1,"retryInMs":@}',
    'count provider_retried max_attempts {"type":"system","subtype":"api_error","retryAttempt":1,"maxRetries":@}',
    'status provider_retried status {"type":"system","subtype":"api_error","retryAttempt":1,"error":{"status":@}}',
    'code hook_finished exit_code {"type":"attachment","attachment":{"type":"hook_success","exitCode":@}}',
    'time hook_finished at_ms {"type":"attachment","timestamp":@,"attachment":{"type":"hook_success"}}',
  ],
  'codex stdout': [
    'code call_finished exit_code {"type":"item.completed","item":{"id":"i","type":"command_execution","command":"ls","exit_code":@,"status":"completed"}}',
    'tokens usage_reported usage.output {"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":@}}',
    'time notice at_ms {"method":"warning","emittedAtMs":@,"params":{"message":"x"}}',
  ],
  'codex session': ['time notice at_ms {"type":"compacted","timestamp":@,"payload":{}}'],
  'copilot stdout': [
    'code call_finished exit_code {"type":"tool.execution_complete","data":{"toolCallId":"c","success":true,"shellExecution":{"exitCode":@}}}',
    'status provider_failed status {"type":"session.error","data":{"errorType":"rate_limit","statusCode":@}}',
    'status provider_retried status {"type":"model.call_failure","data":{"statusCode":@}}\n{"type":"assistant.turn_retry","data":{}}',
    'tokens usage_reported usage.output {"type":"assistant.usage","data":{"outputTokens":@,"inputTokens":1}}',
    'time hook_finished at_ms {"type":"hook.end","timestamp":@,"data":{}}',
  ],
  'gemini stdout': [
    'tokens usage_reported usage.output {"type":"result","status":"success","stats":{"output_tokens":@,"input":1}}',
    'time notice at_ms {"type":"error","timestamp":@,"message":"x"}',
  ],
  'opencode stdout': [
    `cost usage_reported cost_usd {"type":"step_finish",${PART}:"step-finish","cost":@,"tokens":{"input":1}}}`,
    `tokens usage_reported usage.input {"type":"step_finish",${PART}:"step-finish","cost":1,"tokens":{"input":@}}}`,
    `code call_finished exit_code {"type":"tool_use",${PART}:"tool","callID":"c","tool":"bash","state":{"status":"completed","metadata":{"exit":@}}}}`,
    'count provider_retried attempt {"type":"session.status","properties":{"sessionID":"s","status":{"type":"retry","attempt":@}}}',
    'status provider_failed status {"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"x","statusCode":@}}}',
    `time step_started at_ms {"type":"step_start","timestamp":@,${PART}:"step-start"}}`,
  ],
  'pi stdout': [
    'count provider_retried attempt {"type":"auto_retry_start","attempt":@}',
    'count provider_retried max_attempts {"type":"auto_retry_start","maxAttempts":@}',
    'duration provider_retried backoff_ms {"type":"auto_retry_start","delayMs":@}',
    'tokens usage_reported usage.input {"type":"compaction_end","result":{"usage":{"input":@,"output":1}}}',
    'cost usage_reported cost_usd {"type":"compaction_end","result":{"usage":{"output":1,"cost":{"total":@}}}}',
    'duration call_finished duration_ms {"type":"tool_execution_end","toolCallId":"c","toolName":"bash","durationMs":@}',
    'code call_finished exit_code {"type":"tool_execution_end","toolCallId":"c","toolName":"bash","result":{"structuredContent":{"exit_code":@}}}',
    'time message_finished at_ms {"type":"message_end","message":{"role":"user","content":"x","timestamp":@}}',
  ],
  'pi session': ['time notice at_ms {"type":"compaction","timestamp":@}'],
  'qwen stdout': [
    'count provider_retried attempt {"type":"system","subtype":"retry","data":{"attempt":@}}',
    'count provider_retried max_attempts {"type":"system","subtype":"retry","data":{"maxRetries":@}}',
    'duration provider_retried backoff_ms {"type":"system","subtype":"retry","data":{"delayMs":@}}',
    'duration call_progress elapsed_ms {"type":"stream_event","event":{"type":"tool_progress","tool_use_id":"c","content":{"elapsedMs":@}}}',
    'tokens usage_reported usage.output {"type":"result","subtype":"success","usage":{"input_tokens":1,"output_tokens":@}}',
  ],
  'qwen session': [
    'code call_finished exit_code {"type":"tool_result","toolCallResult":{"callId":"c","resultDisplay":{"type":"shell_result","exitCode":@}}}',
    'duration call_finished duration_ms {"type":"tool_result","toolCallResult":{"callId":"c","durationMs":@}}',
    `status provider_failed status ${TELEMETRY}{"event.name":"qwen-code.api_error","error_message":"x","status_code":@}}}`,
    'time message_finished at_ms {"type":"user","timestamp":@,"message":{"parts":[{"text":"x"}]}}',
  ],
  'acp stdout': [
    `code call_finished exit_code ${UPDATE},"sessionUpdate":"tool_call","kind":"execute"}}}\n${UPDATE},"sessionUpdate":"tool_call_update","status":"completed","rawOutput":{"exitCode":@}}}}`,
    'tokens usage_reported usage.output {"id":1,"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":@}}}',
    'time notice at_ms {"dir":"note","at_ms":@,"msg":"x"}',
  ],
  'demo stdout': [
    'duration call_progress elapsed_ms {"t":"call_output","call":"c","ms":@}',
    'duration call_finished duration_ms {"t":"call_end","call":"c","status":"ok","ms":@}',
    'code call_finished exit_code {"t":"call_end","call":"c","status":"ok","exit_code":@}',
    'code call_updated exit_code {"t":"call_late","call":"c","exit_code":@}',
    'count call_retried max_retries {"t":"call_retry","call":"c","attempt":1,"max":@}',
    'count file_changed size {"t":"file","path":"a","operation":"created","size":@}',
    'count provider_retried attempt {"t":"api_retry","attempt":@}',
    'count provider_retried max_attempts {"t":"api_retry","max":@}',
    'duration provider_retried backoff_ms {"t":"api_retry","wait_ms":@}',
    'status provider_failed status {"t":"api_error","status":@}',
    'code hook_finished exit_code {"t":"hook","name":"h","exit_code":@}',
    'tokens usage_reported usage.input {"t":"usage","input":@}',
    'cost usage_reported cost_usd {"t":"usage","cost":@}',
    'time notice at_ms {"t":"note","code":"n","at":@}',
  ],
};

const figureIn = (draft: Draft | undefined, path: string): unknown =>
  path === 'at_ms'
    ? draft?.at_ms
    : path.split('.').reduce<unknown>((value, key) => (value as never)?.[key], draft?.data);

/** The figure in the last draft of the kind, and the number of problems about figures. */
async function readAs(who: string, row: string, figure: unknown) {
  const [id = '', channel] = who.split(' ');
  const [, kind, path = ''] = row.split(' ', 3);
  const json = row.slice(row.indexOf('{')).replace('@', JSON.stringify(figure));
  const agent = await findAgent(id);
  const decoder = channel === 'session' ? agent?.session?.decoder() : agent?.stream();
  if (decoder === undefined) throw new Error(`no decoder of ${who}`);
  const out: Draft[] = [];
  const context = { channel: 'stdout' as const, terminated: true, invalid_utf8: false };
  for (const line of json.split('\n')) decodeLine(line, decoder, context, out);
  decodeEnd(decoder, out);
  const told = out.findLast((draft) => draft.kind === kind);
  const codes = out.flatMap((one) => (one.kind === 'problem' ? [one.data.code] : []));
  return [figureIn(told, path) ?? null, codes.filter((code) => code === 'figure_invalid').length];
}

describe.for(Object.keys(ROWS))('%s', (who) => {
  for (const row of ROWS[who] ?? []) {
    const [reader = '', ...field] = row.split(' ', 3);
    const { refused, taken, read = [] } = READERS[reader] as Reader;
    verifies('AG-2', `what cannot be is unknown, and reported: ${field.join(' ')}`, async () => {
      for (const figure of taken)
        expect(await readAs(who, row, figure), `${figure}`).toEqual([figure, 0]);
      for (const [given, figure] of read)
        expect(await readAs(who, row, given), `${given}`).toEqual([figure, 0]);
      for (const figure of refused)
        expect(await readAs(who, row, figure), JSON.stringify(figure)).toEqual([null, 1]);
    });
  }
});
