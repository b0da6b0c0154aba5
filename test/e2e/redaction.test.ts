/** Redaction is the same in every command (ST-7): what `run` covers, import, convert, emit and connect cover too. */
import { randomBytes } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { connect } from '../../src/index.ts';
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

/** A recorded session in which the agent and its tools say these texts. */
function session(...texts: string[]): string {
  const source = join(root, 'src/agents/claude/testdata/bash-ok/stdout.jsonl');
  const said = texts.map((text) =>
    JSON.stringify({
      type: 'assistant',
      message: { id: `m-${text.length}`, role: 'assistant', content: [{ type: 'text', text }] },
    }),
  );
  const lines = readFileSync(source, 'utf8').trimEnd().split('\n');
  const path = join(place.folder, 'recorded.jsonl');
  writeFileSync(path, `${[...lines.slice(0, -1), ...said, lines.at(-1)].join('\n')}\n`);
  return path;
}

verifies(
  'ST-7',
  'secrets over lines, at cuts and of any length are in nothing that a run leaves',
  async () => {
    const long = randomBytes(4_000).toString('base64url');
    const lines = ['first-line-Kx82mPq0', 'second-line-Tz93nRw1', 'third-line-Lv04bYe2'];
    const script = join(place.folder, 'script.yaml');
    const noise = [
      ...KEY.flatMap((line) => [{ stderr: line }, { garbage: line }]),
      ...lines.map((line) => ({ stderr: line })),
      ...[0, 5, 12, 19].map((back) => ({ garbage: `${'x'.repeat(4096 - back)}${VALUE} rest` })),
      ...[0, 9, 19].map((back) => ({ garbage: `${'x'.repeat(4095 - back)} ${SHAPE} rest` })),
      { stderr: `${'x'.repeat(290)}${VALUE}` },
      { garbage: `{"t":"${VALUE.repeat(10)}"}` },
    ];
    writeFileSync(script, JSON.stringify({ steps: [...noise, { say: `${long} ${lines[1]}` }] }));
    const env = { ...ENV, MY_SECRET: lines.join('\n'), BIG_SECRET: long, SHORT_TOKEN: 'abc' };
    const result = await tacho(demo(script, '--stream'), { env });
    expect(result.code).toBe(0);
    const secrets = [...KEY_LINES, ...lines, long, VALUE.slice(0, 8), SHAPE.slice(0, 19)];
    expect(leaks(streams(result), secrets)).toEqual([]);
    expect(leaks(filesBelow(place.state), secrets)).toEqual([]);
    const { stdout } = await tacho(['replay', 'last', '--output', 'human']);
    expect(stdout).toContain('have fewer than 6 characters: SHORT_TOKEN');
    expect(stdout).not.toContain('abc\n');
  },
);

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

verifies('ST-7', 'import and convert redact what a run redacts, in every form', async () => {
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
    `"text":"${secrets.slice(0, 3).join(' ')} `,
  );
  expect(text).toContain(PATTERN);
  const file = join(place.folder, 'kept.jsonl');
  writeFileSync(file, text);
  const imported = await tacho(['import', 'claude', file], { env: ENV });
  expect(imported.code).toBe(0);
  expect(leaks([...streams(imported), ...filesBelow(place.state)], secrets)).toEqual([]);
  const shown = await tacho(['replay', 'last', '--output', 'json']);
  expect(shown.stdout).toMatch(MARK);
});

verifies(
  'ST-7',
  '--redact counts for import, convert and emit too; a bad pattern is refused',
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
  'what emit sends is redacted before the outbox, and otherwise arrives as it was given',
  async () => {
    config();
    const state = join(place.folder, 'served');
    const { url, end } = await startServe(state, '--socket', join(place.folder, 'c'));
    const args = { a: [1, null, { b: 'x' }], c: `curl -H "X: ${VALUE}" ${SHAPE} ${PATTERN}` };
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
    const sent = await tacho(['emit', '--to', url, '--session', 's'], { input, env: ENV });
    expect(sent.code).toBe(0);
    const secrets = [VALUE, SHAPE, PATTERN];
    expect(leaks([...filesBelow(state), ...filesBelow(place.state)], secrets)).toEqual([]);
    const stored = ((await storedIn(state)).get('s') ?? []).map((line) => JSON.parse(line));
    const asked = stored.find(({ type }) => type === 'tool_call_request').data.args;
    expect(asked.a).toEqual(args.a);
    expect(asked.c.replaceAll(new RegExp(MARK, 'g'), '*')).toBe('curl -H "X: *" * *');
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

verifies(['ST-7', 'LP-2'], 'connect redacts like emit, unless it is told not to', async () => {
  const state = join(place.folder, 'served');
  const { url, end } = await startServe(state, '--socket', join(place.folder, 'c'));
  process.env.TACHO_TEST_API_KEY = VALUE;
  try {
    for (const redact of [['ACME-[0-9]{6}'], false] as const) {
      const live = connect(url, { state_dir: place.state, redact });
      const one = live.session({ agent: 'mine', session_id: redact === false ? 'raw' : 'safe' });
      const call_id = one.request({ name: 'Bash', args: { c: `${VALUE} ${SHAPE} ${PATTERN}` } });
      one.respond(call_id, { result: Buffer.from([0xff, 0xfe, 1]) });
      one.end();
      expect(await live.flush(30_000)).toBe(true);
      await live.close();
    }
  } finally {
    delete process.env.TACHO_TEST_API_KEY;
  }
  const stored = await storedIn(state);
  const safe = (stored.get('safe') ?? []).join('\n');
  for (const secret of [VALUE, SHAPE, PATTERN]) expect(safe).not.toContain(secret);
  expect(safe).toContain('"encoding":"base64","data":"//4B"');
  expect((stored.get('raw') ?? []).join('\n')).toContain(`${VALUE} ${SHAPE} ${PATTERN}`);
  await end('SIGTERM');
});

verifies('ST-7', 'a raw log has no key that was printed line by line', async () => {
  const script = join(place.folder, 'script.yaml');
  const steps = [...KEY.map((line) => ({ garbage: line })), { say: `end ${VALUE}` }];
  writeFileSync(script, JSON.stringify({ steps }));
  const target = `targets: { d: { agent: demo, stream_log: raw } }\n`;
  writeFileSync(join(place.folder, 'tacho.yaml'), target);
  const args = ['run', '--target', 'd', 'x', '--', '--speed', '0', '--script', script];
  expect((await tacho(args, { env: { ...ENV, TACHO_TRUST: '1' } })).code).toBe(0);
  const files = filesBelow(place.state);
  expect(files.some(({ path }) => path.endsWith('.log'))).toBe(true);
  expect(leaks(files, [...KEY_LINES, VALUE])).toEqual([]);
});

verifies(
  'ST-7',
  'validate and eval show no secret of the lines that they complain of',
  async () => {
    config();
    const path = join(place.folder, 'lines.jsonl');
    const wrong = (text: string) => JSON.stringify({ type: text, schema_version: text, id: text });
    const lines = [VALUE, SHAPE, PATTERN].flatMap((text) => [`{"a":${text}}`, text, wrong(text)]);
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
      // Ten characters are what a message of the engine quotes.
      const parts = [VALUE, SHAPE, PATTERN].map((text) => text.slice(0, 8));
      expect([command, leaks(streams(result), parts)]).toEqual([command, []]);
    }
  },
);
