/**
 * JSON-RPC over the agent's stdin and stdout. Every message of both directions goes to the record, those of the agent
 * byte by byte as they came. Contract: never throws for what the agent writes.
 */
import type { Readable, Writable } from 'node:stream';
import { LIMITS } from '../../../lib/limits.ts';
import { createLines } from '../../../lib/lines.ts';
import { isNative, nativeOf, type Open, textOf } from '../../kit/native.ts';
import { rpcKey } from '../protocol.ts';

export type Direction =
  | 'agent->client'
  | 'client->agent'
  | 'agent-nonjson'
  | 'agent-oversize'
  | 'exit'
  | 'note';

/** Writes one line of the record. `json`: the message as JSON text. Resolves when it is written. */
export type Recorder = (dir: Direction, json: string | Buffer) => Promise<void>;

export type Answer = { result: Open } | { error: Open };

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
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  #next = 0;
  #written: Promise<void> = Promise.resolve();

  constructor(streams: { from: Readable; to: Writable }, record: Recorder, handler: Handler) {
    this.#to = streams.to;
    this.#record = record;
    this.#handler = handler;
    // An agent that has gone away is told by its end.
    streams.to.on('error', () => {});
    const lines = createLines(
      {
        line: (bytes, start, end) => this.#line(bytes.subarray(start, end)),
        oversize: ({ bytes, sha256 }) => {
          this.#put(
            'agent-oversize',
            JSON.stringify(`a message of ${bytes} bytes, sha256 ${sha256}`),
          );
        },
      },
      LIMITS.message_bytes_max,
    );
    streams.from.on('data', (chunk: Buffer) => {
      lines.push(chunk);
      streams.from.pause();
      void this.#written.then(() => streams.from.resume());
    });
    streams.from.on('end', () => lines.end());
  }

  /** Never settles when the agent never answers. */
  request(method: string, params: Open): Promise<Answer> {
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#waiting.set(`number ${id}`, resolve);
      this.#send({ id, method, params });
    });
  }

  notify(method: string, params: Open): void {
    this.#send({ method, params });
  }

  #put(dir: Direction, json: string | Buffer): void {
    this.#written = this.#record(dir, json);
  }

  #send(message: Open): void {
    const json = JSON.stringify({ jsonrpc: '2.0', ...message });
    // A longer one, which only a prompt can be, would be over the limit of a line.
    if (json.length <= LIMITS.echoed_prompt_bytes_max) this.#put('client->agent', json);
    else
      this.#put('note', JSON.stringify(`${String(message.method)} of ${json.length} characters`));
    this.#to.write(`${json}\n`);
  }

  #line(bytes: Buffer): void {
    const text = bytes.toString('utf8');
    let message: unknown = null;
    try {
      message = JSON.parse(text);
    } catch {
      // Told below.
    }
    if (!isNative(message)) {
      this.#put('agent-nonjson', JSON.stringify(text));
      return;
    }
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
      const answer = error === null ? { result: nativeOf(message.result) ?? {} } : { error };
      this.#waiting.get(key)?.(answer);
      this.#waiting.delete(key);
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
