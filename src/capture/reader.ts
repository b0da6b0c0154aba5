/**
 * Bytes of channels → lines → records → drafts, with one decoder.
 * Contract: the same bytes result in the same drafts in any chunking, and every draft has its line.
 */
import { byteText, decodesByteText, isAscii, NeedsText, toByteText } from '../lib/byte-text.ts';
import { mayBeJson, nestsDeeper } from '../lib/json.ts';
import { LIMITS } from '../lib/limits.ts';
import { createLines, type LinePlace, type Lines, type OversizeLine } from '../lib/lines.ts';
import { isUtf8, wellFormed } from '../lib/utf8.ts';
import type { Decoder, SessionPart } from '../model/agent.ts';
import type { Draft, DraftOf } from '../model/draft.ts';
import type { Raw } from '../model/event.ts';
import type { Channel, ProblemCode } from '../model/words.ts';
import {
  decodeEnd,
  decodeLine,
  decodeRecord,
  type LineContext,
  problem,
  replacedBytes,
} from './decode.ts';

/** The position of a file's first byte among all bytes read from its channel. */
export type Beginning = Pick<LinePlace, 'line' | 'offset'>;

interface ReaderOptions {
  decoder: Decoder;
  line_bytes_max?: number | undefined;
  /** Lines are read as byte text (lib/byte-text), and drafts contain it. */
  byte_text?: boolean;
  /** With byte text: throws `NeedsText` for a line that must be read as text. */
  exact?: boolean;
  beginningOf?(channel: Channel): Beginning;
  /** Receives the drafts of one line of this many bytes. */
  take(drafts: Draft[], raw: Raw, bytes: number): void;
}

export class Reader {
  readonly #options: ReaderOptions;
  readonly #decoder: Decoder;
  readonly #byte_text: boolean;
  readonly #exact: boolean;
  readonly #inputs = new Map<Channel, Lines>();
  #utf8_chunk: Buffer | null = null;
  #drafts: Draft[] = [];

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#decoder = options.decoder;
    this.#byte_text = options.byte_text === true;
    this.#exact = this.#byte_text && options.exact === true;
  }

  push(channel: Channel, chunk: Buffer): void {
    // If the whole chunk is valid UTF-8, its lines need no check. A chunk that ends within a character is not valid.
    this.#utf8_chunk = this.#byte_text && isUtf8(chunk) ? chunk : null;
    decodesByteText(this.#byte_text);
    let lines = this.#inputs.get(channel);
    if (lines === undefined) {
      lines = this.#newLines(channel, this.#options.beginningOf?.(channel));
      this.#inputs.set(channel, lines);
    }
    lines.push(chunk);
  }

  /** The place after the last complete line of a channel. */
  positionOf(channel: Channel): Beginning {
    return this.#inputs.get(channel)?.position ?? { line: 0, offset: 0 };
  }

  /** Whether a line has begun that is not complete yet. */
  get holds(): boolean {
    return this.#inputs.values().some((lines) => lines.begun);
  }

  /** One parsed record. */
  record(value: unknown, raw: Raw, part?: SessionPart): void {
    const record = this.#own(value);
    decodesByteText(this.#byte_text);
    decodeRecord(record, this.#decoder, this.#drafts, part);
    this.#give(this.#own(raw), 0);
  }

  /** One complete line. */
  line(text: string, raw: Raw, part: SessionPart | undefined, terminated: boolean): void {
    const context = { channel: raw.channel, terminated, invalid_utf8: false, part };
    const line = this.#own(text);
    decodesByteText(this.#byte_text);
    decodeLine(line, this.#decoder, context, this.#drafts);
    this.#give(this.#own(raw), text.length);
  }

  /** Ends the last line of a channel. */
  end(channel: Channel): void {
    decodesByteText(this.#byte_text);
    this.#inputs.get(channel)?.end();
  }

  /** The decoder's drafts at the end of all records. They belong to no line. */
  endRecords(): Draft[] {
    const drafts: Draft[] = [];
    decodesByteText(this.#byte_text);
    decodeEnd(this.#decoder, drafts);
    if (this.#exact) checkDrafts(drafts);
    return drafts;
  }

  /** Reports the loss after a channel's file was truncated, and begins a new line after it. */
  restart(channel: Channel, detail: string, lost: Beginning): [DraftOf<'problem'>, Raw] {
    const lines = this.#inputs.get(channel) ?? this.#newLines(channel, lost);
    this.#inputs.set(channel, lines);
    const rest = lines.restart();
    const raw = { channel, line: rest.line, offset: rest.offset };
    if (rest.bytes === 0) return [problem('frame', 'spool_truncated', detail), raw];
    return [this.#own(lostLine('spool_truncated', detail, rest)), raw];
  }

  /** Converts text that is not from the lines to the form that drafts use. */
  #own<T>(value: T): T {
    return this.#byte_text ? toByteText(value) : value;
  }

  #give(raw: Raw, bytes: number): void {
    const drafts = this.#drafts;
    if (drafts.length === 0) return;
    this.#drafts = [];
    if (this.#exact) checkDrafts(drafts);
    this.#options.take(drafts, raw, bytes);
  }

  #newLines(channel: Channel, from: Beginning | undefined): Lines {
    const context = { channel, terminated: true, invalid_utf8: false };
    const sink = {
      line: (bytes: Buffer, start: number, end: number, place: LinePlace) => {
        context.terminated = place.terminated;
        this.#decodeBytes(bytes, start, end, context);
        if (this.#drafts.length > 0)
          this.#give({ channel, line: place.line, offset: place.offset }, end - start);
      },
      oversize: (line: OversizeLine) => {
        const detail = `a line of ${line.bytes} bytes is over the limit`;
        this.#drafts.push(this.#own(lostLine('oversize_line', detail, line)));
        this.#give({ channel, line: line.line, offset: line.offset }, line.bytes);
      },
    };
    return createLines(sink, this.#options.line_bytes_max, from);
  }

  #decodeBytes(bytes: Buffer, start: number, end: number, context: LineContext): void {
    if (this.#byte_text && this.#decodeByteText(bytes, start, end, context)) return;
    if (this.#exact) throw new NeedsText();
    const text = bytes.toString('utf8', start, end);
    context.invalid_utf8 = text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end));
    const line = this.#own(text);
    decodeLine(line, this.#decoder, context, this.#drafts);
  }

  /** False for the few lines that cannot be read as bytes: an escape represents a character, not its bytes. */
  #decodeByteText(bytes: Buffer, start: number, end: number, context: LineContext): boolean {
    const text = byteText(bytes, start, end);
    const valid = bytes === this.#utf8_chunk || isUtf8(bytes.subarray(start, end));
    if (valid && !text.includes('\\u')) {
      if (this.#exact && end - start > OPAQUE_BYTES_MAX && !isAscii(text)) throw new NeedsText();
      decodeLine(text, this.#decoder, context, this.#drafts);
      return true;
    }
    const real = bytes.toString('utf8', start, end);
    const value = parsedRecord(real);
    if (value === null) return false;
    if (this.#exact && (!valid || hasHalves(text, value))) throw new NeedsText();
    if (!valid) this.#drafts.push(replacedBytes(toByteText(real)));
    decodeRecord(toByteText(value), this.#decoder, this.#drafts);
    return true;
  }
}

/** A line with only a known beginning. */
function lostLine(code: ProblemCode, detail: string, line: OversizeLine): DraftOf<'problem'> {
  const { bytes, sha256 } = line;
  const excerpt = wellFormed(line.head.toString('utf8'));
  const { kind, data } = problem('frame', code, detail);
  return { kind, data: { ...data, bytes, sha256, excerpt } };
}

/** Kinds of drafts with texts that are later measured or truncated. */
const MEASURED = new Set(['problem', 'message_delta', 'thinking_delta', 'call_progress']);
/** Longer lines may come close to a limit that is counted in characters. */
const OPAQUE_BYTES_MAX = 256 * 1024;

/** Texts that are measured or truncated must be the same as byte text. */
function checkDrafts(drafts: readonly Draft[]): void {
  for (const { kind, data } of drafts)
    if (MEASURED.has(kind) && !isAscii(JSON.stringify(data))) throw new NeedsText();
}

/** Whether a text in the value contains half of a surrogate pair, which has no bytes. JSON writes it as an escape. */
function hasHalves(line: string, value: object): boolean {
  return /\\u[dD][89a-fA-F]/.test(line) && /\\ud[89a-f]/.test(JSON.stringify(value));
}

/** Null if the text is not a record. It is then read and reported like any other line. */
function parsedRecord(text: string): object | null {
  if (!mayBeJson(text)) return null;
  if (text.length >= LIMITS.depth_scan_from_bytes && nestsDeeper(text, LIMITS.depth_max))
    return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
