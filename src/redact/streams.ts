/** Finds secrets that are split over pieces of a text: a possible beginning is held back until the next piece. */

import { LIMITS } from '../lib/limits.ts';
import type { Found } from './anchors.ts';
import { isBlank } from './code-units.ts';
import { keyBlockEnd, openKeyBlock } from './key-blocks.ts';
import { REDACT_LIMITS } from './limits.ts';
import { OPENING, OPENING_CHARS_MAX } from './rules.ts';

interface Stream {
  held: string;
  /** Inside a key block that was too long to hold back: everything up to its end is dropped. */
  in_block: boolean;
  /** The held text is inspected again when it reaches this length. */
  next: number;
}

/** Kept length of a long run: more than any secret that is recognised by its beginning. */
const RUN_KEPT_CHARS = REDACT_LIMITS.redaction_hold_chars / 2;
/** From this length on, text is inspected again only after growing by an eighth, not for each piece. */
const LONG_CHARS = 256;
/** The line that ends a key is shorter than this. */
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
        // Too many open streams: this one is redacted piece by piece.
        if (streams.size >= LIMITS.open_calls_max) return tools.redact(text);
        stream = { held: '', in_block: false, next: 0 };
        streams.set(key, stream);
      }
      stream.held += text;
      if (stream.held.length < stream.next) return '';
      if (stream.in_block) leaveBlock(stream);
      return stream.in_block ? '' : give(stream);
    },
    /** Drops a stream and its held text. */
    drop: (key: string) => void streams.delete(key),
    flush(key: string): string {
      const stream = streams.get(key);
      streams.delete(key);
      return stream === undefined || stream.in_block ? '' : tools.redact(stream.held);
    },
  };
}

/** Text up to here can be released. */
function safeEnd(text: string, tools: Tools): number {
  const block = openKeyBlock(text, true);
  const end = beforeOpening(text, block >= 0 ? block : lastGap(text));
  return uncut(text, Math.min(end, tools.cutOff(text)), tools);
}

/** This position, or an earlier one that does not split a secret or separate it from the words that identify it. */
function uncut(text: string, place: number, tools: Tools): number {
  if (place === 0 || place === text.length) return place;
  const found = tools.find(text).map((each) => ({ from: knownFrom(text, each), to: each.end }));
  for (let at = place; ; ) {
    const cut = found.find(({ from, to }) => from < at && to > at);
    if (cut === undefined) return at;
    at = cut.from;
  }
}

/** Over the limit: releases text that is not part of a match at the end. */
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
  // A match that fills the whole buffer is released unchanged, unless it is a known secret.
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

/** This position, or the start of the words that make the following text a secret. */
function beforeOpening(text: string, place: number): number {
  const before = text.slice(Math.max(0, place - OPENING_CHARS_MAX), place);
  const opening = OPENING.exec(before);
  return opening === null ? place : place - (before.length - opening.index);
}

/** The start of the words that make this a secret: the URL around a password, the word before a token. */
const knownFrom = (text: string, { kind, start }: Found) =>
  kind === 'url' ? lastGap(text, start) : beforeOpening(text, start);

/** The start of the run of characters before a position. */
function lastGap(text: string, place = text.length): number {
  let at = place;
  while (at > 0 && !isBlank(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

/** Drops text up to the end of the block, but keeps enough to recognise an end that is split. */
function leaveBlock(stream: Stream): void {
  const end = keyBlockEnd(stream.held);
  stream.in_block = end < 0;
  stream.held = stream.in_block ? stream.held.slice(-BLOCK_END_CHARS) : stream.held.slice(end);
}
