/** A client of the live protocol that knows only its specification: lines of JSON over a stream of bytes. */
import { constants, openSync } from 'node:fs';
import { connect, type NetConnectOpts, Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

// biome-ignore lint/suspicious/noExplicitAny: messages are read loosely here, as by a foreign client
export type Message = any;

export interface LiveClient {
  readonly received: Message[];
  /** The lines as received. */
  readonly lines: string[];
  /** Messages, or raw text or bytes. */
  send(...what: (object | string | Buffer)[]): void;
  /** Waits for the first matching message, starting with number `from`. */
  wait(is: (message: Message) => boolean, what?: string, from?: number): Promise<Message>;
  handshake(data?: object, envelope?: object): Promise<Message>;
  /** Ends its own side; still reads. */
  end(): void;
  destroy(): void;
  /** Pauses and resumes reading. */
  pause(): void;
  resume(): void;
  readonly closed: Promise<void>;
}

const WAIT_MS = 60_000;

const now = () => new Date().toISOString();

export function message(type: string, session_id: string, seq: number, data: object): Message {
  return {
    type,
    timestamp: now(),
    session_id,
    correlation_id: 'call_id' in data ? `${session_id}/${data.call_id}` : null,
    message_id: `${session_id}-${seq}`,
    seq,
    ack_required: true,
    trace: null,
    data,
  };
}

export const request = (session_id: string, seq: number, call_id = `c${seq}`) =>
  message('tool_call_request', session_id, seq, {
    call_id,
    name: 'Bash',
    native_name: 'shell',
    args: { command: 'ls' },
    is_client_initiated: false,
  });

export const control = (type: string, data: object, more: object = {}) => ({
  type,
  timestamp: now(),
  message_id: `m-${Math.random()}`,
  data,
  ...more,
});

export const hello = (data: object = {}, envelope: object = {}) =>
  control(
    'handshake_request',
    {
      version: '1.0',
      role: 'agent',
      client_info: { name: 'test', version: '1', capabilities: [] },
      resume: null,
      ...data,
    },
    envelope,
  );

export const isType = (type: string) => (one: Message) => one.type === type;
export const isError = (code: string) => (one: Message) =>
  one.type === 'error' && one.data.error_code === code;
export const acks = (session_id: string, seq: number) => (one: Message) =>
  one.type === 'ack' &&
  one.data.acked.some((ack: Message) => ack.session_id === session_id && ack.seq >= seq);

/** A pipe may begin in the middle of another client's message. */
function parsed(line: string, first: boolean): Message {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (first) return null;
    throw error;
  }
}

export function clientOf(input: Readable, output: Writable): LiveClient {
  const received: Message[] = [];
  const lines: string[] = [];
  let rest = '';
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const done of waiting) done();
  };
  input.setEncoding('utf8');
  input.on('data', (text: string) => {
    const pieces = (rest + text).split('\n');
    rest = pieces.pop() ?? '';
    for (const line of pieces) {
      const one = parsed(line, received.length === 0);
      if (one === null) continue;
      lines.push(line);
      received.push(one);
    }
    wake();
  });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  for (const stream of [input, output]) stream.on('error', () => {});
  input.on('end', () => output.end());
  input.on('close', () => {
    resolve();
    wake();
  });
  const client: LiveClient = {
    received,
    lines,
    send(...what) {
      for (const one of what) {
        const raw = typeof one === 'string' || Buffer.isBuffer(one);
        output.write(raw ? one : `${JSON.stringify(one)}\n`);
      }
    },
    async wait(is, what = is.toString(), from = 0) {
      const end = performance.now() + WAIT_MS;
      for (let at = from; ; ) {
        for (; at < received.length; at++) if (is(received[at])) return received[at];
        if (performance.now() > end || input.destroyed) {
          const last = JSON.stringify(received.slice(-3)).slice(0, 2000);
          throw new Error(`timed out waiting for ${what}; the last messages: ${last}`);
        }
        await new Promise<void>((done) => {
          const timer = setTimeout(() => go(), 1_000);
          const go = () => {
            clearTimeout(timer);
            waiting.delete(go);
            done();
          };
          waiting.add(go);
        });
      }
    },
    async handshake(data = {}, envelope = {}) {
      const from = received.length;
      client.send(hello(data, envelope));
      return client.wait(isType('handshake_response'), 'the answer to the handshake', from);
    },
    end: () => void output.end(),
    destroy() {
      input.destroy();
      output.destroy();
    },
    pause: () => void input.pause(),
    resume: () => void input.resume(),
    closed,
  };
  return client;
}

/** A unix socket or a port of this machine. */
export function connectSocket(where: NetConnectOpts): Promise<LiveClient> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...where, allowHalfOpen: true } as NetConnectOpts);
    socket.once('error', reject);
    socket.once('connect', () => resolve(clientOf(socket, socket)));
  });
}

/** Writes `PATH.in`, reads `PATH.out`. */
export function connectPipe(path: string): LiveClient {
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  const input = new Socket({ fd: openSync(`${path}.out`, O_RDONLY | O_NONBLOCK), writable: false });
  const output = new Socket({ fd: openSync(`${path}.in`, O_WRONLY | O_NONBLOCK), readable: false });
  return clientOf(input, output);
}
