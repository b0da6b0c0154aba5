/** `tacho emit`, `tacho run --live` and the library's `connect`, as built, with a collector process. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readText } from '../../src/live/protocol/messages.ts';
import { connectSocket, control, type Message } from '../live-client.ts';
import { startServe, storedIn } from '../serve-process.ts';
import { demo, finished, kill, linesOf, root, until, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;

const outbox = () => {
  const folder = join(place.state, 'outbox');
  return existsSync(folder) ? readdirSync(folder) : [];
};
const lines = (...messages: object[]) => messages.map((one) => `${JSON.stringify(one)}\n`).join('');
const short = (type: string, data: object) => ({ type, data });
const request = (call_id: string) =>
  short('tool_call_request', {
    call_id,
    name: 'shell',
    args: { a: 1 },
    is_client_initiated: false,
  });
const types = (messages: Message[]) => messages.map(({ type }) => type);
const faults = (messages: Message[]) =>
  messages.map((message) => readText(JSON.stringify(message)).fault).filter((fault) => fault);

/** The stderr of a sender, without clock warnings caused by delays on a busy machine. */
const complaints = (stderr: string) =>
  stderr.split('\n').filter((line) => line !== '' && !line.includes(' clock '));

/** With its own state folder. */
async function collector() {
  const state = join(place.folder, 'served');
  const socket = join(place.folder, 'c');
  const { url, end } = await startServe(state, '--socket', socket);
  const lines = async (id: string) => (await storedIn(state)).get(id) ?? [];
  const messages = async (id: string): Promise<Message[]> =>
    (await lines(id)).map((line) => JSON.parse(line));
  const served = { lines, messages, socket, stop: () => end('SIGTERM') };
  return { served, url };
}

verifies(
  ['LP-4', 'LP-7'],
  'short messages are completed, open calls and the session are ended, and everything is acknowledged',
  async () => {
    const { served, url } = await collector();
    const input = lines(
      short('session_start', { agent: 'mine' }),
      request('c1'),
      short('tool_call_response', { call_id: 'c1', result: { ok: true } }),
      request('c2'),
    );
    const { code, records, stderr } = await tacho(
      ['emit', '--to', url, '--session', 's', '--json'],
      { input },
    );
    expect({ code, said: complaints(stderr) }).toEqual({ code: 0, said: [] });
    const sessions = [{ session_id: 's', last_seq: 6, acked: 6, error: null }];
    expect(records).toEqual([{ lines: 4, messages: 6, bad: 0, sessions }]);
    const messages = await served.messages('s');
    expect(types(messages)).toEqual([
      'session_start',
      'tool_call_request',
      'tool_call_response',
      'tool_call_request',
      'tool_call_response',
      'session_end',
    ]);
    expect(messages[4].data).toMatchObject({ call_id: 'c2', error: { code: 'CANCELLED' } });
    expect(messages[1]).toMatchObject({
      correlation_id: 's/c1',
      message_id: 's-2',
      ack_required: true,
    });
    expect(faults(messages)).toEqual([]);
    expect(outbox()).toEqual([]);
  },
);

verifies(
  'LP-2',
  'complete messages pass byte for byte; bad lines are reported with line and field, and the rest continues',
  async () => {
    const { served, url } = await collector();
    const whole = `{"type":"session_start", "timestamp":"2026-03-03T10:00:00.037Z","session_id":"w","message_id":"m","seq":1,"data":{"agent":"x","extra":"é\\u0000"}}`;
    const file = join(place.folder, 'in.jsonl');
    const bad = [
      '{"type":"tool_call_request","session_id":"w","data":{"call_id":"c","args":{},"is_client_initiated":true}}',
      '{oops',
      '{"type":"heartbeat"}',
      '{"type":"nonsense","data":{}}',
      whole.replace('"seq":1', '"seq":9'),
    ];
    writeFileSync(
      file,
      [whole, ...bad, '{"type":"session_end","session_id":"w","data":{"status":"done"}}'].join(
        '\r\n',
      ),
    );
    const { code, stderr } = await tacho(['emit', '--to', url, file]);
    expect(code).toBe(1);
    for (const part of [
      'line 2: the field data.name is missing',
      'line 3: ',
      'line 4: the type heartbeat is not sent by agents; emit sends session_start',
      'line 5: unknown message type "nonsense"; expected one of: session_start',
      'line 6: the field seq must be 2',
      '5 of 7 lines are invalid, and were not sent',
    ])
      expect(stderr).toContain(part);
    expect((await served.lines('w'))[0]).toBe(whole);
    expect(types(await served.messages('w'))).toEqual(['session_start', 'session_end']);
  },
);

verifies(
  'LP-8',
  'undelivered messages stay and are reported; the next tacho command delivers them',
  async () => {
    const at = join(place.folder, 'c');
    const args = ['emit', '--to', `unix:${at}`, '--session', 's'];
    const away = await tacho([...args, '--wait', '0.2'], { input: lines(request('c1')) });
    expect(away.code).toBe(75);
    expect(away.stderr).toContain('3 messages of session s not delivered yet');
    expect(outbox()).toHaveLength(1);
    const { served } = await collector();
    const run = await tacho(demo('default'));
    expect(run.code).toBe(0);
    expect(types(await served.messages('s'))).toEqual([
      'tool_call_request',
      'tool_call_response',
      'session_end',
    ]);
    expect(outbox()).toEqual([]);
  },
);

verifies(
  'LP-8',
  'a later emit continues a session; a run without a collector succeeds as usual',
  async () => {
    const { served, url } = await collector();
    const args = ['emit', '--to', url, '--session', 's', '--no-end'];
    expect((await tacho(args, { input: lines(request('c1')) })).code).toBe(0);
    expect((await tacho(args, { input: lines(request('c2')) })).code).toBe(0);
    expect((await served.messages('s')).map(({ seq, data }) => [seq, data.call_id])).toEqual([
      [1, 'c1'],
      [2, 'c2'],
    ]);
    expect(await served.stop()).toBe(0);
    const run = await tacho(demo('default', '--live', url));
    expect(run.code).toBe(0);
    expect(finished(run).exit_reason).toBe('ok');
    expect(run.stderr).toContain('not delivered yet');
  },
);

verifies(
  ['LP-2', 'LP-4'],
  'run --live sends every call unchanged, ends the session, and leaves nothing behind',
  async () => {
    const { served, url } = await collector();
    const path = join(place.folder, 'events.jsonl');
    const run = await tacho(demo('tools', '--live', url, '--events', path));
    expect({ code: run.code, said: complaints(run.stderr) }).toEqual({ code: 0, said: [] });
    const run_id = run.records[0].run_id as string;
    const messages = await served.messages(run_id);
    expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, i) => i + 1));
    expect(faults(messages)).toEqual([]);
    expect([messages[0].type, messages.at(-1).type]).toEqual(['session_start', 'session_end']);
    const events = linesOf(readFileSync(path, 'utf8'));
    const called = events.filter(({ kind }) => kind === 'call_requested').map(({ data }) => data);
    const requests = messages.filter(({ type }) => type === 'tool_call_request');
    expect(requests.length).toBeGreaterThan(1);
    expect(requests.map(({ data }) => [data.call_id, data.args])).toEqual(
      called.map((data) => [data.call_id, data.input]),
    );
    const answered = messages.filter(({ type }) => type === 'tool_call_response');
    expect(answered.map(({ data }) => data.call_id).sort()).toEqual(
      called.map((data) => data.call_id).sort(),
    );
    expect(outbox()).toEqual([]);
  },
);

verifies(
  'LP-8',
  'the next tacho finishes a killed run and its live session: once, in order',
  async () => {
    const { served, url } = await collector();
    const watcher = await connectSocket({ path: served.socket });
    await watcher.handshake({ role: 'client' });
    watcher.send(control('subscribe_events', { filter: { from_seq: 0 } }));
    const slow = ['run', '--agent', 'demo', '--output', 'json', '--live', url, 'please'];
    const started = place.start(slow, { contract: 'cut' });
    const { session_id: run_id } = await watcher.wait(({ seq }) => seq === 4, 'the first messages');
    watcher.destroy();
    kill(started.pid);
    await started.done;
    for (const pid of place.left()) kill(pid);
    await until(() => place.left().length === 0, 'the end of the agent');
    const recovered = await tacho(['runs', 'recover']);
    expect(recovered.code).toBe(0);
    const messages = await served.messages(run_id);
    expect(
      types(messages).filter((type) => type === 'session_start' || type === 'session_end'),
    ).toEqual(['session_start', 'session_end']);
    const ids = (type: string) =>
      messages.filter((one) => one.type === type).map(({ data }) => data.call_id);
    expect(ids('tool_call_response').sort()).toEqual(ids('tool_call_request').sort());
    expect(messages.at(-1).type).toBe('session_end');
    expect(faults(messages)).toEqual([]);
    expect(outbox()).toEqual([]);
  },
);

verifies('LP-2', 'connect sends sessions of another program; bytes arrive as base64', async () => {
  const { served, url } = await collector();
  const { connect } = (await import(
    join(root, 'dist/index.js')
  )) as typeof import('../../src/index.ts');
  const live = connect({ url, stateDir: place.state });
  const session = live.session({ agent: 'mine', labels: { a: 'b' } });
  const bytes = new Uint8Array([0, 255, 128, 10]);
  const args = { file: 'x', deep: [{ bytes }], 'é\u2028': [1.5, null, true] };
  const call = session.request({ name: 'write', args });
  session.status(call, 'running', { progress: { percent: 50 } });
  session.respond(call, { result: bytes }, { executionTimeMs: 5 });
  const left = session.request({ name: 'read' });
  expect(() => session.send('tool_call_request', { call_id: '', name: 'x' } as never)).toThrow(
    'data.call_id',
  );
  session.end({ status: 'ok' });
  expect(() => session.request({ name: 'late' })).toThrow('has ended');
  expect(await live.flush(30_000)).toBe(true);
  expect(await live.close()).toEqual([]);
  const messages = await served.messages(session.sessionId);
  const data = Buffer.from(bytes).toString('base64');
  expect(messages[1].data.args).toEqual({
    ...args,
    deep: [{ bytes: { encoding: 'base64', data } }],
  });
  expect(messages[3].data).toMatchObject({
    result: { encoding: 'base64', data },
    execution_time_ms: 5,
  });
  expect(messages[5].data).toMatchObject({ call_id: left, error: { code: 'CANCELLED' } });
  expect(faults(messages)).toEqual([]);
  expect(outbox()).toEqual([]);
});

verifies('LP-8', 'a library run is sent as well', async () => {
  const { served, url } = await collector();
  const { run } = (await import(
    join(root, 'dist/index.js')
  )) as typeof import('../../src/index.ts');
  const { run_id } = await run({
    agent: 'demo',
    prompt: 'please',
    cwd: place.work,
    stateDir: place.state,
    args: ['--speed', '0'],
    live: { url, tokenFile: null, ca: null, callTimeoutMs: null, trace: null },
  }).outcome;
  expect((await served.messages(run_id)).at(-1)?.type).toBe('session_end');
  expect(outbox()).toEqual([]);
});
