/** What the session file says of a call's end: `toolCalls[]` of the model's message, or the answer sent to the model. */
import { type CallEnd, isRefusal, type Result, toldEnd } from './calls.ts';
import { idOf, isNative, listOf, type Native, nativeOf, textOf, timeOf } from './native.ts';

/** `functionResponse.response`: what the model is told. */
interface Answer {
  readonly error: string | null;
  readonly output: string | null;
}

const NO_ANSWER: Answer = { error: null, output: null };

function answerOf(response: Native | null): Answer {
  const body = nativeOf(response?.response);
  return body === null ? NO_ANSWER : { error: textOf(body.error), output: textOf(body.output) };
}

/** The call's own answer among the parts: the CLI may keep those of its whole batch there. */
function ownAnswer(parts: unknown, call_id: string): Answer {
  let first: Native | null = null;
  for (const part of listOf(parts)) {
    const response = isNative(part) ? nativeOf(part.functionResponse) : null;
    if (response === null) continue;
    if (response.id === call_id) return answerOf(response);
    first ??= response;
  }
  return answerOf(first);
}

/** By the words of `status`; null while the call goes on. */
function endOf(
  status: unknown,
  tool: string,
  answer: Answer,
  shown: string | null,
): CallEnd | null {
  switch (status) {
    case 'success':
      return toldEnd(tool, answer.output);
    case 'error':
    case 'cancelled': {
      if (isRefusal(answer.error) || isRefusal(shown)) return { status: 'denied', exit_code: null };
      const { exit_code } = toldEnd(tool, answer.output ?? answer.error);
      return { status: status === 'error' ? 'error' : 'cancelled', exit_code };
    }
    default:
      return null;
  }
}

/** The result in a `toolCalls[]` item; null while the call goes on. */
export function resultOfItem(item: Native, call_id: string, native_tool: string): Result | null {
  const shown = textOf(item.resultDisplay);
  const answer = ownAnswer(item.result, call_id);
  const end = endOf(item.status, native_tool, answer, shown);
  if (end === null) return null;
  // What people are shown is what stdout has; some tools show nothing.
  const output = shown || (answer.output ?? answer.error ?? shown);
  const detail = nativeOf(item.resultDisplay);
  return { call_id, at_ms: timeOf(item), ...end, output, detail };
}

/** The result in a `functionResponse` part, for calls that stand in no `toolCalls`. */
export function resultOfAnswer(response: Native, at_ms: number | undefined): Result | null {
  const call_id = idOf(response.id);
  if (call_id === null) return null;
  const answer = answerOf(response);
  const status = answer.error === null ? 'success' : 'error';
  const end = endOf(status, textOf(response.name) ?? '', answer, null);
  if (end === null) return null;
  return { call_id, at_ms, ...end, output: answer.output ?? answer.error, detail: null };
}
