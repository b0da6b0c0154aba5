/**
 * A collector for sender tests that knows only the protocol: stores messages in memory, acknowledges them, and
 * can be set to be slow, unresponsive, forgetful or unreachable.
 */

import { createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listenAt, stopServer } from './listen-at.ts';

// biome-ignore lint/suspicious/noExplicitAny: messages are read loosely here
export type Message = any;

export interface Behaviour {
  credits: number;
  heartbeat_ms: number;
  /** Answer heartbeats and send them. */
  beats: boolean;
  /** Acknowledge stored messages. */
  acks: boolean;
  /** Renew credits as messages arrive. */
  replenish: boolean;
  /** Its clock is ahead by this many ms. */
  skew_ms: number;
  token: string | null;
  /** Close every connection after this many numbered messages. */
  cut_after: number;
  /** Maximum number of handshakes on a connection, and whether further ones get no answer. */
  hellos_max: number;
  silent: boolean;
  /** Called with each message; true: do not store it. */
  onMessage: (
    message: Message,
    say: (type: string, data: object, more?: object) => void,
  ) => boolean;
}

export class ToyCollector {
  readonly behaviour: Behaviour = {
    credits: 1000,
    heartbeat_ms: 30_000,
    beats: true,
    acks: true,
    replenish: true,
    skew_ms: 0,
    token: null,
    cut_after: Infinity,
    hellos_max: Infinity,
    silent: false,
    onMessage: () => false,
  };
  /** The stored texts in order, by session. */
  readonly stored = new Map<string, string[]>();
  /** All received messages, including duplicates. */
  readonly came: Message[] = [];
  readonly hellos: Message[] = [];
  readonly sockets = new Set<Socket>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((socket) => this.serve(socket));
    onTestFinished(() => this.stop());
  }

  /** On a path, or on a free port (0). Resolves with the address. */
  listen(at: string | number): Promise<string> {
    return listenAt(this.#server, at);
  }

  stop(): Promise<void> {
    return stopServer(this.#server, this.sockets);
  }

  messages(session_id: string): Message[] {
    return (this.stored.get(session_id) ?? []).map((text) => JSON.parse(text));
  }

  say(socket: Socket, type: string, data: object, more: object = {}): void {
    const timestamp = new Date(Date.now() + this.behaviour.skew_ms).toISOString();
    if (!socket.destroyed) socket.write(`${JSON.stringify({ type, timestamp, data, ...more })}\n`);
  }

  serve(socket: Socket): void {
    this.sockets.add(socket);
    let rest = '';
    const state = { hellos: 0, count: 0 };
    const beat = setInterval(() => {
      if (this.behaviour.beats) this.say(socket, 'heartbeat', {});
    }, this.behaviour.heartbeat_ms);
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() as string;
      for (const line of lines)
        if (line !== '' && !socket.destroyed) this.#take(socket, line, state);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(beat);
      this.sockets.delete(socket);
    });
  }

  #take(socket: Socket, text: string, state: { hellos: number; count: number }): void {
    const message = JSON.parse(text) as Message;
    this.came.push(message);
    const say = (type: string, data: object, more?: object) => this.say(socket, type, data, more);
    if (message.type === 'handshake_request') {
      state.hellos += 1;
      this.hellos.push(message);
      if (state.hellos > this.behaviour.hellos_max) {
        const caused_by = { correlation_id: null, message_id: message.message_id, seq: null };
        const fault = { message: 'again', severity: 'error', retriable: false, caused_by };
        if (!this.behaviour.silent) say('error', { error_code: 'INVALID_MESSAGE_TYPE', ...fault });
        return;
      }
      say('handshake_response', this.#welcome(message.data));
      return;
    }
    if (state.hellos === 0) throw new Error(`before the handshake: ${text}`);
    if (this.behaviour.onMessage(message, say) || message.seq === null) return;
    state.count += 1;
    if (state.count > this.behaviour.cut_after) socket.destroy();
    else this.#store(text, message, say);
  }

  #welcome({ token, resume }: Message): object {
    const { behaviour } = this;
    const ok = behaviour.token === null || behaviour.token === token;
    return {
      success: ok,
      session_id: resume?.session_id ?? null,
      server_info: { name: 'toy', version: '0', protocol_version: '1.0' },
      supported_features: [],
      max_message_bytes: 8388608,
      heartbeat_interval_ms: behaviour.heartbeat_ms,
      credits: behaviour.credits,
      resume_from_seq: resume ? (this.stored.get(resume.session_id)?.length ?? 0) + 1 : null,
      error: ok ? null : { error_code: 'AUTH_FAILED', message: 'wrong token' },
    };
  }

  #store(text: string, message: Message, say: (type: string, data: object, more?: object) => void) {
    const { session_id, seq, message_id } = message;
    const list = this.stored.get(session_id) ?? [];
    this.stored.set(session_id, list);
    const refuse = (error_code: string, retriable: boolean, details: object) => {
      const caused_by = { correlation_id: null, message_id, seq };
      const more = { message: error_code, severity: 'error', retriable, details, caused_by };
      say('error', { error_code, ...more }, { session_id });
    };
    if (seq > list.length + 1)
      return refuse('INVALID_MESSAGE_FORMAT', true, { expected_seq: list.length + 1 });
    if (seq <= list.length && list[seq - 1] !== text)
      return refuse('DUPLICATE_CONFLICT', false, {});
    if (seq === list.length + 1) list.push(text);
    if (this.behaviour.acks)
      say('ack', { acked: [{ session_id, seq: list.length }], durable: true });
    if (this.behaviour.replenish)
      say('flow_control', { available_credits: this.behaviour.credits, capacity: 1000 });
  }
}
