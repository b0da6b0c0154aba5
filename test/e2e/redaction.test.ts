/** Redaction is the same in every command (ST-7): import, convert, emit, connect, eval and drift redact what `run` redacts. */
import { randomBytes } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { connect } from '../../src/index.ts';
import { call, transcript } from '../build-transcript.ts';
import { chaosAgent, played } from '../chaos-agent.ts';
import { startServe, storedIn } from '../serve-process.ts';
import { demo, filesBelow, linesOf, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;

const VALUE = 'Zq81mKpXv0tRs5Wd9Lb2';
const SHAPE = ['sk', 'ant', 'api03', 'AAbbCCDDeeFFgg00112233445566'].join('-');
const PATTERN = 'ACME-123456';
const MARK = /\[REDACTED:[a-z]+:[0-9a-f]{8}\]/;
const KEY_LINES = Array.from({ length: 8 }, () => randomBytes(48).toString('base64'));
const KEY = [
  ['-----BEGIN', 'RSA PRIVATE KEY-----'].join(' '),
  ...KEY_LINES,
  ['-----END', 'RSA PRIVATE KEY-----'].join(' '),
];
const ENV = { MY_API_KEY: VALUE };

const config = () => writeFileSync(join(place.folder, 'tacho.yaml'), 'redact: ["ACME-[0-9]{6}"]\n');
const leaks = (texts: { path: string; bytes: Buffer }[], secrets: readonly string[]) =>
  texts.flatMap(({ path, bytes }) =>
    secrets.filter((secret) => bytes.includes(secret)).map((secret) => `${path}: ${secret}`),
  );
const streams = ({ bytes, stderr }: { bytes: Buffer; stderr: string }) => [
  { path: 'stdout', bytes },
  { path: 'stderr', bytes: Buffer.from(stderr) },
];

/** A recorded session with these texts from the agent and its tools. */
function session(...texts: string[]): string {
  const source = join(root, 'src/agents/claude/testdata/bash-ok/stdout.jsonl');
  const said = texts.flatMap((text, at) => {
    const id = `t-${at}`;
    const call = { type: 'tool_use', id, name: 'Bash', input: { command: text } };
    const answer = { type: 'tool_result', tool_use_id: id, content: text };
    const content = [{ type: 'text', text }, call];
    return [
      { type: 'assistant', message: { id: `m-${text.length}`, role: 'assistant', content } },
      { type: 'user', message: { role: 'user', content: [answer] } },
    ].map((record) => JSON.stringify(record));
  });
  const lines = readFileSync(source, 'utf8').trimEnd().split('\n');
  const path = join(place.folder, 'recorded.jsonl');
  writeFileSync(path, `${[...lines.slice(0, -1), ...said, lines.at(-1)].join('\n')}\n`);
  return path;
}

verifies(
  'ST-7',
  "secrets across lines, at cuts and of any length are in none of a run's output or files",
  async () => {
    const long = randomBytes(4_000).toString('base64url');
    const lines = ['first-line-Kx82mPq0', 'second-line-Tz93nRw1', 'third-line-Lv04bYe2'];
    // As in a `.env` file.
    const escaped = ['escaped-line-Hb37cWf4', 'another-line-Gd58eUj6'];
    const script = join(place.folder, 'script.yaml');
    const noise = [
      ...KEY.flatMap((line) => [{ stderr: line }, { garbage: line }]),
      ...[...lines, ...escaped].map((line) => ({ stderr: line })),
      ...[0, 5, 12, 19].map((back) => ({ garbage: `${'x'.repeat(4096 - back)}${VALUE} rest` })),
      ...[0, 9, 19].map((back) => ({ garbage: `${'x'.repeat(4095 - back)} ${SHAPE} rest` })),
      { stderr: `${'x'.repeat(290)}${VALUE}` },
      { garbage: `{"t":"${VALUE.repeat(10)}"}` },
    ];
    writeFileSync(script, JSON.stringify({ steps: [...noise, { say: `${long} ${lines[1]}` }] }));
    const values = { MY_SECRET: lines.join('\n'), PRIVATE_KEY: escaped.join('\\n') };
    const env = { ...ENV, ...values, BIG_SECRET: long, SHORT_TOKEN: 'abc' };
    const result = await tacho(demo(script, '--stream'), { env });
    expect(result.code).toBe(0);
    const secrets = [
      ...KEY_LINES,
      ...lines,
      ...escaped,
      long,
      VALUE.slice(0, 8),
      SHAPE.slice(0, 19),
    ];
    expect(leaks(streams(result), secrets)).toEqual([]);
    expect(leaks(filesBelow(place.state), secrets)).toEqual([]);
    const { stdout } = await tacho(['replay', 'last', '--output', 'human']);
    expect(stdout).toContain('have fewer than 6 characters: SHORT_TOKEN');
    expect(stdout).not.toContain('abc\n');
  },
);

verifies('ST-7', 'names and ids of calls are also redacted in an outcome', async () => {
  config();
  const path = session();
  const tool = `mcp__x__${PATTERN}`;
  const called = (id: string, parent_tool_use_id: string | null) => {
    const content = [{ type: 'tool_use', id, name: tool, input: {} }];
    const message = { id: `m-${id}`, role: 'assistant', content };
    return `${JSON.stringify({ type: 'assistant', parent_tool_use_id, message })}\n`;
  };
  const id = `t-${VALUE}`;
  writeFileSync(path, readFileSync(path, 'utf8') + called(id, null) + called('u', id));
  const convert = ['convert', '--agent', 'claude', '--from', 'stdout', '--to', 'outcome', path];
  const result = await tacho(convert, { env: ENV });
  const { tool_calls } = JSON.parse(result.stdout);
  const { native_name, parent_id } = tool_calls.at(-1);
  expect([native_name, parent_id]).toEqual([
    expect.stringMatching(MARK),
    expect.stringMatching(MARK),
  ]);
  expect(leaks(streams(result), [VALUE, PATTERN])).toEqual([]);
});

verifies(
  'ST-7',
  'an outcome is redacted before a path is made relative to the work folder',
  async () => {
    const path = join(root, 'src/agents/claude/testdata/write-edit/stdout.jsonl');
    const convert = ['convert', '--agent', 'claude', '--to', 'outcome', path];
    const paths = async (env = {}) =>
      JSON.parse((await tacho(convert, { env })).stdout).artifacts.map(
        (one: { path: string }) => one.path,
      );
    expect(await paths()).toEqual(['greet.txt']);
    // The secret begins in the name of the work folder and ends in the name of a file.
    expect(await paths({ MY_API_KEY: 'user/project/greet.txt' })).toEqual([
      expect.stringMatching(/^\/home\/\[REDACTED:env:[0-9a-f]{8}\]$/),
    ]);
  },
);

verifies('ST-7', 'a pattern without a match changes no byte of a conversion', async () => {
  const path = session('日本語 naïve 🚀');
  for (const to of ['outcome', 'transcript', 'agentv', 'atif', 'events', 'run-event', 'live']) {
    const convert = ['convert', '--agent', 'claude', '--from', 'stdout', '--to', to, path];
    const plain = await tacho(convert);
    const matched = await tacho([...convert, '--redact', 'ACME-[0-9]{6}']);
    expect(plain.stdout, to).toMatch(/日本語のテキスト/);
    expect([to, matched.stdout === plain.stdout]).toEqual([to, true]);
  }
});

verifies('ST-7', 'a line over the limit is redacted before it is cut', async () => {
  const path = join(place.folder, 'long.jsonl');
  const long = `{"type":"${'x'.repeat(4096 - 12 - 9)}${VALUE}${'a'.repeat(8.2 * 1024 * 1024)}"}`;
  copyFileSync(session('x'), path);
  writeFileSync(path, `${readFileSync(path, 'utf8')}${long}\n`);
  const result = await tacho(['convert', '--agent', 'claude', '--to', 'events', path], {
    env: ENV,
  });
  expect(linesOf(result.stdout).map(({ data }) => data.code)).toContain('oversize_line');
  expect(leaks(streams(result), [VALUE.slice(0, 6)])).toEqual([]);
});

verifies('ST-7', 'import and convert redact what a run redacts, in every format', async () => {
  config();
  const secrets = [VALUE, SHAPE, PATTERN, KEY_LINES[0] as string];
  const path = session(`key ${VALUE}`, `shape ${SHAPE}.`, `number ${PATTERN},`, KEY.join('\n'));
  for (const form of ['events', 'run-event', 'live', 'outcome', 'transcript', 'agentv', 'atif']) {
    const result = await tacho(['convert', '--agent', 'claude', '--to', form, path], { env: ENV });
    expect([form, result.code, leaks(streams(result), secrets)]).toEqual([form, 0, []]);
  }
  const recorded = join(root, 'src/agents/claude/testdata/bash-ok/session');
  const [kept] = filesBelow(recorded).filter((file) => file.path.endsWith('.jsonl'));
  const text = (kept?.bytes.toString('utf8') ?? '').replaceAll(
    '"text":"',
    `"text":"${secrets.slice(0, 3).join(' ')} GLOBEX-47 `,
  );
  expect(text).toContain(PATTERN);
  const file = join(place.folder, 'kept.jsonl');
  // And a line that is not a record, with a secret where its excerpt is cut.
  writeFileSync(file, `${text.trimEnd()}\n${'x'.repeat(4096 - 8)}${VALUE}\n`);
  const flag = ['--redact', 'GLOBEX-[0-9]+'];
  const imported = await tacho(['import', 'claude', file, ...flag], { env: ENV });
  expect(imported.code).toBe(0);
  const left = [...streams(imported), ...filesBelow(place.state)];
  expect(leaks(left, [...secrets, 'GLOBEX-47', VALUE.slice(0, 8)])).toEqual([]);
  const shown = await tacho(['replay', 'last', '--output', 'json']);
  expect(shown.stdout).toMatch(MARK);
});

verifies(
  'ST-7',
  '--redact also applies to import, convert and emit; a bad pattern is refused',
  async () => {
    const path = session('number XYZ-77');
    const args = ['convert', '--agent', 'claude', '--to', 'transcript', path];
    expect((await tacho(args)).stdout).toContain('XYZ-77');
    expect((await tacho([...args, '--redact', 'XYZ-\\d+'])).stdout).not.toContain('XYZ-77');
    for (const command of [args, ['import', 'claude', path], ['emit', path]]) {
      const result = await tacho([...command, '--redact', '(a)\\1'], { contract: 'none' });
      expect([result.code, result.stderr]).toEqual([2, expect.stringContaining('refers back')]);
    }
  },
);

const request = (call_id: string, args: object) => ({
  type: 'tool_call_request',
  data: { call_id, name: 'Bash', native_name: null, args, is_client_initiated: false },
});

verifies(
  ['ST-7', 'LP-2'],
  'emit redacts messages before the outbox, and otherwise sends them unchanged',
  async () => {
    config();
    const state = join(place.folder, 'served');
    const { url, end } = await startServe(state, '--socket', join(place.folder, 'c'));
    const args = {
      a: [1, null, { b: 'x' }],
      c: `curl -H "X: ${VALUE}" ${SHAPE} ${PATTERN} GLOBEX-47`,
    };
    const pieces = `It is ${VALUE}, or so.`.match(/.{1,5}/gs) ?? [];
    const block = { message_id: 'm', index: 0 };
    const messages = [
      { type: 'session_start', data: { agent: 'mine' } },
      request('c1', args),
      { type: 'tool_call_response', data: { call_id: 'c1', result: { out: VALUE, n: 1.5 } } },
      ...pieces.map((text) => ({
        type: 'content_block_delta',
        data: { ...block, delta: { type: 'text_delta', text } },
      })),
      { type: 'content_block_stop', data: block },
    ];
    const input = messages.map((message) => `${JSON.stringify(message)}\n`).join('');
    const emit = ['emit', '--to', url, '--session', 's', '--redact', 'GLOBEX-[0-9]+'];
    const sent = await tacho(emit, { input, env: ENV });
    expect(sent.code).toBe(0);
    const secrets = [VALUE, SHAPE, PATTERN, 'GLOBEX-47'];
    expect(leaks([...filesBelow(state), ...filesBelow(place.state)], secrets)).toEqual([]);
    const stored = ((await storedIn(state)).get('s') ?? []).map((line) => JSON.parse(line));
    const asked = stored.find(({ type }) => type === 'tool_call_request').data.args;
    expect(asked.a).toEqual(args.a);
    expect(asked.c.replaceAll(new RegExp(MARK, 'g'), '*')).toBe('curl -H "X: *" * * *');
    const deltas = stored.filter(({ type }) => type === 'content_block_delta');
    expect(deltas.map(({ data }) => data.delta.text).join('')).toMatch(
      /^It is \[REDACTED:env:[0-9a-f]{8}\], or so\.$/,
    );
    const plain = ['emit', '--to', url, '--session', 't', '--no-redact'];
    expect((await tacho(plain, { input, env: ENV })).code).toBe(0);
    const whole = ((await storedIn(state)).get('t') ?? []).map((line) => JSON.parse(line));
    expect(whole.find(({ type }) => type === 'tool_call_request').data.args).toEqual(args);
    await end('SIGTERM');
  },
);

verifies(
  ['ST-7', 'LP-2'],
  'emit redacts numbered messages, and an unfinished text arrives complete',
  async () => {
    const state = join(place.folder, 'served');
    const { url, end } = await startServe(state, '--socket', join(place.folder, 'c'));
    const numbered = [
      { type: 'session_start', data: { agent: 'mine' } },
      request('c1', { c: `echo ${VALUE}`, n: 1 }),
      { type: 'session_end', data: { status: 'incomplete', reason: `lost ${VALUE}` } },
    ].map((message, at) => ({
      ...message,
      session_id: 'n',
      seq: at + 1,
      message_id: `m${at + 1}`,
      timestamp: '2026-01-01T00:00:00.000Z',
      correlation_id: null,
      ack_required: true,
      trace: null,
    }));
    const block = { message_id: 'm', index: 0 };
    const pieces = `It is ${VALUE}`.match(/.{1,5}/gs) ?? [];
    const open = [
      { type: 'session_start', data: { agent: 'mine' } },
      ...pieces.map((text) => ({
        type: 'content_block_delta',
        data: { ...block, delta: { type: 'text_delta', text } },
      })),
    ].map((message) => ({ ...message, session_id: 'o' }));
    const input = [...numbered, ...open].map((one) => `${JSON.stringify(one)}\n`).join('');
    const sent = await tacho(['emit', '--to', url], { input, env: ENV });
    expect([sent.code, sent.stderr]).toEqual([0, '']);
    expect(leaks([...filesBelow(state), ...filesBelow(place.state)], [VALUE])).toEqual([]);
    const stored = await storedIn(state);
    const bodies = (id: string) => (stored.get(id) ?? []).map((line) => JSON.parse(line));
    const [start, asked, ended] = bodies('n');
    expect(start).toMatchObject(numbered[0] as object);
    expect([asked.message_id, asked.data.args.n, ended.seq]).toEqual(['m2', 1, 3]);
    expect([asked.data.args.c, ended.data.reason]).toEqual([
      expect.stringMatching(MARK),
      expect.stringMatching(MARK),
    ]);
    const deltas = bodies('o').filter(({ type }) => type === 'content_block_delta');
    expect(deltas.map(({ data }) => data.delta.text).join('')).toMatch(
      /^It is \[REDACTED:env:[0-9a-f]{8}\]$/,
    );
    await end('SIGTERM');
  },
);

verifies(
  ['ST-7', 'LP-2'],
  'emit redacts every field of a message, and its reports of bad lines',
  async () => {
    const state = join(place.folder, 'served');
    const { url, end } = await startServe(state, '--socket', join(place.folder, 'c'));
    const block = { message_id: 'm', index: 0, note: VALUE };
    const message = { id: 'm', role: 'assistant', content: [{ type: 'text', text: VALUE }] };
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const trace = { traceparent, tracestate: `x=${VALUE}` };
    const numbered = { session_id: 's', seq: 1, message_id: 'm1', correlation_id: null };
    const timestamp = '2026-01-01T00:00:00.000Z';
    const messages = [
      { type: 'session_start', ...numbered, timestamp, note: VALUE, data: { agent: 'mine' } },
      { type: 'message_start', trace, data: { message } },
      {
        type: 'content_block_delta',
        data: { ...block, delta: { text: 'a', partial_json: VALUE } },
      },
      // Held back, and sent at the end.
      { type: 'content_block_delta', data: { ...block, delta: { text: VALUE.slice(0, 9) } } },
      { type: VALUE },
      { type: `${'x'.repeat(88)}${VALUE}` },
      { type: 'session_state', timestamp: VALUE, data: {} },
      { type: 'tool_execution_status', data: { call_id: 'c', status: VALUE } },
    ];
    const input = messages
      .map((one) => `${JSON.stringify({ session_id: 's', ...one })}\n`)
      .join('');
    const sent = await tacho(['emit', '--to', url, '--no-end'], { input, env: ENV });
    expect(sent.stderr.match(/^line \d+: /gm)).toEqual(
      [5, 6, 7, 8].map((line) => `line ${line}: `),
    );
    expect(leaks(streams(sent), [VALUE.slice(0, 6)])).toEqual([]);
    expect(leaks([...filesBelow(state), ...filesBelow(place.state)], [VALUE])).toEqual([]);
    const stored = ((await storedIn(state)).get('s') ?? []).map((line) => JSON.parse(line));
    expect(stored.map(({ type }) => type)).toEqual([
      'session_start',
      'message_start',
      ...['content_block_delta', 'content_block_delta', 'content_block_delta'],
    ]);
    const [first, second] = stored;
    expect([first.note, second.trace.traceparent]).toEqual([
      expect.stringMatching(MARK),
      traceparent,
    ]);
    expect(second.data.message).toMatchObject({ id: 'm', role: 'assistant' });
    expect(
      stored
        .slice(2)
        .map(({ data }) => data.delta.text)
        .join(''),
    ).toBe(`a${VALUE.slice(0, 9)}`);
    await end('SIGTERM');
  },
);

verifies(
  ['ST-7', 'LP-2'],
  'a bad line does not change a text that is held back, and no end drops it',
  async () => {
    const state = join(place.folder, 'served');
    const { url, end } = await startServe(state, '--socket', join(place.folder, 'c'));
    const block = { message_id: 'm', index: 0 };
    const delta = (text: string, more: object = {}) => ({
      type: 'content_block_delta',
      data: { ...block, delta: { text } },
      ...more,
    });
    const bad = { timestamp: 'at no time' };
    const numbered = { session_id: 't', seq: 3, message_id: 'm3', correlation_id: null };
    const messages = [
      { type: 'session_start', data: { agent: 'mine' } },
      delta(`It is ${VALUE.slice(0, 9)}`),
      delta('BAD', bad),
      delta(VALUE.slice(9)),
      { type: 'content_block_stop', data: block, ...bad },
      { type: 'content_block_stop', data: block },
      { type: 'session_start', session_id: 't', data: { agent: 'mine' } },
      delta(VALUE.slice(0, 9), { session_id: 't' }),
      {
        type: 'session_end',
        ...numbered,
        timestamp: new Date(Date.now() + 60_000).toISOString(),
        data: { status: 'ok', reason: null, totals: null },
      },
    ];
    const input = messages.map((one) => `${JSON.stringify(one)}\n`).join('');
    const sent = await tacho(['emit', '--to', url, '--session', 's'], { input, env: ENV });
    expect(sent.stderr.match(/^line \d+: /gm)).toEqual(['line 3: ', 'line 5: ', 'line 9: ']);
    expect(sent.stderr).toContain('line 9: the field seq must be 4');
    const stored = await storedIn(state);
    const bodies = (id: string) => (stored.get(id) ?? []).map((line) => JSON.parse(line));
    const text = bodies('s').map(({ data }) => data.delta?.text ?? '');
    expect(text.join('')).toMatch(/^It is \[REDACTED:env:[0-9a-f]{8}\]$/);
    expect(bodies('s').map(({ type }) => type)).toEqual([
      'session_start',
      ...['content_block_delta', 'content_block_delta', 'content_block_delta'],
      'content_block_stop',
      'session_end',
    ]);
    // The numbered end left no room for the text held back: the session is ended after it.
    expect(bodies('t').map(({ type, data }) => [type, data.delta?.text])).toEqual([
      ['session_start', undefined],
      ['content_block_delta', ''],
      ['content_block_delta', VALUE.slice(0, 9)],
      ['session_end', undefined],
    ]);
    await end('SIGTERM');
  },
);

verifies(
  ['ST-7', 'LP-2'],
  'connect redacts like emit, unless redaction is turned off',
  async () => {
    const state = join(place.folder, 'served');
    const { url, end } = await startServe(state, '--socket', join(place.folder, 'c'));
    process.env.TACHO_TEST_API_KEY = VALUE;
    try {
      for (const redact of [['ACME-[0-9]{6}'], false] as const) {
        const live = connect({ url, stateDir: place.state, redact });
        const one = live.session({ agent: 'mine', sessionId: redact === false ? 'raw' : 'safe' });
        const call_id = one.request({ name: 'Bash', args: { c: `${VALUE} ${SHAPE} ${PATTERN}` } });
        one.respond(call_id, { result: Buffer.from([0xff, 0xfe, 1]) });
        one.end();
        // A text without an end before the connection is closed.
        const id = redact === false ? 'raw-open' : 'safe-open';
        const two = live.session({ agent: 'mine', sessionId: id });
        const block = { message_id: 'm', index: 0 };
        for (const text of `It is ${VALUE}`.match(/.{1,5}/gs) ?? []) {
          // A bad message does not change it.
          const bad = { ...block, delta: { text: 'BAD' }, time_source: 'none' };
          expect(() => two.send('content_block_delta', bad as never)).toThrow(/time_source/);
          two.send('content_block_delta', { ...block, delta: { type: 'text_delta', text } });
        }
        expect(await live.flush(30_000)).toBe(true);
        // The part of the open text held back is then in the outbox.
        expect((await live.close()).map(({ messages }) => messages)).toEqual(redact ? [1] : []);
      }
    } finally {
      delete process.env.TACHO_TEST_API_KEY;
    }
    const rest = await tacho(['emit', '--to', url], { input: '', env: { TACHO_TRUST: '1' } });
    expect([rest.code, rest.stderr]).toEqual([
      0,
      `note: sending 1 message left in the outbox to ${url}\n`,
    ]);
    const stored = await storedIn(state);
    const safe = (stored.get('safe') ?? []).join('\n');
    for (const secret of [VALUE, SHAPE, PATTERN]) expect(safe).not.toContain(secret);
    const textOf = (id: string) =>
      (stored.get(id) ?? [])
        .map((line) => JSON.parse(line))
        .map(({ data }) => data.delta?.text ?? '')
        .join('');
    expect(textOf('raw-open')).toBe(`It is ${VALUE}`);
    expect(textOf('safe-open')).toMatch(/^It is \[REDACTED:env:[0-9a-f]{8}\]$/);
    expect(safe).toContain('"encoding":"base64","data":"//4B"');
    expect((stored.get('raw') ?? []).join('\n')).toContain(`${VALUE} ${SHAPE} ${PATTERN}`);
    await end('SIGTERM');
  },
);

verifies('ST-7', 'a raw log contains no key that was printed line by line', async () => {
  const script = join(place.folder, 'script.yaml');
  const steps = [...KEY.map((line) => ({ garbage: line })), { say: `end ${VALUE}` }];
  writeFileSync(script, JSON.stringify({ steps }));
  const target = `targets: { d: { agent: demo, command: ${chaosAgent}, stream_log: raw } }\n`;
  writeFileSync(join(place.folder, 'tacho.yaml'), target);
  const args = ['run', '--target', 'd', 'x', '--', ...played(script)];
  expect((await tacho(args, { env: { ...ENV, TACHO_TRUST: '1' } })).code).toBe(0);
  const files = filesBelow(place.state);
  expect(files.some(({ path }) => path.endsWith('.log'))).toBe(true);
  expect(leaks(files, [...KEY_LINES, VALUE])).toEqual([]);
});

verifies(['ST-7', 'AG-19'], 'drift shows no secret, in either report format', async () => {
  config();
  const secrets = [VALUE, SHAPE, PATTERN];
  const path = join(place.folder, 'drifted.jsonl');
  writeFileSync(path, secrets.map((type) => `${JSON.stringify({ type })}\n`).join(''));
  for (const more of [[], ['--json']]) {
    const result = await tacho(['drift', 'claude', path, ...more], { env: ENV });
    expect([result.code, result.stdout.match(new RegExp(MARK, 'g'))?.length]).toEqual([0, 3]);
    expect(leaks(streams(result), secrets)).toEqual([]);
  }
  // Redacted before they are cut: types and field names, even in a report without patterns.
  const [type, name] = [288, 290].map((count) => `${'x'.repeat(count)} ${VALUE} rest`);
  const field = { type: 'user', message: { role: 'user', content: 'x', [name as string]: 1 } };
  writeFileSync(path, `${JSON.stringify({ type })}\n${JSON.stringify(field)}\n`);
  for (const yaml of ['redact: ["ACME-[0-9]{6}"]\n', '']) {
    writeFileSync(join(place.folder, 'tacho.yaml'), yaml);
    const result = await tacho(['drift', 'claude', path, '--json'], { env: ENV });
    const { findings } = JSON.parse(result.stdout);
    const codes = findings.map(({ code }: { code: string }) => code);
    expect(codes).toEqual(expect.arrayContaining(['unknown_record', 'new_field']));
    expect(leaks(streams(result), [VALUE.slice(0, 6)])).toEqual([]);
  }
});

/** An endpoint for graders; it keeps its requests, and answers with other secrets. */
async function judge(): Promise<{ url: string; asked: { path: string; bytes: Buffer }[] }> {
  const asked: { path: string; bytes: Buffer }[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    asked.push({ path: 'prompt', bytes: Buffer.concat(pieces) });
    const reason = `I saw ${VALUE} ${SHAPE} ${PATTERN}`;
    const content = JSON.stringify({ checks: [{ id: 'c1', score: 0.1, reason }] });
    response.end(JSON.stringify({ choices: [{ message: { content } }] }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

verifies(
  ['ST-7', 'EV-7'],
  "an eval sends its graders no secret, and its results contain none of their answers' secrets",
  async () => {
    config();
    const { url, asked } = await judge();
    const secrets = [VALUE, SHAPE, PATTERN];
    const said = secrets.join(' ');
    const got = join(place.folder, 'got');
    // Keeps its input, then answers with other secrets.
    const program = `
      require('node:fs').writeFileSync(${JSON.stringify(got)}, require('node:fs').readFileSync(0));
      const text = ['${VALUE.slice(0, 9)}', '${VALUE.slice(9)}'].join('') + ' ${SHAPE} ${PATTERN}';
      if (process.argv[1] === 'fail') throw new Error(text);
      const assertions = [{ text, passed: false }];
      console.log(JSON.stringify({ score: 0.1, reason: text, assertions }));`;
    const grader = (...args: string[]) => ({
      type: 'code-grader',
      command: [process.execPath, '-e', program, ...args],
    });
    const model = { type: 'llm-grader', criteria: 'is nice', model: 'm', max_retries: 0 };
    const text = { type: 'contains', value: 'something else' };
    const calls = { type: 'tool-trajectory', mode: 'subset', expected: [{ tool: 'Read' }] };
    // The eval file's own text.
    const skill = { type: 'skill-trigger', skill: PATTERN };
    const assertions = [
      calls,
      skill,
      { ...text, name: 'text' },
      { type: 'composite', name: 'all', assertions: [text, grader(), skill] },
      grader(),
      grader('fail'),
      model,
    ];
    const tests = [{ id: 'a', input: `use ${PATTERN}`, assertions }];
    writeFileSync(join(place.work, 'e.yaml'), JSON.stringify({ tests }));
    const run = transcript([call('Bash', { command: `echo ${said}` }, { output: said })], {
      final_output: said,
    });
    writeFileSync(join(place.work, 'a.jsonl'), `${JSON.stringify(run)}\n`);
    const env = {
      ...ENV,
      TACHO_TRUST: '1',
      TACHO_GRADER_URL: url,
      OPENAI_API_KEY: 'a-key-of-ours',
    };
    const files = ['--junit', 'j.xml', '--results', 'r.jsonl'];
    for (const form of ['json', 'human']) {
      const args = ['eval', 'e.yaml', '--transcript', 'a.jsonl', '--output', form, ...files];
      const result = await tacho(args, { env, contract: 'none' });
      expect([form, result.code]).toEqual([form, 1]);
      const left = ['j.xml', 'r.jsonl'].map((name) => join(place.work, name));
      const kept = [got, ...left].map((path) => ({ path, bytes: readFileSync(path) }));
      // The note of the consent names the command, which is the eval file's.
      const seen = streams({ ...result, stderr: '' });
      expect(leaks([...seen, ...kept, ...asked], secrets)).toEqual([]);
      for (const { bytes } of [...kept, ...asked]) expect(bytes.toString()).toMatch(MARK);
    }
    expect(asked.length).toBe(2);
  },
);

verifies(['ST-7', 'EV-7'], 'an eval redacts a run before it cuts parts of it', async () => {
  const { url, asked } = await judge();
  // In front of a secret that is cut in the middle: in the evidence of a text, of a call, and in a prompt.
  const before = (chars: number) => `${'x'.repeat(chars - 10)} ${VALUE}`;
  const inputs = [
    before(75),
    { command: before(75) },
    { a: before(200) },
    { command: before(990) },
  ];
  const run = transcript(
    inputs.map((input) => call('Bash', input, { output: before(1_000) })),
    { final_output: before(70) },
  );
  run.messages[0]!.content = before(4_000);
  const assertions = [
    { type: 'contains', value: 'something else' },
    { type: 'contains', value: before(80) },
    { type: 'tool-trajectory', mode: 'subset', expected: [{ tool: 'Read' }] },
    { type: 'llm-grader', criteria: 'is nice', model: 'm', max_retries: 0 },
    ...['stdout', 'stderr'].map((stream) => ({
      type: 'code-grader',
      // The answer is not JSON: its beginning is shown.
      command: [process.execPath, '-e', `process.${stream}.write(process.argv[1])`, before(200)],
    })),
  ];
  writeFileSync(join(place.work, 'e.yaml'), JSON.stringify({ tests: [{ id: 'a', assertions }] }));
  writeFileSync(join(place.work, 'a.jsonl'), `${JSON.stringify(run)}\n`);
  const env = { ...ENV, TACHO_TRUST: '1', TACHO_GRADER_URL: url, OPENAI_API_KEY: 'a-key-of-ours' };
  const args = ['eval', 'e.yaml', '--transcript', 'a.jsonl', '--output', 'json'];
  const result = await tacho(args, { env, contract: 'none' });
  expect([result.code, asked.length]).toEqual([1, 1]);
  // The note of the consent names the command, which is the eval file's.
  const seen = streams({ ...result, stderr: '' });
  expect(leaks([...seen, ...asked], [VALUE.slice(0, 4)])).toEqual([]);
});

verifies('ST-7', 'validate and eval show no secret of the lines that they report', async () => {
  config();
  const path = join(place.folder, 'lines.jsonl');
  const wrong = (text: string) => JSON.stringify({ type: text, schema_version: text, id: text });
  const cut = `${'x'.repeat(88)}${VALUE}`;
  const lines = [VALUE, SHAPE, PATTERN].flatMap((text) => [`{"a":${text}}`, text, wrong(text)]);
  lines.push(wrong(cut));
  writeFileSync(path, `${lines.join('\n')}\n`);
  const evals = join(place.folder, 'e.yaml');
  const tests = [{ id: 'a', assertions: [{ type: 'contains', value: 'x' }] }];
  writeFileSync(evals, JSON.stringify({ tests }));
  const commands = [
    ...['live', 'run-event', 'transcript'].flatMap((format) => [
      ['validate', '--format', format, path],
      ['validate', '--format', format, '--json', path],
    ]),
    ['eval', evals, '--transcript', path],
  ];
  for (const command of commands) {
    const result = await tacho(command, { env: ENV });
    expect(result.stdout + result.stderr).toMatch(/JSON/);
    // The engine's message quotes ten characters.
    const parts = [VALUE, SHAPE, PATTERN].map((text) => text.slice(0, 8));
    expect([command, leaks(streams(result), parts)]).toEqual([command, []]);
  }
});
