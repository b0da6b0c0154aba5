/** JSON-RPC over the agent's pipes. All messages are recorded, the agent's byte by byte. Never throws on writes. */
import type { Readable, Writable } from 'node:stream';
import { jsonInside } from '../../../lib/byte-text.ts';
import { createLines } from '../../../lib/lines.ts';
import { AGENT_LIMITS } from '../../kit/limits.ts';
import { isNative, nativeOf, type Open, textOf } from '../../kit/native.ts';
import { rpcKey } from '../protocol.ts';

export type Direction =
  | 'agent->client'
  | 'client->agent'
  | 'agent-nonjson'
  | 'agent-oversize'
  | 'exit'
  | 'note';

export type Streams = { from: Readable; to: Writable };

/** Writes one line of the record. `json`: the message as JSON text. Resolves when it is written. */
export type Recorder = (dir: Direction, json: string | Buffer) => Promise<void>;

/** The agent answered with an error, which is in the record. */
export class Failed extends Error {
  readonly code: unknown;

  constructor({ message, code }: Open) {
    super(textOf(message) ?? 'the agent answered with an error');
    this.code = code;
  }
}

const METHOD_NOT_FOUND = -32601;

export interface Handler {
  /** A request of the agent, with the key of its id; null: there is no such method. */
  request(method: string, params: Open, key: string): Open | Promise<Open> | null;
  notification(method: string, params: Open): void;
}

export class Connection {
  readonly #to: Writable;
  readonly #record: Recorder;
  readonly #handler: Handler;
  readonly #waiting = new Map<string, PromiseWithResolvers<Open>>();
  #next = 0;
  #written: Promise<void> = Promise.resolve();

  constructor(streams: Streams, record: Recorder, handler: Handler) {
    this.#to = streams.to;
    this.#record = record;
    this.#handler = handler;
    // The agent's exit is reported separately.
    streams.to.on('error', () => {});
    const lines = createLines(
      {
        line: (bytes, start, end) => this.#line(bytes.subarray(start, end)),
        oversize: ({ bytes, sha256 }) => {
          const text = `a message of ${bytes} bytes, sha256 ${sha256}`;
          this.#put('agent-oversize', JSON.stringify(text));
        },
      },
      AGENT_LIMITS.message_bytes_max,
    );
    streams.from.on('data', (chunk: Buffer) => {
      lines.push(chunk);
      streams.from.pause();
      void this.#written.then(() => streams.from.resume());
    });
    streams.from.on('end', () => lines.end());
  }

  /** The agent's result. Rejects with `Failed`; never settles if the agent never answers. */
  request(method: string, params: Open): Promise<Open> {
    const id = this.#next++;
    const answer = Promise.withResolvers<Open>();
    this.#waiting.set(`number ${id}`, answer);
    this.#send({ id, method, params });
    return answer.promise;
  }

  notify(method: string, params: Open): void {
    this.#send({ method, params });
  }

  #put(dir: Direction, json: string | Buffer): void {
    this.#written = this.#record(dir, json);
  }

  #send(message: Open): void {
    const json = JSON.stringify({ jsonrpc: '2.0', ...message });
    // A longer message, which can only be a prompt, would be over the line limit.
    const long = `${String(message.method)} of ${json.length} characters`;
    if (json.length <= AGENT_LIMITS.echoed_prompt_bytes_max) this.#put('client->agent', json);
    else this.#put('note', JSON.stringify(long));
    this.#to.write(`${json}\n`);
  }

  #line(bytes: Buffer) {
    const text = bytes.toString('utf8');
    const message = jsonInside(text);
    if (!isNative(message)) return this.#put('agent-nonjson', JSON.stringify(text));
    this.#put('agent->client', bytes);
    this.#take(message);
  }

  #take(message: Open): void {
    const method = textOf(message.method);
    const key = rpcKey(message.id);
    const params = nativeOf(message.params) ?? {};
    if (method === null) {
      if (key === null) return;
      const error = nativeOf(message.error);
      const waiting = this.#waiting.get(key);
      this.#waiting.delete(key);
      if (error === null) waiting?.resolve(nativeOf(message.result) ?? {});
      else waiting?.reject(new Failed(error));
    } else if (key === null) {
      this.#handler.notification(method, params);
    } else {
      this.#answer(message.id, method, this.#handler.request(method, params, key));
    }
  }

  #answer(id: unknown, method: string, result: ReturnType<Handler['request']>): void {
    const error = { code: METHOD_NOT_FOUND, message: `the client has no method ${method}` };
    if (result instanceof Promise) void result.then((value) => this.#send({ id, result: value }));
    else this.#send({ id, ...(result === null ? { error } : { result }) });
  }
}
