import { expect, test } from 'vitest';
import { openaiChat } from './openai-chat.ts';
import { readerOf, type Script } from './scenario.ts';

const SCRIPT: Script = {
  turns: [
    [
      { thinking: 'Hm.' },
      { text: 'Grüße 🚀' },
      { sleep_ms: 1 },
      { tool: 'bash', input: { command: 'true' } },
      { tool: 'view', input: { path: 'x' } },
    ],
    { error: { status: 429, headers: { 'retry-after': '1' } } },
  ],
};
const asks = (text: string, more: object = {}) => ({
  method: 'POST',
  path: '/v1/chat/completions',
  body: { model: 'm', tools: [{}, {}], messages: [{ role: 'user', content: text }], ...more },
});
const USAGE = {
  prompt_tokens: 1010,
  completion_tokens: 30,
  total_tokens: 1040,
  prompt_tokens_details: { cached_tokens: 300 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const HEAD = { id: 'chatcmpl_0001', created: 1_735_689_600, model: 'm' };

async function dataOf(body: AsyncIterable<string> | string): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const event of body) {
    const data = event.replace(/^data: /, '').trimEnd();
    events.push(data === '[DONE]' ? data : JSON.parse(data));
  }
  return events;
}

test('a complete answer has thoughts, text, calls and a stop reason', () => {
  const reply = openaiChat(asks('hi'), readerOf(SCRIPT));
  expect({ ...reply, body: JSON.parse(reply.body as string) }).toEqual({
    status: 200,
    headers: { 'x-request-id': 'req_0001', 'content-type': 'application/json' },
    note: 'main 1',
    user_texts: ['hi'],
    body: {
      ...HEAD,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: 'Grüße 🚀',
            reasoning_content: 'Hm.',
            tool_calls: [
              {
                id: 'call_0001',
                type: 'function',
                function: { name: 'bash', arguments: '{"command":"true"}' },
              },
              {
                id: 'call_0002',
                type: 'function',
                function: { name: 'view', arguments: '{"path":"x"}' },
              },
            ],
          },
        },
      ],
      usage: USAGE,
    },
  });
});

test('a streamed answer is sent in pieces, with the tokens last', async () => {
  const { body } = openaiChat(asks('hi', { stream: true }), readerOf(SCRIPT));
  const piece = (delta: object, finish_reason: string | null = null) => ({
    ...HEAD,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  const call = (index: number, id: string, name: string) => ({
    tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
  });
  const args = (index: number, text: string) => ({
    tool_calls: [{ index, function: { arguments: text } }],
  });
  expect(await dataOf(body)).toEqual([
    piece({ role: 'assistant', content: '' }),
    piece({ reasoning_content: 'Hm' }),
    piece({ reasoning_content: '.' }),
    piece({ content: 'Grüß' }),
    piece({ content: 'e 🚀' }),
    piece(call(0, 'call_0001', 'bash')),
    piece(args(0, '{"command')),
    piece(args(0, '":"true"}')),
    piece(call(1, 'call_0002', 'view')),
    piece(args(1, '{"path')),
    piece(args(1, '":"x"}')),
    piece({}, 'tool_calls'),
    { ...HEAD, object: 'chat.completion.chunk', choices: [], usage: USAGE },
    '[DONE]',
  ]);
});

test('a failure of the provider has its status, its headers and an error in the body', () => {
  const reader = readerOf(SCRIPT);
  reader.take('');
  const reply = openaiChat(asks('hi'), reader);
  expect({ ...reply, body: JSON.parse(reply.body as string) }).toEqual({
    status: 429,
    headers: {
      'content-type': 'application/json',
      'x-request-id': 'req_0001',
      'retry-after': '1',
    },
    note: 'main 2',
    user_texts: ['hi'],
    body: {
      error: { message: 'scripted error 429', type: 'api_error', param: null, code: null },
    },
  });
});

test('a side request, the list of models and an unknown route take no turn of the script', () => {
  const reader = readerOf(SCRIPT);
  const notes = [
    asks('title?', { tools: [] }),
    { method: 'GET', path: '/v1/models', body: null },
    { method: 'POST', path: '/v1/responses', body: {} },
  ].map((asked) => {
    const { status, note } = openaiChat(asked, reader);
    return [status, note];
  });
  expect(notes).toEqual([
    [200, 'side errand'],
    [200, 'models'],
    [404, 'no route'],
  ]);
  expect(reader.take('hello').index).toBe(0);
});

test('elements that a CLI adds around the prompt are not part of it', () => {
  const seen = (content: unknown) =>
    openaiChat(asks('', { messages: [{ role: 'user', content }] }), readerOf(SCRIPT)).user_texts;
  expect(seen('<now>\n2026\n</now>\n\n<os>x</os>\nDo <b>it</b>\n\nnow')).toEqual([
    'Do <b>it</b>\n\nnow',
  ]);
  expect(seen('Do it\n\n<reminder>none\n\nat all</reminder>')).toEqual(['Do it']);
  expect(seen([{ type: 'text', text: 'Do it\n\n' }, { type: 'image_url' }])).toEqual(['Do it']);
});
