/** One suite for all four transports (LP-12): each test connects to a real `tacho serve` and knows only the spec. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { readSession } from '../../src/store/journal/read.ts';
import {
  acks,
  clientOf,
  connectPipe,
  connectSocket,
  control,
  hello,
  isError,
  isType,
  type LiveClient,
  type Message,
  message,
  request,
} from '../live-client.ts';
import { bin } from './cli.ts';
import { verifies } from './verifies.ts';

interface Transport {
  start(folder: string): Promise<void>;
  open(): Promise<LiveClient>;
  /** Ends a connection and waits until the collector has noticed. */
  leave(client: LiveClient): Promise<void>;
  stop(): Promise<void>;
}

const BIG = 8 * 1024 * 1024;

function serveProcess(folder: string, args: readonly string[]): ChildProcess {
  const env = { PATH: process.env.PATH, HOME: folder, TACHO_HOME: join(folder, 'state') };
  const child = spawn(process.execPath, [bin, 'serve', '--no-watch', ...args], {
    env,
    cwd: folder,
  });
  child.stderr.on('data', (text: Buffer) => {
    if (!/^listening on /.test(text.toString())) process.stderr.write(text);
  });
  return child;
}

const exited = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)));

/** Resolves with the output of `--json`. */
function ready(child: ChildProcess): Promise<{ listening: string[] }> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      if (text.includes('\n')) resolve(JSON.parse(text));
    });
    child.on('close', () => reject(new Error('the collector exited')));
  });
}

function byListening(
  args: (folder: string) => string[],
  connect: (listening: string) => Promise<LiveClient> | LiveClient,
): Transport {
  let child: ChildProcess;
  let code: Promise<number | null>;
  let listening = '';
  return {
    async start(folder) {
      child = serveProcess(folder, ['--json', ...args(folder)]);
      code = exited(child);
      listening = (await ready(child)).listening[0] as string;
    },
    open: async () => connect(listening),
    async leave(client) {
      client.end();
      if (!listening.startsWith('pipe:')) await client.closed;
      client.destroy();
    },
    async stop() {
      child.kill('SIGTERM');
      expect(await code).toBe(0);
    },
  };
}

function byStdio(): Transport {
  let folder = '';
  const codes = new Map<LiveClient, Promise<number | null>>();
  return {
    async start(path) {
      folder = path;
    },
    async open() {
      const child = serveProcess(folder, ['--stdio']);
      const client = clientOf(child.stdout!, child.stdin!);
      codes.set(client, exited(child));
      return client;
    },
    async leave(client) {
      client.end();
      expect(await codes.get(client)).toBe(0);
    },
    async stop() {},
  };
}

const TRANSPORTS: Readonly<Record<string, Transport>> = {
  unix: byListening(
    () => [],
    (listening) => connectSocket({ path: listening.slice('unix:'.length) }),
  ),
  tcp: byListening(
    () => ['--tcp', '127.0.0.1:0'],
    (listening) => connectSocket({ host: '127.0.0.1', port: Number(listening.split(':').pop()) }),
  ),
  pipe: byListening(
    (folder) => ['--pipe', join(folder, 'pair')],
    (listening) => connectPipe(listening.slice('pipe:'.length)),
  ),
  stdio: byStdio(),
};

const start = (session: string, seq = 1) =>
  message('session_start', session, seq, { agent: 'toy', model: null });
const response = (session: string, seq: number, call_id: string) =>
  message('tool_call_response', session, seq, {
    call_id,
    result: { text: 'ü\u2028' },
    error: null,
  });
const line = (value: object) => JSON.stringify(value);

describe.for(Object.keys(TRANSPORTS))('%s', (name) => {
  const transport = TRANSPORTS[name] as Transport;
  let folder = '';
  let count = 0;
  const newSession = () => `${name} session/${++count}`;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tacho-live-'));
    await transport.start(folder);
  });
  afterAll(async () => {
    await transport.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function stored(session: string): Promise<string[]> {
    const bodies: string[] = [];
    for await (const entry of readSession(join(folder, 'state/live/journal'), session))
      if (entry.source === 'live') bodies.push(entry.body);
    return bodies;
  }

  async function withClient(work: (client: LiveClient) => Promise<void>): Promise<void> {
    const client = await transport.open();
    try {
      await work(client);
    } finally {
      await transport.leave(client);
    }
  }

  verifies('LP-12', `${name}: a handshake is answered with the collector's capabilities`, () =>
    withClient(async (client) => {
      const { data, session_id } = await client.handshake({}, { session_id: 'mine' });
      expect(session_id).toBe('mine');
      expect(data).toMatchObject({
        success: true,
        session_id: 'mine',
        server_info: { name: 'tacho', protocol_version: '1.0' },
        max_message_bytes: BIG,
        heartbeat_interval_ms: 30_000,
        credits: 1024,
        resume_from_seq: null,
        error: null,
      });
      const again = await client.handshake();
      expect(again.data.session_id).toMatch(/^s_/);
      const refused = await client.handshake({ version: '2.0' });
      expect(refused.data).toMatchObject({ success: false });
    }),
  );

  verifies(
    ['LP-7', 'LP-12'],
    `${name}: acknowledged messages are stored in order, byte for byte`,
    () =>
      withClient(async (client) => {
        const session = newSession();
        const sent = [
          start(session),
          request(session, 2, 'c'),
          response(session, 3, 'c'),
          message('session_end', session, 4, { status: 'ok' }),
        ];
        await client.handshake();
        client.send(...sent);
        const ack = await client.wait(acks(session, 4), 'the acknowledgement of 4');
        expect(ack.data.durable).toBe(true);
        expect(await stored(session)).toEqual(sent.map(line));
      }),
  );

  verifies(
    ['LP-7', 'LP-12'],
    `${name}: a resend is acknowledged but not stored again; other content or a gap is an error`,
    () =>
      withClient(async (client) => {
        const session = newSession();
        await client.handshake();
        const first = start(session);
        client.send(first);
        await client.wait(acks(session, 1));
        const from = client.received.length;
        client.send(first);
        await client.wait(acks(session, 1), 'the second acknowledgement', from);
        client.send({ ...first, data: { agent: 'other' } });
        const conflict = await client.wait(isError('DUPLICATE_CONFLICT'));
        expect(conflict.data.caused_by).toMatchObject({ message_id: `${session}-1`, seq: 1 });
        client.send(request(session, 5));
        const gap = await client.wait(
          (one) => isError('INVALID_MESSAGE_FORMAT')(one) && notSkew(one),
        );
        expect(gap.data).toMatchObject({
          retriable: true,
          details: { field: 'seq', expected_seq: 2, received_seq: 5 },
          caused_by: { message_id: `${session}-5`, seq: 5 },
        });
        expect(await stored(session)).toEqual([line(first)]);
      }),
  );

  verifies(
    ['LP-11', 'LP-12'],
    `${name}: a new connection resumes a session where it stopped`,
    async () => {
      const session = newSession();
      await withClient(async (client) => {
        await client.handshake();
        client.send(start(session), request(session, 2), request(session, 3));
        await client.wait(acks(session, 3));
      });
      await withClient(async (client) => {
        const { data } = await client.handshake({ resume: { session_id: session, last_seq: 1 } });
        expect(data).toMatchObject({ success: true, session_id: session, resume_from_seq: 4 });
        client.send(request(session, 3), request(session, 4));
        await client.wait(acks(session, 4));
        expect(await stored(session)).toHaveLength(4);
        const reader = await client.handshake({
          role: 'client',
          resume: { session_id: session, last_seq: 2 },
        });
        expect(reader.data.resume_from_seq).toBe(3);
      });
    },
  );

  verifies(
    ['LP-10', 'LP-12'],
    `${name}: a subscriber gets the stored bytes, by session, type and number`,
    () =>
      withClient(async (client) => {
        const session = newSession();
        const other = newSession();
        await client.handshake();
        const sent = [
          start(session),
          request(session, 2, 'a'),
          response(session, 3, 'a'),
          request(session, 4),
        ];
        client.send(start(other), ...sent);
        await client.wait(acks(session, 4));
        const filter = { session_ids: [session], types: ['tool_call_request'], from_seq: 2 };
        client.send(control('subscribe_events', { filter }));
        const isRequest = (seq: number) => (one: Message) =>
          one.type === 'tool_call_request' && one.seq === seq;
        await client.wait(isRequest(4));
        client.send(request(other, 2), request(session, 5));
        await client.wait(isRequest(5));
        const got = client.lines.filter((text) => JSON.parse(text).seq > 0);
        expect(got.slice(0, 2)).toEqual([line(sent[1]), line(sent[3])]);
        expect(got.map((text) => JSON.parse(text)).map((one) => [one.session_id, one.seq])).toEqual(
          [
            [session, 2],
            [session, 4],
            [session, 5],
          ],
        );
      }),
  );

  verifies(
    ['LP-10', 'LP-12'],
    `${name}: without a number a subscriber gets the state of the sessions, then only new messages`,
    () =>
      withClient(async (client) => {
        const session = newSession();
        await client.handshake();
        client.send(start(session), request(session, 2));
        await client.wait(acks(session, 2));
        const subscribe = control(
          'subscribe_events',
          { filter: { session_ids: [session] } },
          { ack_required: true },
        );
        client.send(subscribe);
        await client.wait(({ correlation_id }) => correlation_id === subscribe.message_id);
        const state = await client.wait(isType('session_state'));
        expect(state).toMatchObject({
          session_id: session,
          data: { status: 'active', open_calls: ['c2'], last_seq: 2 },
        });
        client.send(request(session, 3));
        await client.wait(({ seq }) => seq === 3);
        expect(client.received.filter(({ seq }) => seq > 0).map(({ seq }) => seq)).toEqual([3]);
        const off = control('unsubscribe_events', {}, { ack_required: true });
        client.send(off);
        await client.wait(({ correlation_id }) => correlation_id === off.message_id);
        client.send(request(session, 4));
        await client.wait(acks(session, 4));
        expect(client.received.filter(({ seq }) => seq > 0)).toHaveLength(1);
      }),
  );

  verifies('LP-12', `${name}: a message may be split at any byte`, () =>
    withClient(async (client) => {
      const session = newSession();
      await client.handshake();
      const sent: string[] = [];
      const length = Buffer.byteLength(line(response(session, 100, 'c')));
      for (let cut = 1; cut <= length; cut++) {
        const text = line(response(session, cut, 'c'));
        const bytes = Buffer.from(`${text}\n`);
        sent.push(text);
        client.send(bytes.subarray(0, cut));
        await new Promise((done) => setImmediate(done));
        client.send(bytes.subarray(cut));
      }
      await client.wait(acks(session, length));
      expect(await stored(session)).toEqual(sent);
    }),
  );

  verifies(
    'LP-12',
    `${name}: a handshake and many messages in one chunk, with CRLF and empty lines, are read`,
    () =>
      withClient(async (client) => {
        const session = newSession();
        const sent = Array.from({ length: 500 }, (_, i) => line(request(session, i + 1)));
        const text = sent.map((one, i) => `${one}${['\n', '\r\n', '\n\n', '\r\n\r\n'][i % 4]}`);
        client.send(`${line(hello())}\n${text.join('')}`);
        await client.wait(acks(session, 500));
        expect(await stored(session)).toEqual(sent);
        expect(client.received.filter(isType('error')).filter(notSkew)).toEqual([]);
      }),
  );

  verifies(
    'LP-12',
    `${name}: a resumed session's messages may be in the same chunk as the handshake`,
    () =>
      withClient(async (client) => {
        const session = newSession();
        const resume = { session_id: session, last_seq: 0 };
        const lines = [hello({ resume }), start(session), request(session, 2)].map(line);
        client.send(`${lines.join('\n')}\n`);
        await client.wait(acks(session, 2));
        expect(await stored(session)).toEqual(lines.slice(1));
      }),
  );

  verifies('LP-12', `${name}: a missing last newline loses nothing`, async () => {
    const session = newSession();
    const last = line(message('session_end', session, 2, { status: 'ok' }));
    await withClient(async (client) => {
      await client.handshake();
      client.send(start(session), last);
      await client.wait(acks(session, 1));
      // A pipe has no end: the line ends where the next handshake begins, and is sent again.
      if (name === 'pipe') return;
      client.end();
      await client.wait(acks(session, 2));
    });
    await withClient(async (client) => {
      const { data } = await client.handshake({ resume: { session_id: session, last_seq: 1 } });
      if (data.resume_from_seq === 2) client.send(`${last}\n`);
      await client.wait((one) => data.resume_from_seq === 3 || acks(session, 2)(one));
      expect(await stored(session)).toHaveLength(2);
    });
  });

  verifies(
    ['LP-12', 'LP-16'],
    `${name}: garbage, a message too long or too deep, and an unknown type get an error, and the connection continues`,
    () =>
      withClient(async (client) => {
        const session = newSession();
        await client.handshake();
        client.send(start(session), 'this is no JSON\n');
        const bad = await client.wait(isError('INVALID_JSON_FORMAT'));
        expect(bad.data).toMatchObject({
          details: { raw_message: 'this is no JSON' },
          retriable: true,
        });
        client.send(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]), '[1]\n');
        await client.wait(isError('INVALID_NDJSON_FORMAT'));
        const deep = '['.repeat(300) + ']'.repeat(300);
        const from = client.received.length;
        client.send(`${line(request(session, 2)).replace('"ls"', deep)}\n`);
        const tooDeep = await client.wait(
          (one) => isError('INVALID_NDJSON_FORMAT')(one) && /nested/.test(one.data.message),
          'nested too deep',
          from,
        );
        expect(tooDeep.data.message).toMatch(/200 levels/);
        client.send(message('tool_call_begun', session, 2, {}));
        const unknown = await client.wait(isError('INVALID_MESSAGE_TYPE'));
        expect(unknown.data).toMatchObject({
          details: { received_type: 'tool_call_begun' },
          caused_by: { message_id: `${session}-2`, seq: 2 },
        });
        client.send(`${' '.repeat(BIG)}{}\n`);
        const large = await client.wait(isError('MESSAGE_TOO_LARGE'));
        expect(large.data.details.max_message_bytes).toBe(BIG);
        client.send(request(session, 2));
        await client.wait(acks(session, 2));
        expect(await stored(session)).toHaveLength(2);
      }),
  );

  verifies(['LP-12', 'LP-16'], `${name}: a message of the maximum length arrives complete`, () =>
    withClient(async (client) => {
      const session = newSession();
      await client.handshake();
      const empty = line(
        message('tool_call_response', session, 1, { call_id: 'c', result: '', error: null }),
      );
      const filled = 'x'.repeat(BIG - Buffer.byteLength(empty));
      const text = empty.replace('"result":""', `"result":"${filled}"`);
      client.send(`${text}\n`);
      await client.wait(acks(session, 1));
      expect((await stored(session))[0] === text).toBe(true);
    }),
  );

  verifies(
    'LP-12',
    `${name}: every missing field of the tool messages is reported by name, with the message that caused it`,
    () =>
      withClient(async (client) => {
        const session = newSession();
        await client.handshake();
        let seq = 0;
        for (const whole of [
          request(session, 1),
          message('tool_call_confirmation', session, 1, {
            call_id: 'c',
            request: {},
            prompt: 'may I?',
          }),
          message('tool_execution_status', session, 1, { call_id: 'c', status: 'running' }),
          message('tool_call_response', session, 1, { call_id: 'c', result: 1 }),
        ]) {
          const top = ['timestamp', 'session_id', 'correlation_id', 'message_id', 'seq', 'data'];
          const inner = Object.keys(whole.data).filter((key) => key !== 'native_name');
          for (const field of [...top, ...inner.map((key) => `data.${key}`)]) {
            const broken = structuredClone({ ...whole, message_id: `broken-${++seq}` });
            const key = field.replace('data.', '');
            delete (field === key ? broken : broken.data)[key];
            const from = client.received.length;
            client.send(broken);
            const answer = await client.wait(isError('MISSING_REQUIRED_FIELD'), field, from);
            expect(answer.data.details.field).toBe(field);
            expect(answer.data.caused_by.message_id).toBe(
              field === 'message_id' ? null : broken.message_id,
            );
          }
        }
        expect(seq).toBeGreaterThan(30);
        client.send(start(session));
        await client.wait(acks(session, 1));
      }),
  );
});

/** A collector that starts slowly receives a time in the past. */
const notSkew = ({ data }: Message) => data.details?.reason !== 'clock_skew';
