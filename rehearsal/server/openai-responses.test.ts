import { expect, test } from 'vitest';
import { openaiResponses } from './openai-responses.ts';
import { readerOf, type Script } from './scenario.ts';

const SCRIPT: Script = {
  turns: [
    [
      { thinking: 'Hm.' },
      { text: 'Grüße 🚀' },
      { sleep_ms: 1 },
      { tool: 'mcp__toy/add', input: { a: 1 } },
      { tool: 'apply_patch', input: { input: 'a patch' } },
    ],
    { error: { status: 429, headers: { 'retry-after': '1' } } },
  ],
};
const TOOLS = [
  { type: 'custom', name: 'apply_patch' },
  { type: 'function', name: 'exec_command' },
];
const asks = (...input: object[]) => ({
  method: 'POST',
  path: '/v1/responses',
  body: { model: 'm', tools: TOOLS, input },
});
const PROMPT = { role: 'user', content: [{ type: 'input_text', text: 'hi' }] };

async function eventsOf(body: AsyncIterable<string> | string): Promise<Record<string, unknown>[]> {
  const events: Record<string, unknown>[] = [];
  for await (const event of body) events.push(JSON.parse(event.split('\ndata: ')[1] ?? ''));
  return events;
}

test('a streamed answer has each item empty, in pieces and whole, then all items and the tokens', async () => {
  const { body, ...reply } = openaiResponses(asks(PROMPT), readerOf(SCRIPT));
  expect(reply).toEqual({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    note: 'main 1',
    user_texts: ['hi'],
  });
  const events = await eventsOf(body);
  const item = (delta: string) => ['output_item.added', delta, delta, 'output_item.done'];
  expect(events.map(({ type }) => String(type).replace('response.', ''))).toEqual([
    'created',
    ...item('reasoning_summary_text.delta'),
    ...item('output_text.delta'),
    ...item('function_call_arguments.delta'),
    ...item('custom_tool_call_input.delta'),
    'completed',
  ]);
  expect(events.flatMap(({ delta }) => delta ?? []).join('')).toBe('Hm.Grüße 🚀{"a":1}a patch');
  const done = { status: 'completed' };
  expect(events.at(-1)?.response).toEqual({
    id: 'resp_0001',
    object: 'response',
    model: 'm',
    status: 'completed',
    output: [
      {
        type: 'reasoning',
        id: 'rs_0001',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'c2NyaXB0ZWQ=',
      },
      {
        type: 'message',
        id: 'msg_0001',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Grüße 🚀', annotations: [] }],
        ...done,
      },
      {
        type: 'function_call',
        id: 'fc_0001',
        call_id: 'call_0001',
        name: 'add',
        namespace: 'mcp__toy',
        arguments: '{"a":1}',
        ...done,
      },
      {
        type: 'custom_tool_call',
        id: 'ctc_0001',
        call_id: 'call_0002',
        name: 'apply_patch',
        input: 'a patch',
        ...done,
      },
    ],
    usage: {
      input_tokens: 1010,
      input_tokens_details: { cached_tokens: 300 },
      output_tokens: 33,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 1043,
    },
  });
});

test('after starting a helper, the model waits for it before the script continues', async () => {
  const reader = readerOf(SCRIPT);
  const started = { type: 'function_call_output', output: '{"agent_id":"a1","nickname":"n"}' };
  const { body, note } = openaiResponses(asks(PROMPT, started), reader);
  const { item } = (await eventsOf(body)).find(({ type }) => String(type).endsWith('.done')) ?? {};
  expect([note, item]).toEqual([
    'waits for a helper',
    {
      type: 'function_call',
      id: 'fc_0001',
      call_id: 'call_0001',
      name: 'wait_agent',
      namespace: 'multi_agent_v1',
      arguments: '{"targets":["a1"],"timeout_ms":30000}',
      status: 'completed',
    },
  ]);
  expect(reader.take('hi').index).toBe(0);
});

test('a failure has the format of the API; models and other routes do not exist', () => {
  const reader = readerOf(SCRIPT);
  reader.take('');
  expect(openaiResponses(asks(PROMPT), reader)).toEqual({
    status: 429,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    body: '{"error":{"message":"scripted error 429","type":"scripted","param":null,"code":null}}',
    note: 'main 2',
    user_texts: ['hi'],
  });
  const get = (path: string) => openaiResponses({ method: 'GET', path, body: null }, reader);
  expect([get('/v1/models').note, get('/v1/other').status]).toEqual(['models', 404]);
});
