/** Whatever texts records contain, reading them as byte text gives the same events and outcome as reading text. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { recordingsIn } from '../../../test/test-agent.ts';
import { AGENT_IDS, findAgent } from '../../agents/registry.ts';
import { problem } from '../../capture/decode.ts';
import { Pipeline } from '../../capture/pipeline.ts';
import { recordedRun } from '../../capture/run-info.ts';
import { fromByteText } from '../../lib/byte-text.ts';
import { jsonIn } from '../../lib/json.ts';
import type { Agent } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import { createOutcomeFold } from '../../projections/outcome.ts';
import { createRedactor } from '../../redact/gate.ts';
import { convertTo } from './convert.ts';
import { driftIn } from './drift.ts';

type Channel = 'stdout' | 'session';

const CJK = '文字'.repeat(200);

/** Texts with parts, lengths, case or white space that differ in bytes. */
const WORDS = [
  'voilà',
  'cat notes/你',
  'cat skills/你/SKILL.md ',
  '\u00a0',
  '\u3000\u3000',
  '\ufeff',
  '',
  'a\u2028b\u2029',
  `${CJK}Р`,
  `${'漢'.repeat(700)}/SKILL.md`,
  `Tool ${'工具'.repeat(60)} not found`,
  `blocked: ${CJK}`,
  '🚀 \ud83d half',
  '{"output":"\\u4f60","metadata":{"exit_code":3}} é',
];

/** The record with the word in its texts: instead of some, after others. Names of kinds stay. */
function changed(value: unknown, word: string, seed: number, key = ''): unknown {
  if (typeof value === 'string') {
    const pick = (seed + key.length * 7 + value.length) % 4;
    if (FIXED.test(key) || pick === 3) return value;
    return pick === 0 ? word : `${value}${word}`;
  }
  if (Array.isArray(value)) return value.map((item) => changed(item, word, seed + 1, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, changed(item, word, seed, name)]),
  );
}

const FIXED = /^(?:t|type|subtype|role|kind|status|method|event|sessionUpdate|stopReason|\w*id)$/i;

/** The recording with the word in its records. */
function withWord(bytes: Buffer, word: string, seed: number): string {
  const lines = bytes.toString('utf8').trimEnd().split('\n');
  const made = lines.map((line, at) => {
    const value = jsonIn(line);
    return value === undefined ? line : JSON.stringify(changed(value, word, seed + at));
  });
  return `${made.join('\n')}\n`;
}

function run(agent: Agent, channel: Channel, bytes: Buffer, byte_text: boolean) {
  const pipeline = new Pipeline({
    agent,
    primary: channel,
    now: null,
    byte_text,
    info: recordedRun('r_1', agent.id),
  });
  const fold = createOutcomeFold({ keepIo: true, byte_text });
  const events: Event[] = [];
  const take = (more: Event[]) => {
    events.push(...more);
    for (const event of more) fold.push(event);
  };
  take(pipeline.push(channel, bytes));
  take(pipeline.endOfInput(channel));
  take(pipeline.finish());
  return { events, outcome: fold.finish() };
}

/** Halves of surrogate pairs have no bytes. */
function wellFormed<T>(value: T): T {
  const text = JSON.stringify(value);
  return JSON.parse(text, (_, item) => (typeof item === 'string' ? item.toWellFormed() : item));
}

function compare(agent: Agent, channel: Channel, text: string | Buffer, what: string): void {
  const bytes = Buffer.from(text as string);
  const made = run(agent, channel, bytes, true);
  const wanted = wellFormed(run(agent, channel, bytes, false));
  expect(fromByteText(made), what).toEqual(wanted);
}

const escaped = (json: string) =>
  json.replaceAll(
    /[^\u0000-\u007f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const folderOf = (agent: string) => join(import.meta.dirname, '../../agents', agent, 'testdata');

describe.each(AGENT_IDS)('%s', (id) => {
  test('texts outside ASCII, wherever they are', async () => {
    const agent = (await findAgent(id)) as Agent;
    const small = recordingsIn(folderOf(id)).filter(({ bytes }) => bytes.length < 60_000);
    const every = Math.ceil(small.length / 12);
    const some = small.filter((_, at) => at % every === 0);
    for (const [at, { scenario, channel, bytes }] of some.entries()) {
      for (const [n, word] of WORDS.entries()) {
        const text = withWord(bytes, word, at + n);
        const use = (at + n) % 4 === 0 ? escaped(text) : text;
        compare(agent, channel as Channel, use, `${scenario} ${channel} ${word.slice(0, 40)}`);
      }
    }
  });
});

type Records = readonly object[];
const user = (text: string, more: object = {}) => ({
  type: 'user',
  sessionId: 's',
  message: { role: 'user', content: text },
  ...more,
});
const long = (chars: number) => '字'.repeat(chars);
const typed = (name: string) => `<command-name>/${name}</command-name>`;
const body = user('Base directory for this skill: /p/skills/tidy\n', { isMeta: true });
const response = (payload: object) => ({ type: 'response_item', payload });
const named = (skill: string, space = '\n') => `<skill>${space}<name>${skill}</name>\n</skill>`;
const says = (text: string) =>
  response({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const entry = (message: object) => ({ type: 'message', id: 'e', message });
const piSkill = (name: string) =>
  entry({ role: 'user', content: `<skill name="${name}" location="/s">\n</skill>` });
const SES = 'ses_1';
const bus = (type: string, properties: object) => ({ id: 'evt_1', type, properties });
const part = (text: string) => ({
  type: 'text',
  sessionID: SES,
  part: { id: `prt_${text.length}`, messageID: 'msg_1', sessionID: SES, type: 'text', text },
});
const failure = (message: string) => ({
  type: 'result',
  status: 'error',
  error: { type: 'unknown', message },
});
const about = (detail: string) =>
  `[API Error: {"error":{"code":429,"message":"${detail}","status":"\\u0052ATE \\u4f60"}}]`;
const gemini = (content: string) => ({ id: 'm1', type: 'gemini', content, tokens: { input: 1 } });
const shell = (content: string) => [
  copilot('assistant.message', {
    messageId: 'a',
    content: '',
    toolRequests: [{ toolCallId: 'c1', name: 'bash', arguments: { command: 'x' } }],
  }),
  copilot('tool.execution_complete', { toolCallId: 'c1', success: true, result: { content } }),
  copilot('system.notification', {
    content: 'n',
    kind: { type: 'shell_completed', shellId: 'sà', exitCode: 6 },
  }),
];
const copilot = (type: string, data: object) => ({ type, id: 'e', data });
const answered = (text: string) => [
  { type: 'assistant', message: { id: 'm', content: [{ type: 'tool_use', id: 't', name: 'X' }] } },
  {
    type: 'user',
    message: {
      content: [{ type: 'tool_result', tool_use_id: 't', is_error: true, content: text }],
    },
  },
];
const qwenAsks = (text: string) => answered(`Qwen Code requires permission to use ${text}`);
const DECLINED = ', but that permission was declined';

/** Records with texts that a decoder inspects. */
const CASES: [string, Channel, Records][] = [
  ['claude', 'session', [user('x'), user(`${long(500)}${typed('你')}`), body]],
  ['claude', 'session', [user('x'), user(`${long(1024)}${typed('你')}`), body]],
  ['claude', 'stdout', answered(`rm in '${long(400)}' was blocked. For security, x`)],
  ['codex', 'session', [says(named(long(150)))]],
  ['codex', 'session', [says(named(long(250)))]],
  ['codex', 'session', [says(named(' 你\t'))]],
  ['codex', 'session', [says(named('a', '\u3000'))]],
  ['pi', 'session', [piSkill(long(200)), piSkill(long(300))]],
  ['copilot', 'stdout', shell('<command started in background with shellId: sà>')],
  ['gemini', 'session', [{ sessionId: 's' }, gemini('\u3000')]],
  ['gemini', 'session', [{ sessionId: 's' }, gemini('\u00a0à')]],
  ['gemini', 'stdout', [{ type: 'init', session_id: 's' }, failure(about('à'))]],
  ['gemini', 'stdout', [{ type: 'init', session_id: 's' }, failure(about(long(30_000)))]],
  ['opencode', 'stdout', [bus('command.executed', { name: 'a', arguments: 'à', sessionID: SES })]],
  ['opencode', 'stdout', [part('\u3000'), part('à\u00a0')]],
  ['qwen', 'stdout', qwenAsks(long(150) + DECLINED)],
  ['qwen', 'stdout', answered(`"${long(150)}" is not listed in the active core tools allowlist`)],
];

test('an export of many lines, and a draft that is not from the lines', async () => {
  const agent = (await findAgent('opencode')) as Agent;
  compare(agent, 'session', '{\n"info": {\n"id": "ses_1",\n"title": "x\u00a0\n}\n}\n\u00a0{\n', '');
  const left_out = problem('reconcile', 'bad_record', `left out: ${long(200)}`);
  const drafts = [false, true].map((byte_text) => {
    const info = recordedRun('r_1', 'opencode');
    const pipeline = new Pipeline({ agent, primary: 'session', now: null, byte_text, info });
    const raw = { channel: 'session' as const, line: 1, offset: 0, file: '你.json' };
    const part = { path: '你.json', parent_call_id: null };
    const lines = pipeline.line('no record — é', raw, part, true);
    return [...lines, ...pipeline.draft(left_out, null), ...pipeline.finish()];
  });
  expect(fromByteText(drafts[1])).toEqual(drafts[0]);
});

test.each(CASES)('%s %s: %j', async (id, channel, records) => {
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  compare((await findAgent(id)) as Agent, channel, lines, '');
});

test('lines that are not records, and problems beyond those that are listed', async () => {
  const agent = (await findAgent('claude')) as Agent;
  const lines = [
    'plain text — naïve\n',
    `{"broken é":{"type":"user","message":{"content":"\\u4f60 ${long(9)}"}}\n`,
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x0a]),
    `${'['.repeat(300)}"${long(25_000)}"${']'.repeat(300)}\n`,
    `{"type":"${long(3000)}"}\n`,
    ...Array.from({ length: 220 }, (_, at) => `{"type":"é${at}"}\n`),
  ];
  compare(agent, 'stdout', Buffer.concat(lines.map((line) => Buffer.from(line as string))), '');
});

const SECRETS = [
  'Authorization:\u00a0Bearer abcdefghijklmnop1234567890XYZ',
  'https://bob:pässwörd@example.org/ and ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2é',
  '\u3000',
  `${long(200)}à`,
];

test.each(['outcome', 'transcript'] as const)('convert --to %s, with secrets', async (to) => {
  const hash = (text: string) => Buffer.from(text).toString('hex').slice(0, 8);
  const redactor = createRedactor({ env: {}, secret_env: [], hash });
  for (const id of ['claude', 'codex', 'gemini']) {
    const agent = (await findAgent(id)) as Agent;
    for (const { channel, bytes } of recordingsIn(folderOf(id)).slice(0, 6))
      for (const word of SECRETS) {
        const text = withWord(bytes, word, 1);
        const made = async (bytes_too: boolean) => {
          async function* input() {
            yield Buffer.from(`${text}{"type":"${word}${word}"}\n${word}\n`);
          }
          const options = { agent, from: channel, input: input(), whole_texts: true };
          const given = { ...options, redactor: { ...redactor, bytes_too } } as const;
          const pieces = await Array.fromAsync(convertTo(given, to), (piece) => `${piece}`);
          return pieces.join('');
        };
        expect(await made(true)).toBe(await made(false));
      }
  }
});

test('drift in byte text is the same as in text', async () => {
  const agent = (await findAgent('claude')) as Agent;
  const hash = () => '00000000';
  const redactor = createRedactor({ env: {}, secret_env: [], hash });
  const made = (bytes_too: boolean) => {
    async function* input() {
      yield Buffer.from(
        `{"type":"user","message":{},"a${long(200)}":1,"b${'字字 '.repeat(120)}":1}\n{"type":"${long(200)}"}\n`,
      );
    }
    return driftIn({ agent, from: 'stdout', input: input(), redactor: { ...redactor, bytes_too } });
  };
  const found = await made(true);
  expect(found.findings.length).toBeGreaterThan(1);
  expect(found).toEqual(await made(false));
});
