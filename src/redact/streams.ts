/** Secrets that are split over pieces of a text: what may be the beginning of one waits for the next piece. */

import { LIMITS } from '../lib/limits.ts';
import type { Found } from './anchors.ts';
import { isBlank } from './code-units.ts';
import { keyBlockEnd, openKeyBlock } from './key-blocks.ts';
import { REDACT_LIMITS } from './limits.ts';
import { OPENING, OPENING_CHARS_MAX } from './rules.ts';

interface Stream {
  held: string;
  /** Inside a key block that was too long to hold: the rest is dropped up to its end. */
  in_block: boolean;
  /** It is looked at again when this number of characters is held. */
  next: number;
}

/** What is kept of a long run: more than any secret that is known by its beginning. */
const RUN_KEPT_CHARS = REDACT_LIMITS.redaction_hold_chars / 2;
/** From this length on, text is looked at again when it has grown by an eighth: a character is not looked at for each piece. */
const LONG_CHARS = 256;
/** The line that ends a key has fewer. */
const BLOCK_END_CHARS = 80;

interface Tools {
  find: (text: string) => Found[];
  redact: (text: string) => string;
  cutOff: (text: string, long?: number) => number;
}

export function createStreams(tools: Tools) {
  const streams = new Map<string, Stream>();

  function give(stream: Stream): string {
    const end = safeEnd(stream.held, tools);
    const ready = stream.held.slice(0, end);
    stream.held = stream.held.slice(end);
    let given = ready === '' ? '' : tools.redact(ready);
    if (stream.held.length > REDACT_LIMITS.redaction_hold_chars) given += squeeze(stream, tools);
    stream.next = nextLook(stream.held.length);
    return given;
  }

  return {
    delta(key: string, text: string): string {
      let stream = streams.get(key);
      if (stream === undefined) {
        // Too many streams at once: this one is redacted piece by piece.
        if (streams.size >= LIMITS.open_calls_max) return tools.redact(text);
        stream = { held: '', in_block: false, next: 0 };
        streams.set(key, stream);
      }
      stream.held += text;
      if (stream.held.length < stream.next) return '';
      if (stream.in_block) leaveBlock(stream);
      return stream.in_block ? '' : give(stream);
    },
    /** Forgets a stream and what is held of it. */
    drop: (key: string) => void streams.delete(key),
    flush(key: string): string {
      const stream = streams.get(key);
      streams.delete(key);
      return stream === undefined || stream.in_block ? '' : tools.redact(stream.held);
    },
  };
}

/** Text up to here can be given away. */
function safeEnd(text: string, tools: Tools): number {
  const block = openKeyBlock(text, true);
  const end = beforeOpening(text, block >= 0 ? block : lastGap(text));
  return uncut(text, Math.min(end, tools.cutOff(text)), tools);
}

/** This place, or before a secret that it would cut, or would part from the words that it is known by. */
function uncut(text: string, place: number, tools: Tools): number {
  if (place === 0 || place === text.length) return place;
  const found = tools.find(text).map((each) => ({ from: knownFrom(text, each), to: each.end }));
  for (let at = place; ; ) {
    const cut = found.find(({ from, to }) => from < at && to > at);
    if (cut === undefined) return at;
    at = cut.from;
  }
}

/** More is held than may be: gives away what is no part of something found at the end. */
function squeeze(stream: Stream, tools: Tools): string {
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

function nextLook(held: number): number {
  const next = held < LONG_CHARS ? 0 : held + (held >> 3);
  return held > REDACT_LIMITS.redaction_hold_chars
    ? next
    : Math.min(next, REDACT_LIMITS.redaction_hold_chars + 1);
}

/** This place, or before the words that make what follows a secret. */
function beforeOpening(text: string, place: number): number {
  const before = text.slice(Math.max(0, place - OPENING_CHARS_MAX), place);
  const opening = OPENING.exec(before);
  return opening === null ? place : place - (before.length - opening.index);
}

/** Where the words begin that make this a secret: a password by its address, a token by what is said before it. */
const knownFrom = (text: string, { kind, start }: Found) =>
  kind === 'url' ? lastGap(text, start) : beforeOpening(text, start);

/** Where the run of characters before a place begins. */
function lastGap(text: string, place = text.length): number {
  let at = place;
  while (at > 0 && !isBlank(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

/** Drops up to the end of the block; keeps enough to see an end that is split. */
function leaveBlock(stream: Stream): void {
  const end = keyBlockEnd(stream.held);
  stream.in_block = end < 0;
  stream.held = stream.in_block ? stream.held.slice(-BLOCK_END_CHARS) : stream.held.slice(end);
}
