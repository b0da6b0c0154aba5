/** Secrets that are split over pieces of a text: what may be the beginning of one waits for the next piece. */
import { LIMITS } from '../lib/limits.ts';
import type { Found } from './redact-rules.ts';

export interface Streams {
  delta(stream: string, text: string): string;
  flush(stream: string): string;
}

interface Stream {
  held: string;
  /** Inside a key block that was too long to hold: the rest is dropped up to its end. */
  in_block: boolean;
}

/** Words behind which a secret stands after white space. */
const OPENING =
  /(?:authorization["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4}(?:\w{1,12}\s{1,4})?|bearer\s{1,4}|(?:-api-key|secret_?access_?key)["'\\]{0,4}\s{0,4}[:=]?\s{0,4}["'\\]{0,4})$/i;
const OPENING_CHARS_MAX = 64;
/** What is kept of a long run: more than any secret that is known by its beginning. */
const RUN_KEPT_CHARS = LIMITS.redaction_hold_chars / 2;
const BEGIN = '-----BEGIN ';

export function createStreams(tools: {
  find: (text: string) => Found[];
  redact: (text: string) => string;
  /** Known secrets with white space in them. */
  spaced: readonly string[];
}): Streams {
  const streams = new Map<string, Stream>();

  /** Text up to here can be given away. */
  function safeEnd(text: string): number {
    const block = openBlock(text);
    let end = block >= 0 ? block : lastGap(text);
    const before = text.slice(Math.max(0, end - OPENING_CHARS_MAX), end);
    const opening = OPENING.exec(before);
    if (opening !== null) end -= before.length - opening.index;
    for (const secret of tools.spaced) end = Math.min(end, partAtEnd(text, secret));
    for (const found of tools.find(text)) {
      if (found.start < end && found.end > end) end = found.start;
    }
    return end;
  }

  /** More is held than may be: gives away what is no part of something found at the end. */
  function squeeze(stream: Stream): string {
    const text = stream.held;
    const block = openBlock(text);
    if (block >= 0) {
      stream.in_block = true;
      stream.held = '';
      return tools.redact(text);
    }
    let end = text.length - RUN_KEPT_CHARS;
    for (const found of tools.find(text)) {
      if (found.start < end && found.end > end)
        end = found.end < text.length ? found.end : found.start;
    }
    // Something that fills all that may be held is given away as what it is.
    if (end <= 0) end = text.length;
    stream.held = text.slice(end);
    return tools.redact(text.slice(0, end));
  }

  function give(stream: Stream): string {
    const end = safeEnd(stream.held);
    const ready = stream.held.slice(0, end);
    stream.held = stream.held.slice(end);
    const given = ready === '' ? '' : tools.redact(ready);
    return stream.held.length > LIMITS.redaction_hold_chars ? given + squeeze(stream) : given;
  }

  return {
    delta(key, text) {
      let stream = streams.get(key);
      if (stream === undefined) {
        // Too many streams at once: this one is redacted piece by piece.
        if (streams.size >= LIMITS.open_calls_max) return tools.redact(text);
        stream = { held: '', in_block: false };
        streams.set(key, stream);
      }
      stream.held += text;
      if (stream.in_block) leaveBlock(stream);
      return stream.in_block ? '' : give(stream);
    },
    flush(key) {
      const stream = streams.get(key);
      streams.delete(key);
      return stream === undefined || stream.in_block ? '' : tools.redact(stream.held);
    },
  };
}

/** Where the run of characters at the end of the text begins. */
function lastGap(text: string): number {
  let at = text.length;
  while (at > 0 && !isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/** Where a private key begins that has not ended; -1 when none has. The word itself may be cut. */
function openBlock(text: string): number {
  const at = text.lastIndexOf(BEGIN);
  if (at < 0) return -1;
  const label = text.slice(at + BEGIN.length, at + BEGIN.length + 40);
  const close = label.indexOf('-----');
  if (close < 0) return label.length < 40 ? at : -1;
  if (!label.slice(0, close).includes('PRIVATE KEY')) return -1;
  const end = text.indexOf('-----END ', at);
  return end >= 0 && text.indexOf('-----', end + 9) >= 0 ? -1 : at;
}

/** Drops up to the end of the block; keeps enough to see an end that is split. */
function leaveBlock(stream: Stream): void {
  const end = stream.held.indexOf('-----END ');
  const close = end < 0 ? -1 : stream.held.indexOf('-----', end + 9);
  if (close >= 0) {
    stream.in_block = false;
    stream.held = stream.held.slice(close + 5);
  } else {
    stream.held = end >= 0 ? stream.held.slice(end, end + 64) : stream.held.slice(-9);
  }
}

/** Where a beginning of the secret stands at the end of the text; the text's length when none does. */
function partAtEnd(text: string, secret: string): number {
  for (let size = Math.min(secret.length - 1, text.length); size > 0; size--) {
    if (text.endsWith(secret.slice(0, size))) return text.length - size;
  }
  return text.length;
}
