/** Impossible figures and times are unknown and reported: every field of every agent that lib/foreign reads. */
import { describe, expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { decodeEnd, decodeLine } from '../capture/decode.ts';
import { refusedFigures } from '../lib/foreign.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Draft } from '../model/draft.ts';
import { findAgent } from './registry.ts';

const IMPOSSIBLE = [1e300, -1e300, '7', true, [], {}];
const TIME = Date.UTC(2026, 0, 1);
interface Reader {
  refused: readonly unknown[];
  taken: readonly number[];
  /** Values that are converted without a problem. */
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
  /** Like `time`, but only a number is read as a time. */
  ms: { refused: [1e300, -1e300, -1, TIME + 0.5, 9e15, 8.64e15], taken: [TIME] },
  /** A time that is also part of a name. */
  begin: { refused: [...IMPOSSIBLE, -1, TIME + 0.5], taken: [TIME] },
};

const PART = '"sessionID":"s","part":{"id":"p","messageID":"m","sessionID":"s","type"';
const UPDATE = '{"method":"session/update","params":{"update":{"toolCallId":"c"';
const STORED = '{"id":"p","message_id":"m","session_id":"s","time_created"';
const MESSAGE = '"info":{"id":"m","sessionID":"s","role"';
const EDIT_CALL =
  '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Edit","input":{"file_path":"a"}}]}}';
const EDIT_RESULT =
  '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}';
const RESULT = '{"type":"result","subtype":"success"';
const SHELL_ITEM = '{"type":"response_item","payload":{"type":';
const SHELL_CALLS = [
  '{"type":"tool.execution_start","data":{"toolCallId":"a","toolName":"bash","arguments":{}}}',
  '{"type":"tool.execution_complete","data":{"toolCallId":"a","success":true,"result":{"content":"<command started in background with shellId: s>"}}}',
].join('\n');
const TELEMETRY = '{"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":';

/**
 * Reader, kind of draft, its field, then the lines: `@` is the figure, `@@` the figure in JSON within a text.
 * After `=`: the field's value when the figure is unknown, for a field that is not the figure itself.
 */
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
    `time call_finished at_ms ${EDIT_CALL}\n${EDIT_RESULT},"timestamp":@}`,
    `count file_changed operation="modified" ${EDIT_CALL}\n${EDIT_RESULT},"tool_use_result":{"filePath":"a","structuredPatch":[{"oldStart":@,"lines":["+x"]}]}}`,
    `count file_changed operation="modified" ${EDIT_CALL}\n${EDIT_RESULT},"tool_use_result":{"filePath":"a","structuredPatch":[{"oldLines":@,"lines":["+x"]}]}}`,
    `count file_changed operation="modified" ${EDIT_CALL}\n${EDIT_RESULT},"tool_use_result":{"filePath":"a","structuredPatch":[{"newStart":@,"lines":["+x"]}]}}`,
    `count file_changed operation="modified" ${EDIT_CALL}\n${EDIT_RESULT},"tool_use_result":{"filePath":"a","structuredPatch":[{"newLines":@,"lines":["+x"]}]}}`,
    'status provider_failed status {"type":"assistant","is_api_error_message":true,"api_error_status":@,"message":{"content":[{"type":"text","text":"x"}]}}',
    `status agent_ended exit_reason="agent_error" ${RESULT},"is_error":true,"api_error_status":@}`,
    `status provider_failed status ${RESULT},"is_error":true,"terminal_reason":"api_error","api_error_status":@}`,
    `cost usage_reported cost_usd=5 ${RESULT},"usage":{"output_tokens":1},"total_cost_usd":@}\n${RESULT},"usage":{"output_tokens":1},"total_cost_usd":5}`,
  ],
  'claude session': [
    'duration provider_retried backoff_ms {"type":"system","subtype":"api_error","retryAttempt":1,"retryInMs":@}',
    'count provider_retried max_attempts {"type":"system","subtype":"api_error","retryAttempt":1,"maxRetries":@}',
    'status provider_retried status {"type":"system","subtype":"api_error","retryAttempt":1,"error":{"status":@}}',
    'code hook_finished exit_code {"type":"attachment","attachment":{"type":"hook_success","exitCode":@}}',
    'time hook_finished at_ms {"type":"attachment","timestamp":@,"attachment":{"type":"hook_success"}}',
    'time notice at_ms {"type":"system","subtype":"informational","timestamp":@,"content":"x"}',
    'count provider_retried attempt {"type":"system","subtype":"api_error","retryAttempt":@}',
    'time provider_retried at_ms {"type":"system","subtype":"api_error","retryAttempt":1,"timestamp":@}',
    'status provider_failed status {"type":"assistant","isApiErrorMessage":true,"apiErrorStatus":@,"message":{"content":[{"type":"text","text":"x"}]}}',
    'count agent_ended exit_reason="max_steps" {"type":"attachment","attachment":{"type":"max_turns_reached","maxTurns":@}}',
    `time call_finished at_ms ${EDIT_CALL}\n${EDIT_RESULT},"timestamp":@}`,
    'cost usage_reported cost_usd {"type":"cost-state","modelUsage":{"m":{"inputTokens":1}},"totalCostUSD":@}',
  ],
  'codex stdout': [
    'code call_finished exit_code {"type":"item.completed","item":{"id":"i","type":"command_execution","command":"ls","exit_code":@,"status":"completed"}}',
    'tokens usage_reported usage.output {"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":@}}',
    'time notice at_ms {"method":"warning","emittedAtMs":@,"params":{"message":"x"}}',
    'time message_finished at_ms {"method":"item/completed","params":{"completedAtMs":@,"item":{"id":"i","type":"agentMessage","text":"x"}}}',
    'status provider_retried status {"method":"error","params":{"willRetry":true,"error":{"message":"x","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":@}}}}}',
  ],
  'codex session': [
    'time notice at_ms {"type":"compacted","timestamp":@,"payload":{}}',
    `code call_finished exit_code ${SHELL_ITEM}"function_call","name":"shell","call_id":"c","arguments":"{}"}}\n${SHELL_ITEM}"function_call_output","call_id":"c","output":"{\\"output\\":\\"x\\",\\"metadata\\":{\\"exit_code\\":@@}}"}}`,
  ],
  'copilot stdout': [
    'code call_finished exit_code {"type":"tool.execution_complete","data":{"toolCallId":"c","success":true,"shellExecution":{"exitCode":@}}}',
    'status provider_failed status {"type":"session.error","data":{"errorType":"rate_limit","statusCode":@}}',
    'status provider_retried status {"type":"model.call_failure","data":{"statusCode":@}}\n{"type":"assistant.turn_retry","data":{}}',
    'tokens usage_reported usage.output {"type":"assistant.usage","data":{"outputTokens":@,"inputTokens":1}}',
    'time hook_finished at_ms {"type":"hook.end","timestamp":@,"data":{}}',
    `code call_updated exit_code ${SHELL_CALLS}\n{"type":"tool.execution_start","data":{"toolCallId":"b","toolName":"read_bash","arguments":{"shellId":"s"}}}\n{"type":"tool.execution_complete","data":{"toolCallId":"b","success":true,"shellExecution":{"exitCode":@}}}`,
    `code call_updated exit_code ${SHELL_CALLS}\n{"type":"system.notification","data":{"kind":{"type":"shell_completed","shellId":"s","exitCode":@}}}`,
    'code agent_ended exit_reason="agent_error" {"type":"result","exitCode":@}',
    `count provider_retried attempt=null {"type":"model.call_failure","data":{"retryAttempt":@}}\n{"type":"assistant.turn_retry","data":{}}`,
  ],
  'gemini stdout': [
    'tokens usage_reported usage.output {"type":"result","status":"success","stats":{"output_tokens":@,"input":1}}',
    'time notice at_ms {"type":"error","timestamp":@,"message":"x"}',
    `status provider_failed status {"type":"result","status":"error","error":{"type":"ApiError","message":"{\\"error\\":{\\"code\\":@@}}"}}`,
    'tokens usage_reported usage.input {"type":"result","status":"success","stats":{"output_tokens":1,"input":@}}',
    'tokens usage_reported usage.input {"type":"result","status":"success","stats":{"output_tokens":1,"input_tokens":@}}',
    'tokens usage_reported usage.cache_read {"type":"result","status":"success","stats":{"output_tokens":1,"cached":@}}',
  ],
  'gemini session': [
    'time notice at_ms {"id":"m","type":"info","timestamp":@,"content":"x"}',
    'time call_finished at_ms {"id":"m","type":"gemini","content":"","toolCalls":[{"id":"c","name":"read_file","status":"success","timestamp":@,"result":[]}]}',
  ],
  'opencode stdout': [
    `cost usage_reported cost_usd {"type":"step_finish",${PART}:"step-finish","cost":@,"tokens":{"input":1}}}`,
    `tokens usage_reported usage.input {"type":"step_finish",${PART}:"step-finish","cost":1,"tokens":{"input":@}}}`,
    `code call_finished exit_code {"type":"tool_use",${PART}:"tool","callID":"c","tool":"bash","state":{"status":"completed","metadata":{"exit":@}}}}`,
    'count provider_retried attempt {"type":"session.status","properties":{"sessionID":"s","status":{"type":"retry","attempt":@}}}',
    'status provider_failed status {"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"x","statusCode":@}}}',
    `time step_started at_ms {"type":"step_start","timestamp":@,${PART}:"step-start"}}`,
    'time provider_retried backoff_ms=null {"type":"session.status","properties":{"sessionID":"s","status":{"type":"retry","next":@}}}',
    'code call_updated exit_code=null {"type":"command.executed","properties":{"command":"ls","exitCode":@}}',
    `time call_requested at_ms {"type":"tool_use",${PART}:"tool","callID":"c","tool":"bash","state":{"status":"running","input":{"command":"ls"},"time":{"start":@}}}}`,
    `time call_requested at_ms {"type":"tool_use",${PART}:"tool","callID":"c","tool":"bash","state":{"status":"completed","time":{"start":@}}}}`,
    `time call_finished at_ms {"type":"tool_use",${PART}:"tool","callID":"c","tool":"bash","state":{"status":"completed","time":{"end":@}}}}`,
    `time message_finished at_ms {"type":"text",${PART}:"text","text":"x","time":{"end":@}}}`,
    `count provider_retried attempt ${STORED}:${TIME},"data":{"type":"retry","attempt":@}}`,
    `status provider_retried status ${STORED}:${TIME},"data":{"type":"retry","error":{"data":{"statusCode":@}}}}`,
    `time step_started at_ms ${STORED}:@,"data":{"type":"step-start"}}`,
    `time step_started at_ms {${MESSAGE}:"user","time":{"created":@}},"parts":[{"id":"p","messageID":"m","sessionID":"s","type":"step-start"}]}`,
    `time message_finished at_ms {${MESSAGE}:"user"},"parts":[{"id":"p","messageID":"m","sessionID":"s","type":"text","text":"x","time":{"start":@}}]}`,
    `time step_started at_ms {${MESSAGE}:"user"},"parts":[{"messageID":"m","sessionID":"s","type":"text","text":"x","time":{"end":@}},{"messageID":"m","sessionID":"s","type":"step-start"}]}`,
    'time session_started at_ms {"info":{"id":"s","time":{"created":@}},"messages":[]}',
    `time session_started at_ms {"type":"message.updated","properties":{${MESSAGE}:"user","time":{"created":@}}}}`,
    'time session_started at_ms {"type":"session.updated","properties":{"info":{"id":"s","time":{"updated":@}}}}',
    `time session_started at_ms {"type":"message.updated","properties":{${MESSAGE}:"assistant","time":{"completed":@}}}}`,
    `time usage_reported at_ms {"type":"message.updated","properties":{${MESSAGE}:"assistant","cost":1,"time":{"completed":@}}}}`,
    `count agent_ended exit_reason=null {${MESSAGE}:"user","time":{"completed":@}},"parts":[]}`,
    `ms step_started at_ms {"type":"message.part.updated","properties":{"time":@,"part":{"id":"p","messageID":"m","sessionID":"s","type":"step-start"}}}`,
  ],
  'pi stdout': [
    'count provider_retried attempt {"type":"auto_retry_start","attempt":@}',
    'count provider_retried max_attempts {"type":"auto_retry_start","maxAttempts":@}',
    'duration provider_retried backoff_ms {"type":"auto_retry_start","delayMs":@}',
    'tokens usage_reported usage.input {"type":"compaction_end","result":{"usage":{"input":@,"output":1}}}',
    'tokens usage_reported usage.cache_read {"type":"compaction_end","result":{"usage":{"cacheRead":@,"output":1}}}',
    'tokens usage_reported usage.cache_write {"type":"compaction_end","result":{"usage":{"cacheWrite":@,"output":1}}}',
    'cost usage_reported cost_usd {"type":"compaction_end","result":{"usage":{"output":1,"cost":{"total":@}}}}',
    'duration call_finished duration_ms {"type":"tool_execution_end","toolCallId":"c","toolName":"bash","durationMs":@}',
    'code call_finished exit_code {"type":"tool_execution_end","toolCallId":"c","toolName":"bash","result":{"structuredContent":{"exit_code":@}}}',
    'time message_finished at_ms {"type":"message_end","message":{"role":"user","content":"x","timestamp":@}}',
    'time session_started at_ms {"type":"session","id":"s","timestamp":@}',
    'begin message_finished message_id=null {"type":"message_end","message":{"role":"assistant","content":"x","timestamp":@}}',
    `duration message_finished at_ms=null {"type":"message_end","message":{"role":"assistant","content":"x","timestamp":${TIME},"durationMs":@}}`,
    `duration call_finished status="error" {"type":"message_end","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}],"durationMs":@}}\n{"type":"message_end","message":{"role":"toolResult","toolCallId":"c","isError":true,"content":"x"}}`,
    'duration call_finished duration_ms {"type":"message_end","message":{"role":"toolResult","toolCallId":"c","toolName":"read","durationMs":@}}',
    `count message_delta text="x" {"type":"message_start","message":{"role":"assistant"}}\n{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"x","contentIndex":@}}`,
  ],
  'pi session': [
    'time notice at_ms {"type":"compaction","timestamp":@}',
    'time session_started at_ms {"type":"session","id":"s","timestamp":@}',
    'time session_started at_ms {"type":"model_change","modelId":"m","timestamp":@}',
    `duration call_finished duration_ms {"type":"message","message":{"role":"toolResult","toolCallId":"p","nestedCalls":{"calls":[{"id":"c","name":"read","status":"ok","durationMs":@}]}}}`,
  ],
  'qwen stdout': [
    'count provider_retried attempt {"type":"system","subtype":"retry","data":{"attempt":@}}',
    'count provider_retried max_attempts {"type":"system","subtype":"retry","data":{"maxRetries":@}}',
    'duration provider_retried backoff_ms {"type":"system","subtype":"retry","data":{"delayMs":@}}',
    'duration call_progress elapsed_ms {"type":"stream_event","event":{"type":"tool_progress","tool_use_id":"c","content":{"elapsedMs":@}}}',
    'tokens usage_reported usage.output {"type":"result","subtype":"success","usage":{"input_tokens":1,"output_tokens":@}}',
    'tokens usage_reported usage.cache_write {"type":"result","subtype":"success","usage":{"input_tokens":1,"cache_creation_input_tokens":@}}',
    'tokens provider_failed status=500 {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"[API Error: 500 x]"}],"usage":{"input_tokens":@}}}',
    'tokens provider_failed status=500 {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"[API Error: 500 x]"}],"usage":{"output_tokens":@}}}',
  ],
  'qwen session': [
    'code call_finished exit_code {"type":"tool_result","toolCallResult":{"callId":"c","resultDisplay":{"type":"shell_result","exitCode":@}}}',
    'duration call_finished duration_ms {"type":"tool_result","toolCallResult":{"callId":"c","durationMs":@}}',
    `duration call_finished duration_ms ${TELEMETRY}{"event.name":"qwen-code.tool_call","call_id":"c","duration_ms":@}}}\n{"type":"tool_result","toolCallResult":{"callId":"c"}}`,
    `status provider_failed status ${TELEMETRY}{"event.name":"qwen-code.api_error","error_message":"x","status_code":@}}}`,
    'time message_finished at_ms {"type":"user","timestamp":@,"message":{"parts":[{"text":"x"}]}}',
  ],
  'acp stdout': [
    `code call_finished exit_code ${UPDATE},"sessionUpdate":"tool_call","kind":"execute"}}}\n${UPDATE},"sessionUpdate":"tool_call_update","status":"completed","rawOutput":{"exitCode":@}}}}`,
    'tokens usage_reported usage.output {"id":1,"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":@}}}',
    'time notice at_ms {"dir":"note","at_ms":@,"msg":"x"}',
    'code notice text=null {"dir":"exit","msg":{"code":@}}',
    'code agent_ended exit_reason="agent_error" {"id":1,"error":{"code":@,"message":"x"}}',
    'tokens usage_reported usage.input=1 {"id":1,"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"totalTokens":@}}}',
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
    'tokens usage_reported usage.cache_read {"t":"usage","cache_read":@}',
    'tokens usage_reported usage.cache_write {"t":"usage","cache_write":@}',
    'cost usage_reported cost_usd {"t":"usage","cost":@}',
    'time notice at_ms {"t":"note","code":"n","at":@}',
    'count call_retried attempt {"t":"call_retry","call":"c","attempt":@}',
    'status provider_retried status {"t":"api_retry","status":@}',
  ],
  'demo session': ['time notice at_ms {"t":"note","code":"n","at":@}'],
};

const figureIn = (draft: Draft | undefined, path: string): unknown =>
  path === 'at_ms'
    ? draft?.at_ms
    : path.split('.').reduce<unknown>((value, key) => (value as never)?.[key], draft?.data);

/** The figure in the last draft of the kind, and the number of problems about figures. */
async function readAs(who: string, row: string, figure: unknown) {
  const [id = '', channel] = who.split(' ');
  const [, kind, field = ''] = row.split(' ', 3);
  const [path = ''] = field.split('=');
  const json = JSON.stringify(figure);
  const lines = row
    .slice(row.indexOf('{'))
    .replace('@@', JSON.stringify(json).slice(1, -1))
    .replace('@', json)
    .split('\n');
  const agent = await findAgent(id);
  const decoder = channel === 'session' ? agent?.session?.decoder() : agent?.stream?.();
  if (decoder === undefined) throw new Error(`no decoder of ${who}`);
  const out: Draft[] = [];
  const context = { channel: 'stdout' as const, terminated: true, invalid_utf8: false };
  for (const line of lines) decodeLine(line, decoder, context, out);
  decodeEnd(decoder, out);
  const last = out.findLast((draft) => draft.kind === kind);
  const codes = out.flatMap((one) => (one.kind === 'problem' ? [one.data.code] : []));
  return [figureIn(last, path) ?? null, codes.filter((code) => code === 'figure_invalid').length];
}

describe.for(Object.keys(ROWS))('%s', (who) => {
  for (const row of ROWS[who] ?? []) {
    const [reader = '', ...field] = row.split(' ', 3);
    const { refused, taken, read = [] } = READERS[reader] as Reader;
    verifies('AG-2', `an impossible value is a problem: ${field.join(' ')}`, async () => {
      const [, otherwise] = field.at(-1)?.split('=') ?? [];
      const isFigure = otherwise === undefined;
      for (const [given, figure] of [...taken.map((figure) => [figure, figure]), ...read])
        expect(await readAs(who, row, given), `${given}`).toEqual([
          isFigure ? figure : expect.toSatisfy(() => true),
          0,
        ]);
      const unknown = isFigure ? null : JSON.parse(otherwise);
      for (const figure of refused)
        expect(await readAs(who, row, figure), JSON.stringify(figure)).toEqual([unknown, 1]);
    });
  }
});

/** Records with a time, by which session files are ordered and searched. */
const TIMES: Record<string, readonly string[]> = {
  claude: ['{"timestamp":@}'],
  codex: ['{"timestamp":@}'],
  copilot: ['{"timestamp":@}'],
  gemini: ['{"timestamp":@}', '{"startTime":@}', '{"$set":{"lastUpdated":@}}'],
  opencode: ['{"time_created":@}'],
  pi: ['{"timestamp":@}'],
  qwen: ['{"timestamp":@}'],
  demo: ['{"at":@}'],
};

test.for(Object.keys(TIMES))('%s session: an impossible time is unknown', async (id) => {
  const session = (await findAgent(id))?.session;
  const { refused, taken } = READERS.time as Reader;
  for (const text of TIMES[id] ?? []) {
    const at = (time: unknown) =>
      session?.timeOf?.(JSON.parse(text.replace('@', JSON.stringify(time))));
    expect(taken.map(at)).toEqual(taken);
    for (const time of refused) expect(at(time), JSON.stringify(time)).toBe(null);
  }
  refusedFigures();
});
