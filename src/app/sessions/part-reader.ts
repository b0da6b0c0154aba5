/**
 * The lines of one file of a session, from a place on. Contract: only complete lines are returned. An unfinished line
 * after them may still be written, and is kept as `rest`.
 */
import { basename } from 'node:path';
import { crc32 } from 'node:zlib';
import { plainName } from '../../lib/compressed.ts';
import { jsonIn } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createLines, type LinePlace, type OversizeLine } from '../../lib/lines.ts';
import type { Agent, SessionPart } from '../../model/agent.ts';
import type { Redactor } from '../../redact/gate.ts';
import { sessionChunks } from './session-chunks.ts';

/** How far a file was read: the place after its last complete line, and a checksum of everything before. */
export interface PartPlace {
  line: number;
  offset: number;
  crc: number;
}

export const BEGINNING: PartPlace = { line: 0, offset: 0, crc: 0 };

const LF = 10;
const ENDED = { value: undefined, done: true } as const;

/** The checksum of the complete lines in a file's chunks. */
export class LineChecksum {
  /** Of everything up to the last LF. */
  value: number;
  #all: number;

  constructor(before: number) {
    this.value = before;
    this.#all = before;
  }

  push(chunk: Buffer): void {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end > 0) this.value = crc32(chunk.subarray(0, end), this.#all);
    this.#all = end === chunk.length ? this.value : crc32(chunk, this.#all);
  }
}

export interface HeldLine {
  text: string;
  value: unknown;
  line: number;
  offset: number;
  terminated: boolean;
}

export interface PartOptions {
  /** The path of the session's main file. */
  main: string;
  from: PartPlace;
  /** The file's name is in each of its events. */
  redactor: Redactor | null;
  /** The file does not grow: a last line without an end is complete. */
  ended?: boolean;
  /** Only the bytes before this place are read. */
  until?: number;
}

export class PartReader {
  /** Undefined for the main file. */
  readonly part: SessionPart | undefined;
  /** The name in its events. Undefined for the main file. */
  readonly file: string | undefined;
  readonly path: string;
  /** Time of the current line. A line without one has the time of the previous line. */
  at_ms = 0;
  current: HeldLine | undefined;
  /** The place after the last complete line, once all are returned. */
  place: PartPlace;
  /** The beginning of an unfinished line, once all others are returned. */
  rest: HeldLine | null = null;
  readonly #chunks: AsyncGenerator<Buffer>;
  readonly #timeOf: (value: unknown) => number | null;
  readonly #lines: ReturnType<typeof createLines>;
  readonly #checksum: LineChecksum;
  readonly #whole: boolean;
  /** Bytes that may still be read. */
  #left: number;
  #batch: HeldLine[] = [];
  #next = 0;
  #ended = false;

  constructor(agent: Agent, part: SessionPart, options: PartOptions) {
    const { main, from, redactor } = options;
    this.path = part.path;
    // Other files are documents, which are written as a whole.
    this.#whole = options.ended === true || !plainName(part.path).endsWith('.jsonl');
    if (part.path !== main) {
      const name = plainName(basename(part.path));
      this.part = part;
      this.file = redactor?.text(name) ?? name;
    }
    this.place = from;
    this.#left = (options.until ?? Number.POSITIVE_INFINITY) - from.offset;
    this.#checksum = new LineChecksum(from.crc);
    this.#chunks = sessionChunks(agent, part.path, from.offset);
    this.#timeOf = (value) => agent.session?.timeOf(value) ?? null;
    const line = (bytes: Buffer, start: number, end: number, place: LinePlace) =>
      this.#hold(bytes.toString('utf8', start, end), place, true);
    const oversize = (over: OversizeLine) => this.#hold(over.head.toString('utf8'), over, false);
    this.#lines = createLines({ line, oversize }, LIMITS.line_bytes_max, from);
  }

  #hold(text: string, { line, offset, terminated }: LinePlace, whole: boolean): void {
    const value = whole ? jsonIn(text) : undefined;
    this.#batch.push({ text, value, line, offset, terminated });
  }

  async advance(): Promise<void> {
    while (this.#next >= this.#batch.length) {
      if (this.#ended) {
        this.current = undefined;
        return;
      }
      this.#batch = [];
      this.#next = 0;
      await this.#read();
    }
    this.current = this.#batch[this.#next++];
    const time = this.current?.value === undefined ? null : this.#timeOf(this.current.value);
    this.at_ms = time ?? this.at_ms;
  }

  async #read(): Promise<void> {
    const { value, done } = this.#left > 0 ? await this.#chunks.next() : ENDED;
    if (!done) {
      const chunk = value.length > this.#left ? value.subarray(0, this.#left) : value;
      this.#left -= chunk.length;
      this.#checksum.push(chunk);
      this.#lines.push(chunk);
      return;
    }
    this.#ended = true;
    this.place = { ...this.#lines.position, crc: this.#checksum.value };
    this.#lines.end();
    if (!this.#whole) this.rest = this.#batch.pop() ?? null;
  }

  async close(): Promise<void> {
    await this.#chunks.return(undefined);
  }
}
