/** Results of calls in the session file (`toolCalls[]`, or the answer sent to the model), and tokens of messages. */
import type { CallEnd } from '../kit/drafts.ts';
import { type Inside, idOf, listOf, nativeOf, textOf, timeOf, tokensOf } from '../kit/native.ts';
import { type Spent, spent, without } from '../kit/usage.ts';
import { isRefusal, type Result, reportedEnd } from './calls.ts';
import type { Session } from './generated/native.ts';

export type Item = Inside<Session['gemini']['toolCalls']>;
/** `functionResponse`: the answer to the model. */
export type Answer = Inside<Inside<Session['user']['content']>['functionResponse']>;

type Said = ReturnType<typeof saidIn>;
function saidIn(response: Answer | null) {
  const body = nativeOf(response?.response);
  return { error: textOf(body?.error), output: textOf(body?.output) };
}

/** The call's own answer among the parts: the CLI may store the answers of the whole batch there. */
function ownAnswer(parts: Item['result'], call_id: string): Said {
  let first: Answer | null = null;
  for (const part of listOf(parts)) {
    const response = nativeOf(nativeOf(part)?.functionResponse);
    if (response === null) continue;
    if (response.id === call_id) return saidIn(response);
    first ??= response;
  }
  return saidIn(first);
}

/** From the value of `status`; null while the call continues. */
function endOf(status: unknown, tool: string, answer: Said, shown: string | null): CallEnd | null {
  if (status === 'success') return reportedEnd(tool, answer.output);
  if (status !== 'error' && status !== 'cancelled') return null;
  if (isRefusal(answer.error) || isRefusal(shown)) return { status: 'denied', exit_code: null };
  return { status, exit_code: reportedEnd(tool, answer.output ?? answer.error).exit_code };
}

/** The result in a `toolCalls[]` item; null while the call continues. */
export function resultOfItem(item: Item, call_id: string, native_tool: string): Result | null {
  const shown = textOf(item.resultDisplay);
  const answer = ownAnswer(item.result, call_id);
  const end = endOf(item.status, native_tool, answer, shown);
  if (end === null) return null;
  // stdout has the text shown to people; some tools show none.
  const output = shown || (answer.output ?? answer.error ?? shown);
  const detail = nativeOf(item.resultDisplay);
  return { call_id, at_ms: timeOf(item), ...end, output, detail };
}

/** The result in a `functionResponse` part, for calls that are in no `toolCalls`. */
export function resultOfAnswer(response: Answer, at_ms: number | undefined): Result | null {
  const call_id = idOf(response.id);
  if (call_id === null) return null;
  const answer = saidIn(response);
  const status = answer.error === null ? 'success' : 'error';
  const end = endOf(status, textOf(response.name) ?? '', answer, null);
  if (end === null) return null;
  return { call_id, at_ms, ...end, output: answer.output ?? answer.error, detail: null };
}

/** `tokens` of a message. Its input includes cached tokens; tacho's does not. */
export function ofTokens(tokens: Inside<Session['gemini']['tokens']>): Spent {
  const cache_read = tokensOf(tokens.cached);
  const input = without(tokensOf(tokens.input), cache_read);
  const output = tokensOf(tokens.output);
  return spent({ input, output, cache_read, reasoning: tokensOf(tokens.thoughts) });
}
