import { expect, test } from 'vitest';
import { gemini } from './gemini.ts';
import { readerOf, type Script } from './scenario.ts';

const SCRIPT: Script = {
  turns: [
    [
      { thinking: 'Hm.' },
      { text: 'Grüße 🚀' },
      { sleep_ms: 1 },
      { tool: 'run_shell_command', input: { command: 'true' } },
    ],
    { error: { status: 429, headers: { 'retry-after': '1' } } },
  ],
  agents: [{ match: 'SUBTASK', turns: [[{ text: 'from the helper' }]] }],
};
const declares = (...names: string[]) => [
  { functionDeclarations: names.map((name) => ({ name })) },
];
const asks = (text: string, method: string, more: object = {}) => ({
  method: 'POST',
  path: `/v1beta/models/m:${method}`,
  body: {
    contents: [
      { role: 'user', parts: [{ text }] },
      { role: 'model', parts: [{ text: 'x' }] },
    ],
    tools: declares('read_file'),
    ...more,
  },
});
const USAGE = {
  promptTokenCount: 1020,
  cachedContentTokenCount: 300,
  candidatesTokenCount: 19,
  thoughtsTokenCount: 5,
  totalTokenCount: 1044,
};
const chunk = (parts: object[], end: object = {}, usage: object = {}) => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...end }],
  modelVersion: 'm',
  responseId: 'resp_0001',
  ...usage,
});
const END = [{ finishReason: 'STOP' }, { usageMetadata: USAGE }] as const;
const CALL = {
  functionCall: { id: 'fc_0001', name: 'run_shell_command', args: { command: 'true' } },
  thoughtSignature: 'c2NyaXB0ZWQ=',
};

test('a streamed answer is sent in pieces and ends with the tokens', async () => {
  const { body, ...reply } = gemini(asks('hi', 'streamGenerateContent'), readerOf(SCRIPT));
  expect(reply).toEqual({
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    note: 'main 1',
    user_texts: ['hi'],
  });
  const chunks: unknown[] = [];
  for await (const event of body) chunks.push(JSON.parse(event.replace(/^data: /, '')));
  expect(chunks).toEqual([
    chunk([{ text: 'Hm.', thought: true }]),
    chunk([{ text: 'Grüß' }]),
    chunk([{ text: 'e 🚀' }]),
    chunk([CALL]),
    chunk([{ text: '' }], ...END),
  ]);
});

test('a complete answer has every part', () => {
  const { body } = gemini(asks('hi', 'generateContent'), readerOf(SCRIPT));
  const parts = [{ text: 'Hm.', thought: true }, { text: 'Grüße 🚀' }, CALL];
  expect(JSON.parse(body as string)).toEqual(chunk(parts, ...END));
});

test('a failure has the format and headers of the API', () => {
  const reader = readerOf(SCRIPT);
  reader.take('');
  expect(gemini(asks('hi', 'streamGenerateContent'), reader)).toEqual({
    status: 429,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    body: '{"error":{"code":429,"message":"scripted error 429","status":"UNKNOWN"}}',
    note: 'main 2',
    user_texts: ['hi'],
  });
});

test('a sub-agent ends with a call', () => {
  const more = { tools: declares('read_file', 'complete_task') };
  const { body, note } = gemini(asks('SUBTASK', 'generateContent', more), readerOf(SCRIPT));
  expect([note, JSON.parse(body as string).candidates[0].content.parts]).toEqual([
    'agent-1 1',
    [
      {
        functionCall: { id: 'fc_0001', name: 'complete_task', args: { result: 'from the helper' } },
        thoughtSignature: 'c2NyaXB0ZWQ=',
      },
    ],
  ]);
});

test('a side request takes no turn of the script, and other routes do not exist', () => {
  const reader = readerOf(SCRIPT);
  const notes = [
    gemini(asks('which model?', 'generateContent', { tools: [] }), reader),
    gemini(
      asks('as JSON', 'generateContent', { generationConfig: { responseSchema: {} } }),
      reader,
    ),
    gemini(asks('hi', 'countTokens'), reader),
    gemini({ method: 'GET', path: '/v1beta/models', body: null }, reader),
  ].map(({ status, note }) => [status, note]);
  expect(notes).toEqual([
    [200, 'side errand'],
    [200, 'side errand'],
    [200, 'countTokens'],
    [404, 'no route'],
  ]);
  expect(reader.take('hello').index).toBe(0);
});
