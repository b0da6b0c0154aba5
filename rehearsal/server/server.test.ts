import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anthropic } from './anthropic.ts';
import { EXHAUSTED, fill, readerOf, type Script } from './scenario.ts';

const SCRIPT: Script = {
  turns: [
    [{ thinking: 'Hm.' }, { text: 'Grüße 🚀' }, { tool: 'Bash', input: { command: 'true' } }],
    { error: { status: 429, headers: { 'retry-after': '1' } } },
  ],
  agents: [{ match: 'SUBTASK', turns: [[{ text: 'from the helper' }]] }],
};
const asks = (text: string, more: object = {}) => ({
  model: 'm',
  tools: [{}, {}],
  messages: [{ role: 'user', content: [{ type: 'text', text }] }],
  ...more,
});

test('each conversation has its own queue, and ids count up', () => {
  const reader = readerOf(SCRIPT);
  expect(reader.take('do SUBTASK now')).toEqual({
    queue: 'agent-1',
    index: 0,
    turn: [{ text: 'from the helper' }],
  });
  expect(reader.take('hello')).toEqual({ queue: 'main', index: 0, turn: SCRIPT.turns[0] });
  expect(reader.take('SUBTASK').turn).toEqual(EXHAUSTED);
  expect([reader.id('msg'), reader.id('req'), reader.id('msg')]).toEqual([
    'msg_0001',
    'req_0001',
    'msg_0002',
  ]);
});

test('the last turn is repeated only if the script says so', () => {
  const last = [{ text: 'again' }];
  const reader = readerOf({ turns: [last], repeat_last: true });
  expect([reader.take('').turn, reader.take('').turn]).toEqual([last, last]);
});

test('known names in a script are filled in, others stay', () => {
  expect(fill({ a: ['{{WORK}}/x', '{{NONE}}'], b: 1, c: null }, { WORK: '/w' })).toEqual({
    a: ['/w/x', '{{NONE}}'],
    b: 1,
    c: null,
  });
});

test('a complete answer has every block and a stop reason', () => {
  const reply = anthropic(
    { method: 'POST', path: '/v1/messages', body: asks('hi') },
    readerOf(SCRIPT),
  );
  expect({ ...reply, body: JSON.parse(reply.body as string) }).toEqual({
    status: 200,
    headers: { 'request-id': 'req_0001', 'content-type': 'application/json' },
    note: 'main 1',
    user_texts: ['hi'],
    body: {
      id: 'msg_0001',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'c2NyaXB0ZWQ=' },
        { type: 'text', text: 'Grüße 🚀' },
        { type: 'tool_use', id: 'toolu_0001', name: 'Bash', input: { command: 'true' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 1010,
        cache_creation_input_tokens: 200,
        cache_read_input_tokens: 300,
        output_tokens: 21,
      },
    },
  });
});

test('a side request takes no turn of the script', () => {
  const reader = readerOf(SCRIPT);
  const errand = { method: 'POST', path: '/v1/messages', body: asks('title?', { tools: [] }) };
  expect(anthropic(errand, reader).note).toBe('side errand');
  expect(reader.take('hello').index).toBe(0);
});

let folder = '';
let url = '';
let server: ChildProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tacho-model-'));
  const port = await new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address() as { port: number };
      probe.close(() => resolve(free));
    });
  });
  url = `http://127.0.0.1:${port}`;
  const place = (name: string) => join(folder, name);
  writeFileSync(place('script.json'), JSON.stringify(SCRIPT));
  const files = [place('script.json'), place('log.jsonl'), place('ready')];
  const main = join(import.meta.dirname, 'main.ts');
  server = spawn(process.execPath, [main, 'anthropic', String(port), ...files], {
    stdio: 'ignore',
  });
  while (!existsSync(place('ready'))) await sleep(20);
});

afterAll(() => {
  server.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test('over HTTP: probe, streamed turn, failure, token count, unknown route, and a log of all', async () => {
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);

  const streamed = await post('/v1/messages?beta=true', asks('hi', { stream: true }));
  const events = (await streamed.text()).split('\n\n').filter((event) => event !== '');
  const data = events.map((event) => JSON.parse(event.split('\ndata: ')[1] ?? ''));
  expect(data.map(({ type }) => type)).toEqual([
    'message_start',
    ...['content_block_start', ...Array(3).fill('content_block_delta'), 'content_block_stop'],
    ...['content_block_start', ...Array(2).fill('content_block_delta'), 'content_block_stop'],
    ...['content_block_start', ...Array(2).fill('content_block_delta'), 'content_block_stop'],
    'message_delta',
    'message_stop',
  ]);
  const deltas = data.flatMap(({ delta }) => [delta?.text ?? '']);
  expect(deltas.join('')).toBe('Grüße 🚀');

  const failed = await post('/v1/messages', asks('hi'));
  expect([failed.status, failed.headers.get('retry-after'), await failed.json()]).toEqual([
    429,
    '1',
    { type: 'error', error: { type: 'api_error', message: 'scripted error 429' } },
  ]);
  expect(await (await post('/v1/messages/count_tokens', {})).json()).toEqual({
    input_tokens: 1000,
  });
  expect((await post('/v1/other', {})).status).toBe(404);

  const log = readFileSync(join(folder, 'log.jsonl'), 'utf8').trim().split('\n');
  const lines = log.map((line) => JSON.parse(line) as { n: number; status: number; note: string });
  expect(lines.map(({ n, status, note }) => [n, status, note])).toEqual([
    [1, 200, 'probe'],
    [2, 200, 'main 1'],
    [3, 429, 'main 2'],
    [4, 200, 'count_tokens'],
    [5, 404, 'no route'],
  ]);
});
