/**
 * Whether a file still has the bytes that were read from it. Contract: what was appended to a file never counts as a
 * change of it. If a file may have been rewritten, all of it is compared; usually the bytes before the place are.
 */
import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { crc32 } from 'node:zlib';
import { plainName } from '../../lib/compressed.ts';
import { errnoOf } from '../../lib/errors.ts';
import type { Agent } from '../../model/agent.ts';
import type { PartPlace } from './part-reader.ts';
import { sessionChunks } from './session-chunks.ts';
import type { SessionSource } from './session-source.ts';

/** A place in a file as it was when it was read. */
export interface KnownPlace extends PartPlace {
  /** Identifies the file. */
  file: string;
  /** Its size and times. */
  state: string;
  /** Checksum of the last bytes before the place. */
  tail: number;
}

/** Bytes before a place that are compared. */
const TAIL_BYTES = 1024;

interface FileFacts {
  file: string;
  state: string;
  size: number;
  tail: number;
}

/** Null if the file cannot be read. */
function factsOf(path: string, offset: number): FileFacts | null {
  let fd: number | null = null;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { dev, ino, size, mtimeMs, ctimeMs } = fstatSync(fd);
    const from = Math.max(0, offset - TAIL_BYTES);
    const bytes = Buffer.alloc(offset - from);
    const count = readSync(fd, bytes, 0, bytes.length, from);
    const tail = crc32(bytes.subarray(0, count));
    return { file: `${dev}:${ino}`, state: `${size} ${mtimeMs} ${ctimeMs}`, size, tail };
  } catch (error) {
    // A part that is not a file, such as a session in a database, is in a path that leads through a file.
    if (errnoOf(error) === '') throw error;
    return null;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

export function knownPlace(path: string, place: PartPlace): KnownPlace {
  const { file = '', state = '', tail = 0 } = factsOf(path, place.offset) ?? {};
  return { ...place, file, state, tail };
}

/** Whether the file has the same bytes before the place as when it was read. */
async function isUnchangedBefore(agent: Agent, path: string, place: KnownPlace): Promise<boolean> {
  const now = factsOf(path, place.offset);
  if (now !== null && now.file === place.file) {
    if (now.state === place.state) return true;
    const [size = ''] = place.state.split(' ', 1);
    if (now.size > Number(size) && now.tail === place.tail) return true;
  }
  return (await checksumOf(agent, path, place)) === place.crc;
}

/** The checksum of the bytes before a place. Null if there are fewer. */
async function checksumOf(agent: Agent, path: string, { offset }: PartPlace) {
  let crc = 0;
  let left = offset;
  for await (const chunk of sessionChunks(agent, path)) {
    const bytes = chunk.subarray(0, left);
    crc = crc32(bytes, crc);
    left -= bytes.length;
    if (left === 0) break;
  }
  return left === 0 ? crc : null;
}

/**
 * Identifies a part by its place beside the main file, whether it is compressed or not. Not the place itself, which may
 * contain a secret.
 */
export const partName = (path: string, main: string) =>
  hash('sha256', plainName(relative(dirname(main), path))).slice(0, 16);

/** Whether all files that were read before are among those of the session, with the same bytes as far as they were read. */
export async function onlyGrew(
  { agent, path: main, parts }: SessionSource,
  places: Readonly<Record<string, KnownPlace>>,
): Promise<boolean> {
  const names = Object.keys(places);
  // Rows of a database change behind the known place too, if a killed import did not store its last one.
  const changing = agent.session?.rewritten === true || agent.session?.read !== undefined;
  if (changing || names.length === 0) return false;
  for (const name of names) {
    const part = parts.find(({ path }) => partName(path, main) === name);
    const place = places[name] as KnownPlace;
    if (part === undefined || !(await isUnchangedBefore(agent, part.path, place))) return false;
  }
  return true;
}

/** Whether a file was read less far than before. */
export const readLess = (
  places: ReadonlyMap<string, PartPlace>,
  known: Readonly<Record<string, KnownPlace>>,
  main: string,
) => [...places].some(([path, { offset }]) => offset < (known[partName(path, main)]?.offset ?? 0));
