/**
 * One journal line: `{"s":<session>,"o":<source>,"n":<seq>,"c":"<crc32>","e":<body>}` and LF.
 * Contract: the body is the caller's text, byte for byte. The CRC covers the bytes before its key and the body, so
 * changes by the disk or a torn write are detected, including changes to the ids.
 */
import { crc32 } from 'node:zlib';

export interface JournalEntry {
  session: string;
  source: string;
  /** Counts from 1 within a session and source. */
  seq: number;
  /** JSON text without a line feed. As bytes, it must not change until the append is acknowledged. */
  body: string | Buffer;
}

/** The parsed start of a line, before its body is read. */
export interface LineHead {
  session: string;
  source: string;
  seq: number;
  crc: number;
  /** Start and end of the body in the bytes that were read. */
  start: number;
  end: number;
}

const BODY_KEY = Buffer.from(',"e":');
/** Bytes of `"c":"01234567"`. */
const CRC_BYTES = 14;
const OPENING = Buffer.from('{"s":');
const CLOSING = 0x7d;
// `"` in a JSON string is always escaped, so this cannot match inside an id.
const HEAD =
  /^\{"s":("(?:[^"\\]|\\.){0,8192}"),"o":("(?:[^"\\]|\\.){0,8192}"),"n":(\d{1,15}),"c":"([0-9a-f]{8})"$/;
/** Upper bound of a match, including the following key. */
const HEAD_BYTES_MAX = 2 * 8192 + 128;
/** Bytes of a line with empty ids and an empty body. */
const LINE_BYTES_MIN = 41;

/** The start of all lines of a source, before their numbers, and its checksum. */
export interface SourceHead {
  text: string;
  bytes: number;
  crc: number;
}

export function headOf(session: string, source: string): SourceHead {
  const text = `{"s":${JSON.stringify(session)},"o":${JSON.stringify(source)},"n":`;
  return { text, bytes: Buffer.byteLength(text), crc: crc32(text) };
}

/** An upper bound of the bytes of a line besides its head and body. */
export const LINE_EXTRA_BYTES = 48;
/** Bytes of `,"c":"01234567","e":`. */
const CRC_TEXT_BYTES = 1 + CRC_BYTES + BODY_KEY.length;

const NO_CRC = '"c":"00000000","e":';
/** From the end of the checksum's digits to the body: `","e":`. */
const CRC_END_BYTES = 1 + BODY_KEY.length;

/** Writes the eight digits that end at `end`. */
function writeHex(bytes: Buffer, end: number, value: number): void {
  for (let at = end - 1, rest = value; at >= end - 8; at--, rest >>>= 4) {
    const digit = rest & 15;
    bytes[at] = digit < 10 ? 0x30 + digit : 0x57 + digit;
  }
}

/** A line written to a buffer. It counts only once its end is kept. */
export interface PlacedLine {
  at: number;
  crc: number;
  end: number;
}

let crc_table: Uint32Array | null = null;

/** The checksum of a few more ASCII characters: cheaper than calling the library. */
function crcOf(text: string, before: number): number {
  crc_table ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    return crc;
  });
  let crc = ~before;
  for (let i = 0; i < text.length; i++)
    crc = (crc_table[(crc ^ text.charCodeAt(i)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Writes a line, including LF. `bytes` has room for it. */
export function writeLine(
  bytes: Buffer,
  at: number,
  { head, seq, body }: { head: SourceHead; seq: number; body: string | Buffer },
): PlacedLine {
  const number = `${seq},`;
  const body_at = at + head.bytes + number.length - 1 + CRC_TEXT_BYTES;
  const before = crcOf(number, head.crc);
  let end = body_at;
  let crc: number;
  if (typeof body === 'string') {
    end += bytes.write(body, body_at, 'utf8');
    crc = crc32(bytes.subarray(body_at, end), before);
  } else {
    bytes.set(body, body_at);
    end += body.length;
    crc = crc32(body, before);
  }
  const encoding = head.bytes === head.text.length ? 'latin1' : 'utf8';
  bytes.write(`${head.text}${number}${NO_CRC}`, at, encoding);
  writeHex(bytes, body_at - CRC_END_BYTES, crc);
  bytes[end] = CLOSING;
  bytes[end + 1] = 0x0a;
  return { at, crc, end: end + 2 };
}

/** Whether `bytes[start, end)` begin with a key. */
export function startsWith(bytes: Buffer, key: Buffer, start: number, end: number): boolean {
  if (end - start < key.length) return false;
  for (let i = 0; i < key.length; i++) if (bytes[start + i] !== key[i]) return false;
  return true;
}

/** The position of a key in `bytes[start, end)`, or -1. Bytes beyond are not searched: lines may be short, and many. */
function indexWithin(bytes: Buffer, key: Buffer, start: number, end: number): number {
  if (end - start < LINE_BYTES_MIN) return -1;
  const at = bytes.subarray(start, end).indexOf(key);
  return at < 0 ? -1 : start + at;
}

/** Parses the line in `bytes[start, end)`. Null if it is not a journal line or its checksum is wrong. */
export function readLine(bytes: Buffer, start: number, end: number): LineHead | null {
  if (bytes[end - 1] !== CLOSING || !startsWith(bytes, OPENING, start, end)) return null;
  const key = indexWithin(bytes, BODY_KEY, start, Math.min(end, start + HEAD_BYTES_MAX));
  if (key < 0) return null;
  const found = HEAD.exec(bytes.toString('latin1', start, key));
  if (found === null) return null;
  const head = {
    session: idText(found[1] as string),
    source: idText(found[2] as string),
    seq: Number(found[3]),
    crc: Number.parseInt(found[4] as string, 16),
    start: key + BODY_KEY.length,
    end: end - 1,
  };
  if (head.start > head.end || head.seq < 1) return null;
  const before = crc32(bytes.subarray(start, key - CRC_BYTES));
  return crc32(bytes.subarray(head.start, head.end), before) === head.crc ? head : null;
}

/** Ids are almost always ASCII and decoded as such; for the others, the bytes are decoded again. */
function idText(json: string): string {
  if (!json.includes('\\') && /^[\x20-\x7e]*$/.test(json)) return json.slice(1, -1);
  try {
    return JSON.parse(Buffer.from(json, 'latin1').toString('utf8')) as string;
  } catch {
    return '';
  }
}

/** The start of a complete line after bytes that are not one (a hole left by a power failure), or -1. */
export function findLine(bytes: Buffer, start: number, end: number): number {
  let at = start;
  for (let tries = 8; tries > 0; tries--) {
    at = indexWithin(bytes, OPENING, at + 1, end);
    if (at < 0 || readLine(bytes, at, end) !== null) return at;
  }
  return -1;
}
