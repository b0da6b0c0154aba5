/**
 * Session files as a source of events: streamed, in constant memory for any size, with sub-agents' files merged by
 * time (AG-15).
 */
import { basename, resolve } from 'node:path';
import { problem } from '../../capture/decode.ts';
import type { Intake } from '../../capture/pipeline.ts';
import { liesBeside } from '../../lib/folders.ts';
import { inFlatMemory } from '../../lib/memory.ts';
import type { Agent, Memo, SessionPart } from '../../model/agent.ts';
import type { Event } from '../../model/event.ts';
import type { Redactor } from '../../redact/gate.ts';
import { BEGINNING, type HeldLine, PartReader } from './part-reader.ts';
import { sessionChunks } from './session-chunks.ts';

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
    const from = { main: mainOf(parts, path), from: BEGINNING, redactor, ended: true };
    const readers = parts.map((part) => new PartReader(agent, part, from));
    yield* mergedEvents(readers, intake);
  } else {
    for await (const chunk of inFlatMemory(sessionChunks(agent, path))) {
      yield intake.push('session', chunk);
    }
  }
  yield leftOut({ left_out }, intake);
  yield intake.endOfInput('session');
}

/** The main file. The session may be named by another of its files. */
export const mainOf = (parts: readonly SessionPart[], path: string) => parts[0]?.path ?? path;

/** A problem for each part of the session that is not read. */
export const leftOut = ({ left_out }: Pick<SessionSource, 'left_out'>, intake: Intake): Event[] =>
  left_out.flatMap((why) => {
    const detail = `left out of the session, ${why}`;
    return intake.draft(problem('reconcile', 'bad_record', detail), null);
  });

/** The events of all complete lines, in the order of their times. */
export async function* mergedEvents(readers: readonly PartReader[], intake: Intake) {
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

/** The events of a last line without an end. */
export const restOf = (intake: Intake, reader: PartReader) =>
  reader.rest === null ? [] : oneLine(intake, reader, reader.rest);

function oneLine(intake: Intake, { part, file }: PartReader, held: HeldLine): Event[] {
  const { line, offset, value } = held;
  const raw = { channel: 'session' as const, line, offset, ...(file !== undefined && { file }) };
  if (typeof value === 'object' && value !== null) return intake.record(value, raw, part);
  return intake.line(held.text, raw, part, held.terminated);
}
