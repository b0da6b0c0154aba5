/** Streams of live messages for tests: numbered, timed, and complete unless a test breaks them. */
import { Judge, type JudgeOptions } from '../src/conformance/judge.ts';
import type { Report } from '../src/conformance/types.ts';
import { readText } from '../src/live/protocol/messages.ts';
import { LIVE_TYPES } from '../src/model/live-words.ts';

export const START_MS = Date.parse('2026-03-03T10:00:00.000Z');

// biome-ignore lint/suspicious/noExplicitAny: some fixtures are invalid on purpose
export type Fields = Record<string, any>;

export interface Line {
  text: string;
  received_ms?: number;
}

/** Writes messages of several sessions; each takes 10 ms. */
export class Stream {
  readonly lines: Line[] = [];
  readonly #seqs = new Map<string, number>();
  now_ms = START_MS;
  step_ms = 10;
  session = 's1';
  /** Delay between a message's time and its arrival; null: unknown. */
  delay_ms: number | null = null;

  /** A numbered message of the session; `more` replaces fields of the envelope. */
  say(type: string, data: Fields, more: Fields = {}): this {
    const session_id = more.session_id ?? this.session;
    const seq = more.seq === undefined ? (this.#seqs.get(session_id) ?? 0) + 1 : more.seq;
    if (typeof seq === 'number') this.#seqs.set(session_id, seq);
    this.now_ms += this.step_ms;
    return this.put({
      type,
      timestamp: new Date(this.now_ms).toISOString(),
      session_id,
      correlation_id: data?.call_id === undefined ? null : `${session_id}/${data.call_id}`,
      message_id: `${session_id}-${seq}`,
      seq,
      ack_required: null,
      trace: null,
      data,
      ...more,
    });
  }

  /** A connection message, without a number. */
  control(type: string, data: Fields, more: Fields = {}): this {
    const session_id = null;
    return this.say(type, data, { session_id, seq: null, message_id: `c-${this.now_ms}`, ...more });
  }

  put(message: Fields): this {
    return this.raw(JSON.stringify(message), this.now_ms);
  }

  raw(text: string, at_ms = this.now_ms): this {
    const { delay_ms } = this;
    this.lines.push(delay_ms === null ? { text } : { text, received_ms: at_ms + delay_ms });
    return this;
  }

  wait(ms: number): this {
    this.now_ms += ms;
    return this;
  }

  start(more: Fields = {}): this {
    return this.say('session_start', { agent: 'toy' }, more);
  }

  end(status = 'completed'): this {
    return this.say('session_end', { status });
  }

  request(call_id = 'c1', more: Fields = {}): this {
    const data = { call_id, name: 'Bash', args: { command: 'ls' }, is_client_initiated: false };
    return this.say('tool_call_request', data, more);
  }

  response(call_id = 'c1', more: Fields = {}, data: Fields = {}): this {
    const all = { call_id, result: { output: 'a b' }, execution_time_ms: 10, ...data };
    return this.say('tool_call_response', all, more);
  }

  failure(call_id = 'c1'): this {
    return this.response(call_id, {}, { result: null, error: { message: 'exit 1' } });
  }

  status(call_id = 'c1', data: Fields = {}, more: Fields = {}): this {
    return this.say('tool_execution_status', { call_id, status: 'running', ...data }, more);
  }

  ack(seq: number, session_id = this.session): this {
    return this.control('ack', { acked: [{ session_id, seq }], durable: true });
  }

  error(error_code: string, caused_by: Fields | null, more: Fields = {}): this {
    const data = { error_code, message: 'no', severity: 'error', retriable: false, caused_by };
    return this.control('error', data, more);
  }

  get text(): string {
    return this.lines.map(({ text }) => `${text}\n`).join('');
  }
}

export const stream = () => new Stream();

export function judged(lines: readonly Line[], options: JudgeOptions = {}): Report {
  const judge = new Judge(options);
  for (const [at, { text, received_ms }] of lines.entries())
    judge.push({ ...readText(text), line: at + 1, received_ms: received_ms ?? null });
  return judge.report();
}

/** A handshake in both directions. */
export function handshake(
  to: Stream,
  version = '1.0',
  supported_features: readonly string[] = LIVE_TYPES,
): Stream {
  return to
    .control('handshake_request', {
      version,
      role: 'agent',
      client_info: { name: 'toy', version: '1', capabilities: [] },
    })
    .control('handshake_response', {
      success: true,
      session_id: 's1',
      server_info: { name: 'tacho', version: '1', protocol_version: '1.0' },
      supported_features,
      max_message_bytes: 1024,
      heartbeat_interval_ms: 30_000,
      credits: 100,
    });
}
