/** Session files as a source of events: streamed, flat memory for any size; sub-agents' files merged in by time (AG-15). */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { problem } from '../../capture/decode.ts';
import type { Pipeline } from '../../capture/pipeline.ts';
import { fileError } from '../../lib/errors.ts';
import { liesBeside } from '../../lib/folders.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createLines } from '../../lib/lines.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import type { Agent, SessionPart } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import type { Redactor } from '../../redact/redact.ts';

/** Chunks of a file, each valid until the next is asked for; an error names the file. */
export async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
  let fd: number | null = null;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    for (;;) {
      // A file of this machine: reading it at once costs less than asking for it.
      const count = readSync(fd, buffer, 0, buffer.length, null);
      if (count === 0) return;
      yield buffer.subarray(0, count);
    }
  } catch (cause) {
    throw fileError(cause, path, 'read');
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** Chunks of a part of a session, whether it is a file or something that the agent reads itself. */
export async function* sessionChunks({ session }: Agent, path: string): AsyncGenerator<Buffer> {
  try {
    yield* session?.read?.(path) ?? chunksOf(path);
  } catch (cause) {
    throw fileError(cause, path, 'read');
  }
}

export interface SessionParts {
  parts: SessionPart[];
  /** Names of files that are not read. */
  left_out: string[];
}

/**
 * The files of the session at `path`, main first. The others may have come with it from elsewhere: one that is a link, or
 * behind one, could be any file of the user and is left out.
 */
export async function partsOf({ session }: Agent, path: string): Promise<SessionParts> {
  const all = (await session?.parts(path)) ?? [{ path, parent_call_id: null }];
  const main = resolve(path);
  const parts = all.filter((part) => resolve(part.path) === main || liesBeside(part.path, main));
  const left_out = all.filter((part) => !parts.includes(part)).map((part) => basename(part.path));
  return { parts, left_out };
}

/** Everything the session file at `path` says, through `pipeline`, in the order in which it happened. */
export async function* sessionEvents(
  agent: Agent,
  path: string,
  pipeline: Pipeline,
  redactor: Redactor | null,
): AsyncGenerator<Event[]> {
  const { parts, left_out } = await partsOf(agent, path);
  if (parts.length > 1) {
    const readers = parts.map((part) => new PartReader(agent, part, redactor));
    yield* mergedEvents(readers, pipeline);
  } else {
    for await (const chunk of inFlatMemory(sessionChunks(agent, path))) {
      yield pipeline.push('session', chunk);
    }
  }
  if (left_out.length > 0) {
    const detail = `left out of the session, since a link leads there or it is no regular file: ${left_out.join(', ')}`;
    yield pipeline.draft(problem('reconcile', 'bad_record', detail), null);
  }
  yield pipeline.endOfInput('session');
}

interface HeldLine {
  text: string;
  value: unknown;
  line: number;
  offset: number;
  terminated: boolean;
}

/** The lines of one part, a chunk's worth at a time. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<HeldLine[]> {
  let held: HeldLine[] = [];
  const lines = createLines({
    line(bytes, start, end, { line, offset, terminated }) {
      const text = bytes.toString('utf8', start, end);
      held.push({ text, value: parsed(text), line, offset, terminated });
    },
    oversize({ head, line, offset }) {
      held.push({ text: head.toString('utf8'), value: undefined, line, offset, terminated: true });
    },
  });
  for await (const chunk of chunks) {
    lines.push(chunk);
    yield held;
    held = [];
  }
  lines.end();
  yield held;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

class PartReader {
  readonly part: SessionPart;
  /** Its name, which is in each of its events, without secrets. */
  readonly file: string;
  /** Time of the current line; a line without one has the time of the line before. */
  at_ms = 0;
  current: HeldLine | undefined;
  readonly #batches: AsyncGenerator<HeldLine[]>;
  readonly #timeOf: (value: unknown) => number | null;
  #batch: HeldLine[] = [];
  #next = 0;

  constructor(agent: Agent, part: SessionPart, redactor: Redactor | null) {
    this.part = part;
    const name = basename(part.path);
    this.file = redactor?.text(name) ?? name;
    this.#batches = linesOf(sessionChunks(agent, part.path));
    this.#timeOf = (value) => agent.session?.timeOf(value) ?? null;
  }

  async advance(): Promise<void> {
    while (this.#next >= this.#batch.length) {
      const { value, done } = await this.#batches.next();
      if (done) {
        this.current = undefined;
        return;
      }
      this.#batch = value;
      this.#next = 0;
    }
    this.current = this.#batch[this.#next++];
    const time = this.current?.value === undefined ? null : this.#timeOf(this.current.value);
    this.at_ms = time ?? this.at_ms;
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined);
  }
}

async function* mergedEvents(
  readers: readonly PartReader[],
  pipeline: Pipeline,
): AsyncGenerator<Event[]> {
  try {
    for (const reader of readers) await reader.advance();
    for (;;) {
      const reader = earliest(readers);
      if (reader?.current === undefined) return;
      yield oneLine(pipeline, reader, reader.current);
      await reader.advance();
    }
  } finally {
    for (const reader of readers) await reader.close();
  }
}

function earliest(readers: readonly PartReader[]): PartReader | undefined {
  let first: PartReader | undefined;
  for (const reader of readers) {
    if (reader.current && (first === undefined || reader.at_ms < first.at_ms)) first = reader;
  }
  return first;
}

function oneLine(pipeline: Pipeline, { part, file }: PartReader, held: HeldLine): Event[] {
  const { line, offset, value } = held;
  const raw = { channel: 'session' as const, line, offset, file };
  if (typeof value === 'object' && value !== null) return pipeline.record(value, raw, part);
  return pipeline.line(held.text, raw, part, held.terminated);
}
