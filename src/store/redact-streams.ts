/** Secrets that are split over pieces of a text: what may be the beginning of one waits for the next piece. */
import { LIMITS } from '../lib/limits.ts';
import { type Found, keyBlockEnd, openKeyBlock } from './redact-rules.ts';

export interface Streams {
  delta(stream: string, text: string): string;
  flush(stream: string): string;
  /** Forgets a stream and what is held of it. */
  drop(stream: string): void;
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
/** The line that ends a key has fewer. */
const BLOCK_END_CHARS = 80;

export function createStreams(tools: {
  find: (text: string) => Found[];
  redact: (text: string) => string;
  cutOff: (text: string, long?: number) => number;
}): Streams {
  const streams = new Map<string, Stream>();

  /** Text up to here can be given away. */
  function safeEnd(text: string): number {
    const block = openKeyBlock(text, true);
    let end = block >= 0 ? block : lastGap(text);
    const before = text.slice(Math.max(0, end - OPENING_CHARS_MAX), end);
    const opening = OPENING.exec(before);
    if (opening !== null) end -= before.length - opening.index;
    return uncut(text, Math.min(end, tools.cutOff(text)));
  }

  /** This place, or before a secret that it would cut. */
  function uncut(text: string, place: number): number {
    if (place === 0 || place === text.length) return place;
    const cut = tools.find(text).find(({ start, end }) => start < place && end > place);
    return cut?.start ?? place;
  }

  /** More is held than may be: gives away what is no part of something found at the end. */
  function squeeze(stream: Stream): string {
    const text = stream.held;
    const block = openKeyBlock(text);
    if (block >= 0) {
      stream.in_block = true;
      stream.held = '';
      return tools.redact(text);
    }
    const cut = tools.cutOff(text, RUN_KEPT_CHARS);
    let end = text.length - RUN_KEPT_CHARS;
    for (const found of tools.find(text)) {
      if (found.start < end && found.end > end)
        end = found.end < text.length ? found.end : found.start;
    }
    // Something that fills all that may be held is given away as what it is, a known secret excepted.
    if (end <= 0) end = text.length;
    end = Math.min(end, cut);
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
    drop: (key) => void streams.delete(key),
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

/** Drops up to the end of the block; keeps enough to see an end that is split. */
function leaveBlock(stream: Stream): void {
  const end = keyBlockEnd(stream.held);
  stream.in_block = end < 0;
  stream.held = stream.in_block ? stream.held.slice(-BLOCK_END_CHARS) : stream.held.slice(end);
}
