/** OpenAI's Responses API, as far as a CLI needs it: streamed answers and errors. */
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

interface InputItem {
  type?: string;
  role?: string;
  output?: unknown;
  content?: string | { text?: string }[];
}
interface ResponsesRequest {
  model?: string;
  tools?: { type?: string; name?: string }[];
  input?: InputItem[];
}
/** An item of the answer: its form before and after its pieces, and the pieces. */
interface Item {
  whole: Record<string, unknown>;
  empty: Record<string, unknown>;
  delta_type: string;
  pieces: string[];
}
type Answer = Omit<Reply, 'note' | 'user_texts'>;

/** A sub-agent works beside its parent. The parent waits for its answer by an id that only the run creates. */
const WAIT = 'multi_agent_v1/wait_agent';
const WAIT_MS = 30_000;
/** A request with fewer tools is not a turn of the agent but a side request, such as for a title on a terminal. */
const AGENT_TOOLS_MIN = 2;
const JSON_TYPE = { 'content-type': 'application/json' };

export const openaiResponses: Dialect = (asked, reader) => {
  if (asked.method === 'POST' && asked.path.endsWith('/responses')) return respond(asked, reader);
  if (asked.method === 'GET' && asked.path.endsWith('/models')) {
    return plain(200, '{"object":"list","data":[]}', 'models');
  }
  return plain(404, errorBody(`no route ${asked.path}`), 'no route');
};

function respond(asked: Asked, reader: Reader): Reply {
  const request = (asked.body ?? {}) as ResponsesRequest;
  const user_texts = userTexts(request);
  if ((request.tools?.length ?? 0) < AGENT_TOOLS_MIN) {
    return { ...said(request, [{ text: 'ok' }], reader), note: 'side errand', user_texts };
  }
  const helper = startedHelper(request);
  if (helper !== null) {
    const wait = { tool: WAIT, input: { targets: [helper], timeout_ms: WAIT_MS } };
    return { ...said(request, [wait], reader), note: 'waits for a helper', user_texts };
  }
  const { queue, index, turn } = reader.take(user_texts.join('\n'));
  const note = `${queue} ${index + 1}`;
  const answer = 'error' in turn ? failure(turn.error) : said(request, turn, reader);
  return { ...answer, note, user_texts };
}

function userTexts({ input }: ResponsesRequest): string[] {
  const from = (input ?? []).filter((item) => item.role === 'user');
  return from.flatMap(({ content }) => {
    if (typeof content === 'string') return [content];
    return (content ?? []).flatMap(({ text }) => text ?? []);
  });
}

/** The id of a sub-agent, if its start was the last event. */
function startedHelper({ input }: ResponsesRequest): string | null {
  const { type, output } = input?.at(-1) ?? {};
  if (type !== 'function_call_output') return null;
  return /^\{"agent_id":"([^"]+)"/.exec(String(output))?.[1] ?? null;
}

function plain(status: number, body: string, note: string): Reply {
  return { status, headers: JSON_TYPE, body, note, user_texts: [] };
}

function errorBody(message: string): string {
  return JSON.stringify({ error: { message, type: 'scripted', param: null, code: null } });
}

function failure({ status, headers, body }: ProviderFailure): Answer {
  return {
    status,
    headers: { ...JSON_TYPE, ...headers },
    body: body ? JSON.stringify(body) : errorBody(`scripted error ${status}`),
  };
}

function said(request: ResponsesRequest, steps: readonly Step[], reader: Reader): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    body: streamed(request, steps, reader),
  };
}

async function* streamed(
  request: ResponsesRequest,
  steps: readonly Step[],
  reader: Reader,
): AsyncGenerator<string> {
  const response = { id: reader.id('resp'), object: 'response', model: request.model };
  yield sse('response.created', { response: { ...response, status: 'in_progress', output: [] } });
  const output: object[] = [];
  for (const step of steps) {
    if ('sleep_ms' in step) {
      await sleep(step.sleep_ms);
      continue;
    }
    const item = itemOf(step, request, reader);
    yield* itemEvents(item, output.length);
    output.push(item.whole);
  }
  const usage = usageOf(request, outputsIn(steps));
  yield sse('response.completed', {
    response: { ...response, status: 'completed', output, usage },
  });
}

function* itemEvents({ whole, empty, delta_type, pieces }: Item, index: number): Generator<string> {
  const place = { output_index: index };
  yield sse('response.output_item.added', { ...place, item: { ...whole, ...empty } });
  const of = { ...place, item_id: whole.id, content_index: 0, summary_index: 0 };
  for (const delta of pieces) yield sse(delta_type, { ...of, delta });
  yield sse('response.output_item.done', { ...place, item: whole });
}

function itemOf(step: Output, request: ResponsesRequest, reader: Reader): Item {
  if ('tool' in step) return callOf(step, request, reader);
  if ('thinking' in step) {
    const summary = [{ type: 'summary_text', text: step.thinking }];
    const rest = { id: reader.id('rs'), encrypted_content: 'c2NyaXB0ZWQ=' };
    return {
      whole: { type: 'reasoning', summary, ...rest },
      empty: { summary: [] },
      delta_type: 'response.reasoning_summary_text.delta',
      pieces: halves(step.thinking),
    };
  }
  const content = [{ type: 'output_text', text: step.text, annotations: [] }];
  const rest = { id: reader.id('msg'), role: 'assistant', status: 'completed' };
  return {
    whole: { type: 'message', content, ...rest },
    empty: { content: [], status: 'in_progress' },
    delta_type: 'response.output_text.delta',
    pieces: halves(step.text),
  };
}

/** `namespace/name`, or `name`. A tool that the request declares as a custom one gets the text `input.input`. */
function callOf(
  { tool, input }: Extract<Output, { tool: string }>,
  { tools }: ResponsesRequest,
  reader: Reader,
): Item {
  const [name = '', namespace] = tool.split('/').reverse();
  const rest = { call_id: reader.id('call'), name, namespace, status: 'completed' };
  if (tools?.some((declared) => declared.type === 'custom' && declared.name === name)) {
    const text = String(input.input);
    return {
      whole: { type: 'custom_tool_call', id: reader.id('ctc'), input: text, ...rest },
      empty: { input: '', status: 'in_progress' },
      delta_type: 'response.custom_tool_call_input.delta',
      pieces: halves(text),
    };
  }
  const text = JSON.stringify(input);
  return {
    whole: { type: 'function_call', id: reader.id('fc'), arguments: text, ...rest },
    empty: { arguments: '', status: 'in_progress' },
    delta_type: 'response.function_call_arguments.delta',
    pieces: halves(text),
  };
}

/** Cached tokens are part of the input's tokens, tokens of thoughts part of the output's. */
function usageOf({ input }: ResponsesRequest, all: readonly Output[]): object {
  const count = (some: readonly Output[]) =>
    some.reduce((sum, step) => sum + Math.ceil(JSON.stringify(step).length / 4), 0);
  const input_tokens = 1000 + 10 * (input?.length ?? 0);
  const output_tokens = count(all);
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: 300 },
    output_tokens,
    output_tokens_details: { reasoning_tokens: count(all.filter((step) => 'thinking' in step)) },
    total_tokens: input_tokens + output_tokens,
  };
}

function sse(type: string, data: Record<string, unknown>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
