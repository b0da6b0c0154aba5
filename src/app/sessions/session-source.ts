/**
 * Session files as a source of events: streamed, in constant memory for any size, with sub-agents' files merged by
 * time (AG-15).
 */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { problem } from '../../capture/decode.ts';
import type { Intake } from '../../capture/pipeline.ts';
import { fileError } from '../../lib/errors.ts';
import { liesBeside } from '../../lib/folders.ts';
import { jsonIn } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type LineSink, linesIn } from '../../lib/lines.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import type { Agent, Memo, SessionPart } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import type { Redactor } from '../../redact/gate.ts';

/** Chunks of a file, each valid until the next is requested. Errors name the file. */
export async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(LIMITS.read_chunk_bytes);
  let fd: number | null = null;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    for (;;) {
      // A local file: reading it synchronously is cheaper.
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

/** Chunks of a part of a session, whether it is a file or read by the agent's own code. */
export async function* sessionChunks({ session }: Agent, path: string): AsyncGenerator<Buffer> {
  try {
    yield* session?.read?.(path) ?? chunksOf(path);
  } catch (cause) {
    throw fileError(cause, path, 'read');
  }
}

interface SessionParts {
  parts: SessionPart[];
  /** The parts that are not read, and why. */
  left_out: string[];
}

export interface SessionSource extends SessionParts {
  agent: Agent;
  /** The main file. */
  path: string;
}

/**
 * The files of the session at `path`, main file first. The others may have come with it from elsewhere: a file that
 * is a link, or behind one, could be any file of the user and is skipped. `left_out` lists the parts that are not
 * read, and why.
 */
export async function partsOf(
  { session }: Agent,
  path: string,
  memo?: Memo,
): Promise<SessionParts> {
  const failures: Error[] = [];
  const unreadable = (error: Error) => failures.push(error);
  const all = (await session?.parts(path, unreadable, memo)) ?? [{ path, parent_call_id: null }];
  const main = resolve(path);
  const parts = all.filter((part) => resolve(part.path) === main || liesBeside(part.path, main));
  const links = all.filter((part) => !parts.includes(part)).map((part) => basename(part.path));
  const left_out: string[] = [];
  if (links.length > 0)
    left_out.push(`because it is behind a link or not a regular file: ${links.join(', ')}`);
  const [first] = failures;
  if (first !== undefined) left_out.push(`because it cannot be read: ${first.message}`);
  return { parts, left_out };
}

/** All events of the session file at `path`, through `intake`, in the order in which they happened. */
export async function* sessionEvents(
  agent: Agent,
  path: string,
  intake: Intake,
  redactor: Redactor | null,
): AsyncGenerator<Event[]> {
  yield* sourceEvents({ agent, path, ...(await partsOf(agent, path)) }, intake, redactor);
}

/** The same for a session with known files. */
export async function* sourceEvents(
  { agent, path, parts, left_out }: SessionSource,
  intake: Intake,
  redactor: Redactor | null,
): AsyncGenerator<Event[]> {
  if (parts.length > 1) {
    const readers = parts.map((part) => new PartReader(agent, part, redactor));
    yield* mergedEvents(readers, intake);
  } else {
    for await (const chunk of inFlatMemory(sessionChunks(agent, path))) {
      yield intake.push('session', chunk);
    }
  }
  for (const why of left_out) {
    const detail = `left out of the session, ${why}`;
    yield intake.draft(problem('reconcile', 'bad_record', detail), null);
  }
  yield intake.endOfInput('session');
}

interface HeldLine {
  text: string;
  value: unknown;
  line: number;
  offset: number;
  terminated: boolean;
}

const heldLines = (put: (line: HeldLine) => void): LineSink => ({
  line(bytes, start, end, { line, offset, terminated }) {
    const text = bytes.toString('utf8', start, end);
    put({ text, value: jsonIn(text), line, offset, terminated });
  },
  oversize: ({ head, line, offset }) =>
    put({ text: head.toString('utf8'), value: undefined, line, offset, terminated: true }),
});

class PartReader {
  readonly part: SessionPart;
  /** Its name, without secrets, which is in each of its events. */
  readonly file: string;
  /** Time of the current line. A line without one has the time of the previous line. */
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
    this.#batches = linesIn(sessionChunks(agent, part.path), heldLines);
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

async function* mergedEvents(readers: readonly PartReader[], intake: Intake) {
  try {
    for (const reader of readers) await reader.advance();
    for (;;) {
      const reader = earliest(readers);
      if (reader?.current === undefined) return;
      yield oneLine(intake, reader, reader.current);
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

function oneLine(intake: Intake, { part, file }: PartReader, held: HeldLine): Event[] {
  const { line, offset, value } = held;
  const raw = { channel: 'session' as const, line, offset, file };
  if (typeof value === 'object' && value !== null) return intake.record(value, raw, part);
  return intake.line(held.text, raw, part, held.terminated);
}
