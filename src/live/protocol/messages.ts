/** Reads one line of the protocol. Contract: never throws; a fault names the field; nothing is guessed. */

import { isUtf8 } from 'node:buffer';
import { isoTime } from '../../lib/iso-time.ts';
import { checkValue, jsonFault, nestsDeeper } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { isMap, own } from '../../lib/own.ts';
import { TIME_LIKE, typeOf } from '../../lib/schema/json-schema.ts';
import { LIVE_CHECKS } from '../../model/generated/live.ts';
import type { WireMessage } from '../../model/live.ts';
import { ACKED_TYPES, LIVE_TYPES } from '../../model/live-words.ts';
import { type Fault, fault, faultOf, missing, responseFault, shown, wrong } from './fault.ts';

export type { WireMessage } from '../../model/live.ts';

export type ReadMessage =
  | { fault: null; message: WireMessage; text: string }
  /** `message`: the parsed part, so that the answer can name its cause. */
  | { fault: Fault; message: Record<string, unknown> | null; text: string };

/** Reads the line in `bytes[start, end)`. */
export function readMessage(bytes: Buffer, start = 0, end = bytes.length): ReadMessage {
  const line = end - start === bytes.length ? bytes : bytes.subarray(start, end);
  const text = line.toString('utf8');
  if (!isUtf8(line)) return badLine(text, 'INVALID_NDJSON_FORMAT', 'the line is not UTF-8');
  return readText(text);
}

export function readText(text: string): ReadMessage {
  const long = text.length > LIMITS.depth_scan_from_bytes;
  if (long && nestsDeeper(text, LIMITS.depth_max)) return tooDeep(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return badLine(text, 'INVALID_JSON_FORMAT', jsonFault(error));
  }
  if (!isMap(value))
    return badLine(text, 'INVALID_NDJSON_FORMAT', 'a message must be a JSON object');
  const found = { too_deep: false, lossy_number: false };
  if (!long && checkValue(value, LIMITS.depth_max, found).too_deep) return tooDeep(text);
  return judged(value, text);
}

/**
 * The last numbered message of each type. When no object of a shape is left after garbage collection, V8 discards the
 * shape and the code compiled for it, and under load would compile it again and again.
 */
const samples = new Map<string, WireMessage>();
const SAMPLE_CHARS_MAX = 4_096;

function judged(value: Record<string, unknown>, text: string): ReadMessage {
  const long = longIdOf(value);
  if (long !== null) {
    const wanted = `text of at most ${LIMITS.live_id_chars_max} characters`;
    return { fault: wrong(long, wanted, '', ''), message: withoutLong(value), text };
  }
  const { type } = value;
  if (typeof type !== 'string' || type === '')
    return { fault: noType(value), message: value, text };
  const check = own(LIVE_CHECKS, type);
  if (check === undefined) return { fault: unknownType(type), message: value, text };
  if (!check(value)) return { fault: faultOf(type, value), message: value, text };
  const message = value as unknown as WireMessage;
  message.data ??= {};
  const untimed = isTime(message.timestamp)
    ? null
    : wrong('timestamp', TIME_LIKE, message.timestamp);
  const unpaired = type === 'tool_call_response' ? responseFault(message.data) : null;
  const either = untimed ?? unpaired;
  if (message.seq != null && text.length < SAMPLE_CHARS_MAX) samples.set(type, message);
  return either === null ? { fault: null, message, text } : { fault: either, message: value, text };
}

function badLine(text: string, code: Fault['code'], why: string): ReadMessage {
  const details =
    code === 'INVALID_JSON_FORMAT'
      ? { raw_message: text.slice(0, 200), parse_error: why }
      : { problematic_line: text.slice(0, 200), issue: why };
  return { fault: fault(code, null, why, details), message: null, text };
}

function tooDeep(text: string): ReadMessage {
  return badLine(text, 'INVALID_NDJSON_FORMAT', `nested deeper than ${LIMITS.depth_max} levels`);
}

type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

const isLong = (value: unknown) =>
  typeof value === 'string' && value.length > LIMITS.live_id_chars_max;

const ENVELOPE_IDS = ['session_id', 'correlation_id', 'message_id'] as const;

/** The name of the first id that is too long. Ids are kept while their calls are open, so they must be short. */
function longIdOf(value: Fields): string | null {
  for (const name of ENVELOPE_IDS) if (isLong(value[name])) return name;
  const data = fieldsOf(value.data);
  if (isLong(data.call_id)) return 'data.call_id';
  if (isLong(data.message_id)) return 'data.message_id';
  if (isLong(fieldsOf(data.message).id)) return 'data.message.id';
  if (isLong(fieldsOf(data.resume).session_id)) return 'data.resume.session_id';
  return isLong(fieldsOf(value.trace).traceparent) ? 'trace.traceparent' : null;
}

/** The identifying fields of the message, for the answer. */
function withoutLong(value: Fields): Fields {
  const names = ['type', 'timestamp', 'seq', ...ENVELOPE_IDS];
  return Object.fromEntries(
    names.filter((name) => !isLong(value[name])).map((name) => [name, value[name]]),
  );
}

const ENVELOPE = ['type', 'timestamp', ...ENVELOPE_IDS, 'seq', 'ack_required', 'trace', 'data'];

function noType({ type = '', ...others }: Fields): Fault {
  if (type === '') return missing('type', others, ENVELOPE);
  return wrong('type', 'text', type, `, not ${typeOf(type)}`);
}

const DAY_MS = 86_400_000;

/** The last valid day and its midnight: most messages are of the same day. */
let known_day = '-';
let known_day_ms = 0;

/** Date parsing would take the 30th of February for the 2nd of March, and 24:00 for the next day. */
function isTime(text: string): boolean {
  const at_ms = isoTime(text);
  if (at_ms === undefined) return false;
  const day_ms = Math.floor(at_ms / DAY_MS) * DAY_MS;
  if (day_ms === known_day_ms && text.startsWith(known_day)) return true;
  if (new Date(at_ms).getUTCDate() !== Number(text.slice(8, 10))) return false;
  known_day = text.slice(0, 10);
  known_day_ms = day_ms;
  return true;
}

function unknownType(type: string): Fault {
  const details = { received_type: type.slice(0, 100), supported_types: LIVE_TYPES };
  return fault('INVALID_MESSAGE_TYPE', 'type', `unknown message type ${shown(type)}`, details);
}

/** Whether the sender expects an acknowledgement. */
export function wantsAck({
  type,
  ack_required,
}: Pick<WireMessage, 'type' | 'ack_required'>): boolean {
  return ack_required ?? ACKED_TYPES.has(type);
}
