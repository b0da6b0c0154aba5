/**
 * Lines of any program as messages of the live protocol: complete messages pass unchanged, short ones are completed.
 * Contract: a bad line is reported with its number and field, and the rest is sent.
 */

import type { Clock } from '../../lib/clock.ts';
import { textOf } from '../../lib/foreign.ts';
import { isoTime } from '../../lib/iso-time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type LineSink, linesIn } from '../../lib/lines.ts';
import { isMap } from '../../lib/own.ts';
import { unknownWord } from '../../lib/schema/read.ts';
import { isUtf8 } from '../../lib/utf8.ts';
import { compose, correlationOf, messageIdOf, timestampOf } from '../../live/protocol/compose.ts';
import { readText, type WireMessage } from '../../live/protocol/messages.ts';
import { AGENT_MESSAGE_TYPES, CALL_MESSAGE_TYPES, LIVE_TYPES } from '../../model/live-words.ts';
import type { LiveRedaction } from '../../redact/gate.ts';
import type { LiveSender, OutSession } from './sender.ts';

/** Types that an agent may send; `error` is numbered like the others. */
const SENDABLE: readonly string[] = [...AGENT_MESSAGE_TYPES, 'error'];

export type Emitted = Emitter['counts'];

export interface EmitOptions {
  live: LiveSender;
  /** For messages that name no session. */
  session_id: string;
  /** Whether that id is new, so that no collector can know it. */
  new_session: boolean;
  clock: Clock;
  /** Null: messages are sent unchanged. */
  redaction: LiveRedaction | null;
  /** Whether sessions that began here are ended here. */
  end: boolean;
  onBad(line: number, why: string): void;
}

export async function emit(
  input: AsyncIterable<Uint8Array>,
  options: EmitOptions,
): Promise<Emitted> {
  const emitter = new Emitter(options);
  const sink = (put: (take: () => Promise<void> | void) => void): LineSink => ({
    line: (bytes, start, end, { line }) => {
      const some = bytes.subarray(start, end);
      const text = isUtf8(some) ? some.toString('utf8').trim() : null;
      if (text === null) put(() => emitter.bad(line, 'the line is not UTF-8'));
      else put(() => emitter.line(text, line));
    },
    oversize: ({ line, bytes }) =>
      put(() => emitter.bad(line, `${bytes} bytes are over the limit`)),
  });
  for await (const lines of linesIn(input, sink, LIMITS.live_message_bytes_max)) {
    for (const take of lines) await take();
    await options.live.room();
  }
  emitter.rest();
  if (options.end) emitter.end();
  return emitter.counts;
}

interface Track {
  out: OutSession;
  /** Whether its first message was ours. */
  begun: boolean;
  at_ms: number;
  open: Set<string>;
}

class Emitter {
  readonly counts = { lines: 0, messages: 0, bad: 0 };
  readonly #options: EmitOptions;
  readonly #tracks = new Map<string, Track>();

  constructor(options: EmitOptions) {
    this.#options = options;
  }

  bad(line: number, why: string): void {
    this.counts.lines += 1;
    this.counts.bad += 1;
    // The reason may quote the line.
    this.#options.onBad(line, this.#options.redaction?.text(why) ?? why);
  }

  async line(text: string, line: number): Promise<void> {
    if (text === '') return;
    const why = await this.#take(text);
    if (why === null) this.counts.lines += 1;
    else this.bad(line, why);
  }

  /** Returns the fault, or null. */
  async #take(text: string): Promise<string | null> {
    const read = readText(text);
    const given = (read.message ?? {}) as Record<string, unknown>;
    if (typeof given.type !== 'string') return read.fault?.message ?? 'the line is not a message';
    if (!SENDABLE.includes(given.type)) return wrongType(given.type);
    const safe = this.#options.redaction?.envelope(given) ?? given;
    const whole = read.fault === null && isNumbered(read.message as unknown as WireMessage);
    if (!whole) return this.#complete(safe);
    return this.#pass(safe as unknown as WireMessage, safe === given ? text : null);
  }

  /** `text`: the line, if the message is unchanged. */
  async #pass(message: WireMessage, text: string | null): Promise<string | null> {
    const { session_id, seq } = message as { session_id: string; seq: number };
    const track = await this.#track(session_id, seq);
    // The held-back part of a text precedes the end, which then has another number.
    if (message.type === 'session_end') this.#sayHeld(track);
    if (seq !== track.out.next_seq) return wrongSeq(track, seq);
    const data = this.#options.redaction?.data(message.data as Record<string, unknown>);
    const same = data === undefined || data === message.data;
    const line = same && text !== null ? text : JSON.stringify({ ...message, data });
    this.#put(track, message, line);
    return null;
  }

  async #complete(given: Record<string, unknown>): Promise<string | null> {
    const { type, data } = given as { type: string; data?: unknown };
    const { redaction } = this.#options;
    const session_id = textOf(given.session_id) || this.#options.session_id;
    const track = await this.#track(session_id, null);
    if (given.seq != null && given.seq !== track.out.next_seq) return wrongSeq(track, given.seq);
    if (redaction === null || !isMap(data)) return this.#say(track, given);
    // The original is checked first: a bad line must not change the held-back part of a text.
    const wrong = this.#say(track, given, false);
    if (wrong !== null) return wrong;
    const parts = redaction.messages(session_id, type, data);
    const last = parts.pop();
    for (const part of parts) this.#say(track, part);
    return this.#say(track, { ...given, ...last });
  }

  /** Completes a message, checks it, and puts it into the outbox unless it is only checked. */
  #say(track: Track, given: Record<string, unknown>, put = true): string | null {
    const { type } = given as { type: string };
    const { session_id, next_seq: seq } = track.out;
    const { call_id } = (given.data ?? {}) as { call_id?: unknown };
    const linked = CALL_MESSAGE_TYPES.has(type) && typeof call_id === 'string';
    const at_ms = Math.max(this.#options.clock.now(), track.at_ms);
    const message = {
      type,
      timestamp: timestampOf(at_ms),
      correlation_id: linked ? correlationOf(session_id, call_id) : null,
      message_id: messageIdOf(session_id, seq),
      ack_required: true,
      trace: null,
      data: {},
      ...withoutNull(given),
      session_id,
      seq,
    };
    const text = JSON.stringify(message);
    const { fault } = readText(text);
    if (fault !== null) return fault.message;
    if (Buffer.byteLength(text) > LIMITS.live_message_bytes_max)
      return `the message is over ${LIMITS.live_message_bytes_max} bytes`;
    if (put) this.#put(track, message as unknown as WireMessage, text);
    return null;
  }

  /** `first_seq` null: taken from the outbox or the collector. Without both it is a new session. */
  async #track(session_id: string, first_seq: number | null): Promise<Track> {
    const known = this.#tracks.get(session_id);
    if (known !== undefined) return known;
    const { live, new_session } = this.#options;
    const asked = first_seq === null && !(new_session && session_id === this.#options.session_id);
    const out = live.open(session_id, first_seq ?? (asked ? await live.where(session_id) : 1));
    const begun = out.next_seq === 1;
    const track = { out, begun, at_ms: 0, open: new Set<string>() };
    this.#tracks.set(session_id, track);
    return track;
  }

  #put(track: Track, message: WireMessage, text: string): void {
    const { type, data, timestamp } = message;
    track.out.put([{ seq: track.out.next_seq, type, text }]);
    track.at_ms = Math.max(track.at_ms, isoTime(timestamp) ?? 0);
    const { call_id } = data as { call_id?: string };
    if (type === 'tool_call_request') track.open.add(call_id as string);
    if (type === 'tool_call_response') track.open.delete(call_id as string);
    this.counts.messages += 1;
  }

  /** Sends the rest of unfinished texts. */
  rest(): void {
    for (const track of this.#tracks.values()) this.#sayHeld(track);
  }

  #sayHeld(track: Track): void {
    if (track.out.outbox.ended) return;
    const held = this.#options.redaction?.held(track.out.session_id) ?? [];
    for (const part of held) this.#say(track, part);
  }

  /** Answers every open call before the session ends (LP-4). */
  end(): void {
    for (const track of this.#tracks.values()) {
      const { out, begun, open } = track;
      // A session with only bad lines was never started.
      if (!begun || out.outbox.ended || out.next_seq === 1) continue;
      const { session_id } = out;
      const at_ms = Math.max(this.#options.clock.now(), track.at_ms);
      const numbered = { session_id, seq: 0, at_ms };
      const cut = open.size > 0;
      const reason = cut ? 'the input ended before every call was answered' : null;
      const cancelled = { code: 'CANCELLED', message: reason };
      out.say([
        ...[...open].map((call_id) =>
          compose('tool_call_response', { call_id, result: null, error: cancelled }, numbered),
        ),
        compose('session_end', { status: cut ? 'incomplete' : 'ok', reason }, numbered),
      ]);
      this.counts.messages += open.size + 1;
    }
  }
}

function wrongType(type: string): string {
  if ((LIVE_TYPES as readonly string[]).includes(type))
    return `the type ${type} is not sent by agents; emit sends ${SENDABLE.join(', ')}`;
  return unknownWord('message type', type, SENDABLE);
}

const wrongSeq = ({ out: { next_seq, session_id } }: Track, seq: unknown) =>
  `the field seq must be ${next_seq}, the next of session ${session_id}, not ${seq}`;

const isNumbered = ({ session_id, message_id, seq }: WireMessage) =>
  Boolean(session_id) && Boolean(message_id) && seq != null && seq > 0;

const withoutNull = (given: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
