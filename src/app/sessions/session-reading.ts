/**
 * Reads the files of a session as far as they go, and later what was appended. Contract: only complete lines count as
 * read. Nothing before the place where reading stopped is read again.
 */
import { statSync } from 'node:fs';
import type { Pipeline } from '../../capture/pipeline.ts';
import { jsonIn } from '../../lib/json.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import type { Agent, SessionPart } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import type { Redactor } from '../../redact/gate.ts';
import { BEGINNING, LineChecksum, type PartPlace, PartReader } from './part-reader.ts';
import { sessionChunks } from './session-chunks.ts';
import { leftOut, mainOf, mergedEvents, restOf, type SessionSource } from './session-source.ts';

/**
 * The size of a sub-agent's file before the main file is read. An agent writes first that it starts a sub-agent or has its
 * answer: what follows from a line that was not read yet is not read either. Undefined: not a growing file.
 */
function sizeOf({ session }: Agent, path: string): number | undefined {
  if (!path.endsWith('.jsonl') || session?.read !== undefined || session?.rewritten) return;
  try {
    return statSync(path).size;
  } catch {
    // Reading it fails too, and says why.
    return;
  }
}

const LF = 10;
const NOTHING = Buffer.alloc(0);

/** The lines of a session's files. If the files grow, it is asked again, and continues where it stopped. */
export class Reading {
  /** After the last line: how far each file was read. */
  readonly places = new Map<string, PartPlace>();
  readonly #pipeline: Pipeline;
  readonly #redactor: Redactor;
  #source: SessionSource;
  #readers: PartReader[] = [];
  /** The beginning of a line of a single file. */
  #rest: Buffer = NOTHING;

  constructor(source: SessionSource, pipeline: Pipeline, redactor: Redactor) {
    this.#source = source;
    this.#pipeline = pipeline;
    this.#redactor = redactor;
  }

  /** The main file. */
  get path(): string {
    return this.#source.path;
  }

  /** The events of all complete lines. A single file is read as bytes. `source`: the files as they are now. */
  async *lines(source = this.#source): AsyncGenerator<Event[]> {
    this.#source = source;
    const parts = source.parts.filter((part) => part.unclaimed === undefined);
    const more = this.places.size;
    if (source.parts.length === 1 && more === 0) yield* this.#bytes();
    else if (source.parts.length === 1 && more === 1) yield* this.#moreBytes();
    else {
      this.#rest = NOTHING;
      this.#readers = this.#readersOf(parts);
      yield* mergedEvents(this.#readers, this.#pipeline);
      for (const reader of this.#readers) this.places.set(reader.path, reader.place);
    }
    for (const part of this.unclaimed) this.places.set(part.path, BEGINNING);
  }

  /** The parts without a parent, as long as it may still become known. They are read at the end only. */
  get unclaimed(): SessionPart[] {
    return this.#source.parts.filter((part) => part.unclaimed !== undefined);
  }

  /** The size up to which a file names no parent of an unclaimed part: then it is read no further. */
  #seenOf({ path }: SessionPart): number | undefined {
    return this.unclaimed.find(({ unclaimed }) => unclaimed?.in === path)?.unclaimed?.bytes;
  }

  #readersOf(of: readonly SessionPart[]): PartReader[] {
    const { agent, path, parts } = this.#source;
    const main = mainOf(parts, path);
    return of.map((part) => {
      const from = this.places.get(part.path) ?? BEGINNING;
      const until =
        this.#seenOf(part) ?? (part.path === main ? undefined : sizeOf(agent, part.path));
      const limit = until === undefined ? {} : { until };
      return new PartReader(agent, part, { main, from, redactor: this.#redactor, ...limit });
    });
  }

  async *#bytes(): AsyncGenerator<Event[]> {
    const { agent, path } = this.#source;
    const checksum = new LineChecksum(0);
    for await (const chunk of inFlatMemory(sessionChunks(agent, path))) {
      checksum.push(chunk);
      yield this.#pipeline.push('session', chunk);
    }
    this.places.set(path, { ...this.#pipeline.positionOf('session'), crc: checksum.value });
  }

  /** Only complete lines reach the pipeline: the rest is read again with what follows. */
  async *#moreBytes(): AsyncGenerator<Event[]> {
    const { agent, path } = this.#source;
    const from = this.places.get(path) ?? BEGINNING;
    const checksum = new LineChecksum(from.crc);
    let rest: Buffer[] = [];
    for await (const chunk of sessionChunks(agent, path, from.offset)) {
      checksum.push(chunk);
      const end = chunk.lastIndexOf(LF) + 1;
      if (end > 0) {
        yield this.#pipeline.push('session', Buffer.concat([...rest, chunk.subarray(0, end)]));
        rest = [];
      }
      if (end < chunk.length) rest.push(Buffer.from(chunk.subarray(end)));
    }
    this.#rest = Buffer.concat(rest);
    this.places.set(path, { ...this.#pipeline.positionOf('session'), crc: checksum.value });
  }

  /** Whether a last line has no end, and is no record yet. */
  get torn(): boolean {
    return this.#unended.includes(undefined);
  }

  /** Whether a last line has no end, but is a record. */
  get whole(): boolean {
    return this.#unended.length > 0 && !this.torn;
  }

  /** The last lines without an end, parsed. */
  get #unended(): unknown[] {
    const rests = this.#readers.map(({ rest }) => rest).filter((rest) => rest !== null);
    const values = rests.map(({ value }) => value);
    return this.#rest.length === 0 ? values : [...values, jsonIn(this.#rest.toString('utf8'))];
  }

  /** The events of unclaimed parts, of unfinished last lines and of the end of the input. */
  async end(): Promise<Event[]> {
    const pipeline = this.#pipeline;
    const readers = this.#readersOf(this.unclaimed);
    const unclaimed = (await Array.fromAsync(mergedEvents(readers, pipeline))).flat();
    const bytes = this.#rest.length === 0 ? [] : pipeline.push('session', this.#rest);
    const rest = [...this.#readers, ...readers].flatMap((reader) => restOf(pipeline, reader));
    return [
      ...unclaimed,
      ...bytes,
      ...rest,
      ...leftOut(this.#source, pipeline),
      ...pipeline.endOfInput('session'),
    ];
  }
}
