/** OpenAI's chat completions API, as far as a CLI needs it: streamed and complete answers, errors, the model list. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Asked,
  type Dialect,
  halves,
  type Output,
  outputsIn,
  type ProviderFailure,
  type Reader,
  type Reply,
  type Step,
} from './scenario.ts';

interface Message {
  role?: string;
  content?: string | { type?: string; text?: string }[];
}
interface ChatRequest {
  model?: string;
  stream?: boolean;
  tools?: unknown[];
  messages?: Message[];
}
type Delta = Record<string, unknown>;
type Answer = Omit<Reply, 'note' | 'user_texts'>;

/** A request with fewer tools is not a turn of the agent but a side request (a title, a summary). */
const AGENT_TOOLS_MIN = 2;
const JSON_TYPE = { 'content-type': 'application/json' };
/** The same in every rehearsal: 2025-01-01. */
const CREATED_S = 1_735_689_600;

export const openaiChat: Dialect = (asked, reader) => {
  if (asked.method === 'POST' && asked.path.endsWith('/chat/completions')) {
    return completions(asked, reader);
  }
  if (asked.method === 'GET' && asked.path.endsWith('/models')) {
    const data = [{ id: 'scripted', object: 'model', created: CREATED_S, owned_by: 'rehearsal' }];
    return plain(200, JSON.stringify({ object: 'list', data }), 'models');
  }
  return plain(404, errorBody('invalid_request_error', `no route ${asked.path}`), 'no route');
};

function completions(asked: Asked, reader: Reader): Reply {
  const request = (asked.body ?? {}) as ChatRequest;
  const user_texts = userTexts(request);
  if ((request.tools?.length ?? 0) < AGENT_TOOLS_MIN) {
    return { ...answer(request, [{ text: 'ok' }], reader), note: 'side errand', user_texts };
  }
  const { queue, index, turn } = reader.take(user_texts.join('\n'));
  const note = `${queue} ${index + 1}`;
  if ('error' in turn) return { ...failure(turn.error, reader), note, user_texts };
  return { ...answer(request, turn, reader), note, user_texts };
}

function userTexts(request: ChatRequest): string[] {
  const said = (request.messages ?? []).filter((message) => message.role === 'user');
  return said
    .flatMap(({ content }) => {
      if (typeof content === 'string') return [content];
      return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : []));
    })
    .map(withoutWrapping);
}

/**
 * Some CLIs add elements such as the time before and after the prompt, in the same text; some end it with
 * line breaks.
 */
function withoutWrapping(text: string): string {
  const before = /^(?:\s*<(\w+)>(?:(?!<\/\1>).)*<\/\1>\n+)+/s.exec(text)?.[0] ?? '';
  const rest = text.slice(before.length);
  const after = /(?:\n+<(\w+)>(?:(?!<\/\1>).)*<\/\1>\s*)+$/s.exec(rest);
  return rest.slice(0, after?.index).replace(/\n+$/, '');
}

function plain(status: number, body: string, note: string): Reply {
  return { status, headers: JSON_TYPE, body, note, user_texts: [] };
}

function errorBody(type: string, message: string): string {
  return JSON.stringify({ error: { message, type, param: null, code: null } });
}

function failure(error: ProviderFailure, reader: Reader): Answer {
  return {
    status: error.status,
    headers: { ...JSON_TYPE, 'x-request-id': reader.id('req'), ...error.headers },
    body: error.body
      ? JSON.stringify(error.body)
      : errorBody('api_error', `scripted error ${error.status}`),
  };
}

function answer(request: ChatRequest, steps: readonly Step[], reader: Reader): Answer {
  const said = outputsIn(steps);
  const head = { id: reader.id('chatcmpl'), created: CREATED_S, model: request.model ?? '' };
  const usage = usageOf(request, said);
  const finish_reason = said.some((step) => 'tool' in step) ? 'tool_calls' : 'stop';
  const headers = { 'x-request-id': reader.id('req') };
  if (request.stream !== true) {
    const choice = { index: 0, message: wholeMessage(said, reader), finish_reason };
    const body = { ...head, object: 'chat.completion', choices: [choice], usage };
    return { status: 200, headers: { ...headers, ...JSON_TYPE }, body: JSON.stringify(body) };
  }
  return {
    status: 200,
    headers: { ...headers, 'content-type': 'text/event-stream; charset=utf-8' },
    body: streamed({ head, usage, finish_reason, steps, reader }),
  };
}

function usageOf(request: ChatRequest, said: readonly Output[]) {
  const tokens = (steps: readonly Output[]) =>
    steps.reduce((sum, step) => sum + Math.ceil(JSON.stringify(step).length / 4), 0);
  const prompt_tokens = 1000 + 10 * (request.messages?.length ?? 0);
  const completion_tokens = tokens(said);
  const reasoning_tokens = tokens(said.filter((step) => 'thinking' in step));
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: 300 },
    completion_tokens_details: { reasoning_tokens },
  };
}

function wholeMessage(said: readonly Output[], reader: Reader): Delta {
  const text = said.map((step) => ('text' in step ? step.text : '')).join('');
  const thinking = said.map((step) => ('thinking' in step ? step.thinking : '')).join('');
  const tool_calls = said.flatMap((step) =>
    'tool' in step ? [callOf(step, JSON.stringify(step.input), reader)] : [],
  );
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(thinking === '' ? {} : { reasoning_content: thinking }),
    ...(tool_calls.length === 0 ? {} : { tool_calls }),
  };
}

function callOf(step: { tool: string }, input: string, reader: Reader) {
  const called = { name: step.tool, arguments: input };
  return { id: reader.id('call'), type: 'function', function: called };
}

async function* streamed(said: {
  head: Record<string, unknown>;
  usage: Record<string, unknown>;
  finish_reason: string;
  steps: readonly Step[];
  reader: Reader;
}): AsyncGenerator<string> {
  const head = { ...said.head, object: 'chat.completion.chunk' };
  const chunk = (delta: Delta, finish_reason: string | null = null) =>
    sse({ ...head, choices: [{ index: 0, delta, finish_reason }] });
  yield chunk({ role: 'assistant', content: '' });
  let calls = 0;
  for (const step of said.steps) {
    if ('sleep_ms' in step) await sleep(step.sleep_ms);
    else for (const delta of deltasOf(step, calls, said.reader)) yield chunk(delta);
    if ('tool' in step) calls += 1;
  }
  yield chunk({}, said.finish_reason);
  yield sse({ ...head, choices: [], usage: said.usage });
  yield 'data: [DONE]\n\n';
}

function deltasOf(step: Output, index: number, reader: Reader): Delta[] {
  if ('text' in step) return halves(step.text).map((content) => ({ content }));
  if ('thinking' in step) {
    return halves(step.thinking).map((reasoning_content) => ({ reasoning_content }));
  }
  const begun = { tool_calls: [{ index, ...callOf(step, '', reader) }] };
  const pieces = halves(JSON.stringify(step.input));
  return [
    begun,
    ...pieces.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ];
}

function sse(data: Record<string, unknown>): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
