/** Results of calls in session files: the model's view in `functionResponse`, the CLI's in `toolCallResult`. */

import type { RecentMap } from '../../lib/bounded.ts';
import { isBlank } from '../../lib/white-space.ts';
import type { CallStatus } from '../../model/words.ts';
import { codeOf, durationOf, type Inside, idOf, listOf, nativeOf, textOf } from '../kit/native.ts';
import type { Answer } from './calls.ts';
import type { Session } from './generated/native.ts';
import type { Telemetry } from './usage.ts';

type ToolResult = Session['tool_result'];

/** Facts from a call's `ui_telemetry` record. Sub-agents' files have less on their results. */
export type TelemetryFacts = Pick<Answer, 'status' | 'duration_ms'>;

const STATUSES: ReadonlyMap<unknown, CallStatus> = new Map([
  ['success', 'ok'],
  ['error', 'error'],
  ['cancelled', 'cancelled'],
]);
const OUTCOMES: ReadonlyMap<unknown, CallStatus> = new Map([
  ['cancelled', 'cancelled'],
  ['timed_out', 'timeout'],
]);
/** Status of a sub-agent. To the CLI its call is a success in any case. */
const AGENT_ENDS: ReadonlyMap<unknown, CallStatus> = new Map([
  ['failed', 'error'],
  ['cancelled', 'cancelled'],
]);
const DENIED = 'execution_denied';

/** Null: unknown. */
function statusOf(status: unknown, error_type: unknown): CallStatus | null {
  if (error_type === DENIED) return 'denied';
  return STATUSES.get(status) ?? null;
}

export function telemetryFacts(event: Telemetry): TelemetryFacts {
  const refused = event.decision === 'reject';
  const status = refused ? 'denied' : (statusOf(event.status, event.error_type) ?? 'unknown');
  return { status, duration_ms: durationOf(event.duration_ms) };
}

type Response = ReturnType<typeof responsesOf>[number];
function responsesOf(message: Inside<ToolResult['message']> | null) {
  return listOf(message?.parts).flatMap((part) => {
    const native = nativeOf(nativeOf(part)?.functionResponse);
    if (!native) return [];
    const said = nativeOf(native.response);
    const output = textOf(said?.output) ?? textOf(said?.content);
    return { id: idOf(native.id), name: idOf(native.name), error: textOf(said?.error), output };
  });
}

/** The output as on stdout: the error, otherwise the text shown to people, otherwise the text sent to the model. */
function outputOf(response: Response, display: unknown): string | null {
  if (response.error) return response.error;
  const shown = textOf(display) ?? textOf(nativeOf(display)?.text);
  return shown === null || isBlank(shown) ? response.output : shown;
}

/** The answers of a `tool_result` record. The CLI's own facts belong to its only response. */
export function answersOf(
  record: ToolResult,
  telemetry: RecentMap<string, TelemetryFacts>,
): Answer[] {
  const facts = nativeOf(record.toolCallResult);
  const responses = responsesOf(nativeOf(record.message));
  const single = responses.length <= 1;
  if (responses.length === 0) responses.push({ id: null, name: null, error: null, output: null });
  return responses.flatMap((response) => {
    const call_id = response.id ?? (single ? idOf(facts?.callId) : null);
    if (call_id === null) return [];
    return answerOf(call_id, response, single ? facts : null, telemetry.get(call_id));
  });
}

function answerOf(
  call_id: string,
  response: Response,
  facts: Inside<ToolResult['toolCallResult']> | null,
  telemetry: TelemetryFacts | undefined,
): Answer {
  const display = nativeOf(facts?.resultDisplay);
  const said = statusOf(facts?.status, facts?.errorType) ?? telemetry?.status;
  const status = said ?? (response.error === null ? 'ok' : 'error');
  const shell = display?.type === 'shell_result' ? display : null;
  const agent = display?.type === 'task_execution' && status === 'ok' ? display : null;
  return {
    call_id,
    output: outputOf(response, facts?.resultDisplay),
    report: response.error ?? response.output,
    status: OUTCOMES.get(shell?.outcome) ?? AGENT_ENDS.get(agent?.status) ?? status,
    exit_code: codeOf(shell?.exitCode),
    duration_ms: telemetry?.duration_ms ?? durationOf(facts?.durationMs),
    diff: textOf(display?.fileDiff),
    native_tool: response.name,
  };
}

/** Calls of a sub-agent as listed in its result: the only source if the sub-agent has no file. */
export function listedCalls(record: ToolResult) {
  const display = nativeOf(nativeOf(record.toolCallResult)?.resultDisplay);
  return listOf(display?.toolCalls).flatMap((item) => {
    const call = nativeOf(item);
    const [id, name] = [idOf(call?.callId), idOf(call?.name)];
    if (!call || id === null || name === null) return [];
    const ended = call.status === 'success' || call.status === 'failed';
    const output = textOf(call.error) ?? textOf(call.resultDisplay) ?? textOf(call.result);
    const status = call.status === 'failed' ? 'error' : 'ok';
    const answer = ended ? ({ call_id: id, output, report: output, status } as const) : null;
    const input: unknown = call.args ?? {};
    return { id, name, input, answer };
  });
}
