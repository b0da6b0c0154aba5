/** The Anthropic Messages API, as far as a CLI needs it: streamed and complete answers, errors, token counts. */
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
interface MessagesRequest {
  model?: string;
  stream?: boolean;
  tools?: unknown[];
  messages?: Message[];
}
type Block =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> };

/** A request with fewer tools is not a turn of the agent but a side request (a title, a quota check). */
const AGENT_TOOLS_MIN = 2;
const JSON_TYPE = { 'content-type': 'application/json' };

export const anthropic: Dialect = (asked, reader) => {
  if (asked.method === 'HEAD') return plain(200, '', 'probe');
  if (asked.method === 'POST' && asked.path.endsWith('/messages/count_tokens')) {
    return plain(200, JSON.stringify({ input_tokens: 1000 }), 'count_tokens');
  }
  if (asked.method === 'POST' && asked.path.endsWith('/messages')) return messages(asked, reader);
  return plain(404, errorBody('not_found_error', `no route ${asked.path}`), 'no route');
};

function messages(asked: Asked, reader: Reader): Reply {
  const request = (asked.body ?? {}) as MessagesRequest;
  const user_texts = userTexts(request);
  if ((request.tools?.length ?? 0) < AGENT_TOOLS_MIN) {
    return { ...answer(request, [{ text: 'ok' }], reader), note: 'side errand', user_texts };
  }
  const { queue, index, turn } = reader.take(user_texts.join('\n'));
  const note = `${queue} ${index + 1}`;
  if ('error' in turn) return { ...failure(turn.error, reader), note, user_texts };
  return { ...answer(request, turn, reader), note, user_texts };
}

function userTexts(request: MessagesRequest): string[] {
  const said = (request.messages ?? []).filter((message) => message.role === 'user');
  return said.flatMap(({ content }) => {
    if (typeof content === 'string') return [content];
    return (content ?? []).flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : []));
  });
}

function plain(status: number, body: string, note: string): Reply {
  return { status, headers: JSON_TYPE, body, note, user_texts: [] };
}

function errorBody(type: string, message: string): string {
  return JSON.stringify({ type: 'error', error: { type, message } });
}

type Answer = Omit<Reply, 'note' | 'user_texts'>;

function failure(error: ProviderFailure, reader: Reader): Answer {
  return {
    status: error.status,
    headers: { ...JSON_TYPE, 'request-id': reader.id('req'), ...error.headers },
    body: error.body
      ? JSON.stringify(error.body)
      : errorBody('api_error', `scripted error ${error.status}`),
  };
}

function answer(request: MessagesRequest, steps: readonly Step[], reader: Reader): Answer {
  const said = outputsIn(steps);
  const message = {
    id: reader.id('msg'),
    type: 'message',
    role: 'assistant',
    model: request.model ?? 'scripted',
  };
  const usage = {
    input_tokens: 1000 + 10 * (request.messages?.length ?? 0),
    cache_creation_input_tokens: 200,
    cache_read_input_tokens: 300,
    output_tokens: said.reduce((sum, step) => sum + Math.ceil(JSON.stringify(step).length / 4), 0),
  };
  const stop_reason = said.some((step) => 'tool' in step) ? 'tool_use' : 'end_turn';
  const headers = { 'request-id': reader.id('req') };
  if (request.stream !== true) {
    const content = said.map((step) => blockOf(step, reader));
    const body = { ...message, content, stop_reason, stop_sequence: null, usage };
    return { status: 200, headers: { ...headers, ...JSON_TYPE }, body: JSON.stringify(body) };
  }
  return {
    status: 200,
    headers: { ...headers, 'content-type': 'text/event-stream; charset=utf-8' },
    body: streamed({ message, usage, stop_reason, steps, reader }),
  };
}

function blockOf(step: Output, reader: Reader): Block {
  if ('text' in step) return { type: 'text', text: step.text };
  if ('thinking' in step) {
    return { type: 'thinking', thinking: step.thinking, signature: 'c2NyaXB0ZWQ=' };
  }
  return { type: 'tool_use', id: reader.id('toolu'), name: step.tool, input: step.input };
}

async function* streamed(said: {
  message: Record<string, unknown>;
  usage: Record<string, number>;
  stop_reason: string;
  steps: readonly Step[];
  reader: Reader;
}): AsyncGenerator<string> {
  const open = { content: [], stop_reason: null, stop_sequence: null };
  const usage = { ...said.usage, output_tokens: 1 };
  yield sse('message_start', { message: { ...said.message, ...open, usage } });
  let index = 0;
  for (const step of said.steps) {
    if ('sleep_ms' in step) {
      await sleep(step.sleep_ms);
      continue;
    }
    yield* blockEvents(blockOf(step, said.reader), index);
    index += 1;
  }
  const delta = { stop_reason: said.stop_reason, stop_sequence: null };
  yield sse('message_delta', { delta, usage: said.usage });
  yield sse('message_stop', {});
}

function* blockEvents(block: Block, index: number): Generator<string> {
  const delta = (data: Record<string, unknown>) =>
    sse('content_block_delta', { index, delta: data });
  if (block.type === 'text') {
    yield sse('content_block_start', { index, content_block: { ...block, text: '' } });
    for (const text of halves(block.text)) yield delta({ type: 'text_delta', text });
  } else if (block.type === 'thinking') {
    const content_block = { ...block, thinking: '', signature: '' };
    yield sse('content_block_start', { index, content_block });
    for (const thinking of halves(block.thinking)) {
      yield delta({ type: 'thinking_delta', thinking });
    }
    yield delta({ type: 'signature_delta', signature: block.signature });
  } else {
    yield sse('content_block_start', { index, content_block: { ...block, input: {} } });
    for (const partial_json of halves(JSON.stringify(block.input))) {
      yield delta({ type: 'input_json_delta', partial_json });
    }
  }
  yield sse('content_block_stop', { index });
}

function sse(type: string, data: Record<string, unknown>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
