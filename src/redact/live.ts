/**
 * Redacts messages that other programs send through tacho, before the outbox, so that secrets are neither stored nor
 * sent. The metadata of a message (ids, numbers, states) and the names of its fields are not changed.
 */
import { LIMITS } from '../lib/limits.ts';
import { isMap } from '../lib/own.ts';
import type { Redactor } from './redact.ts';

/** Fields of a message's data with ids and protocol words. */
const OWN_FIELDS = new Set([
  'call_id',
  'content_type',
  'error_code',
  'index',
  'message_id',
  'open_calls',
  'parent_call_id',
  'parent_session_id',
  'related',
  'severity',
  'status',
  'time_source',
]);
/** Envelope fields with ids and protocol words. */
const ENVELOPE_FIELDS = new Set([
  'ack_required',
  'correlation_id',
  'data',
  'message_id',
  'seq',
  'session_id',
  'timestamp',
  'type',
]);
/** Fields with a tool's values. */
const FOREIGN_FIELDS = new Set(['args', 'result']);
/** These identify the message that starts. */
const MESSAGE_FIELDS = new Set(['id', 'role']);
/** The path of the text in a delta. */
const PIECES = ['text', 'thinking', 'partial_json'];

type Data = Record<string, unknown>;

type Sent = { type: string; data: Data };

export type LiveRedaction = ReturnType<typeof createLiveRedaction>;

export function createLiveRedaction(redactor: Redactor) {
  /** The last delta of each unfinished text. */
  const open = new Map<string, Data>();

  function redactedBut(own: ReadonlySet<string>, data: Data): Data {
    let changed: Data | null = null;
    for (const [name, value] of Object.entries(data)) {
      if (own.has(name)) continue;
      const safe =
        own === OWN_FIELDS && name === 'message' && isMap(value)
          ? redactedBut(MESSAGE_FIELDS, value)
          : FOREIGN_FIELDS.has(name)
            ? redactor.foreign(value)
            : redactor.value(value);
      if (safe === value) continue;
      changed ??= { ...data };
      changed[name] = safe;
    }
    return changed ?? data;
  }

  const redacted = (data: Data) => redactedBut(OWN_FIELDS, data);

  function delta(key: string, data: Data): Data {
    const piece = pieceOf(data);
    const known = open.has(key) || open.size < LIMITS.live_open_texts_max;
    if (piece === null || !known) return redacted(data);
    const text = redactor.delta(key, piece);
    const empty = redacted({ ...data, delta: withPiece(data, '') });
    open.set(key, empty);
    return { ...empty, delta: withPiece(empty, text) };
  }

  function rest(key: string): Sent[] {
    const last = open.get(key);
    if (last === undefined) return [];
    open.delete(key);
    const text = redactor.flush(key);
    const data = { ...last, delta: withPiece(last, text) };
    return text === '' ? [] : [{ type: 'content_block_delta', data }];
  }

  /** The held-back parts of a session's unfinished texts. */
  const held = (session_id: string) =>
    [...open.keys()].filter((key) => key.startsWith(`${session_id}\n`)).flatMap(rest);

  return {
    /** Redacts the envelope of a message. */
    envelope: (message: Data) => redactedBut(ENVELOPE_FIELDS, message),
    /** Redacts one of tacho's own texts that may quote a message. */
    text: redactor.text,
    /** Redacts the data of a single message. */
    data: redacted,
    /** The messages to send for one message. Pieces of a text are redacted as one text, so its end may need an extra message. */
    messages(session_id: string, type: string, data: Data): Sent[] {
      const key = keyOf(session_id, data);
      if (type === 'content_block_delta') return [{ type, data: delta(key, data) }];
      const before =
        type === 'content_block_stop' ? rest(key) : type === 'session_end' ? held(session_id) : [];
      return [...before, { type, data: redacted(data) }];
    },
    held,
  };
}

const keyOf = (session_id: string, { message_id, index }: Data) =>
  `${session_id}\n${message_id ?? ''}\n${index ?? ''}`;

function pieceOf({ delta }: Data): string | null {
  if (typeof delta === 'string') return delta;
  const name = fieldOf(delta);
  return name === undefined ? null : ((delta as Data)[name] as string);
}

function fieldOf(delta: unknown): string | undefined {
  return isMap(delta) ? PIECES.find((name) => typeof delta[name] === 'string') : undefined;
}

function withPiece({ delta }: Data, text: string): unknown {
  const name = fieldOf(delta);
  return name === undefined ? text : { ...(delta as Data), [name]: text };
}
