/**
 * The folders in which versions before the database kept their sessions, a JSON file each:
 * `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`,
 * `storage/part/<message>/<part>.json`. They are told as rows, as the CLI itself moves them into its database:
 * ids come from the files' names. Not in the recordings; read in the CLI's source.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import { liesBeside } from '../../lib/folders.ts';
import { LIMITS } from '../../lib/limits.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { inChunks, type StoredSession } from './database.ts';
import { idOf, momentOf, type Native, nativeOf, parsedOf } from './native.ts';

type Row = Record<string, unknown>;

const SESSION_FILE = /^(ses_[0-9a-zA-Z]{1,64})\.json$/;

/** Whether the path is that of a session in such folders. */
export function isStored(path: string): boolean {
  return SESSION_FILE.test(basename(path)) && basename(dirname(dirname(path))) === 'session';
}

/** Ids sort by time. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** Null where there is none, or it is no JSON. Throws where it is over the limit or no regular file. */
function fileIn(path: string): Native | null {
  if (!existsSync(path)) return null;
  return parsedOf(readTextFile(path, { bytes_max: LIMITS.line_bytes_max, stage: 'read' }).text);
}

/** Throws also where a link leads to the file: it may be any file of the user. */
function fileBeside(path: string, main: string): Native | null {
  if (!existsSync(path) || path === main || liesBeside(path, main)) return fileIn(path);
  throw new TachoError('not_a_file', `${path}: a link leads to it, or it is no regular file`, {
    stage: 'read',
  });
}

function infoIn(path: string): Native | null {
  try {
    return fileIn(path);
  } catch {
    return null;
  }
}

/** Sessions that no other session started. */
export function* storedSessions(storage: string): Generator<StoredSession & { path: string }> {
  for (const project of namesIn(join(storage, 'session'))) {
    for (const name of namesIn(join(storage, 'session', project))) {
      const session_id = SESSION_FILE.exec(name)?.[1];
      if (session_id === undefined) continue;
      const path = join(storage, 'session', project, name);
      const info = infoIn(path);
      if (info === null || idOf(info.parentID) !== null) continue;
      const { created, updated } = nativeOf(info.time) ?? {};
      yield { path, session_id, modified_ms: momentOf(updated) ?? momentOf(created) ?? 0 };
    }
  }
}

export function storedPath(storage: string, session_id: string): string | null {
  const name = `${session_id}.json`;
  for (const project of namesIn(join(storage, 'session'))) {
    const folder = join(storage, 'session', project);
    if (namesIn(folder).includes(name)) return join(folder, name);
  }
  return null;
}

/** The lines of the session at `path`, then those of the sub-agents that its calls name. */
export function storedRows(path: string): Generator<Buffer> {
  return inChunks(familyRows(path));
}

function* familyRows(path: string): Generator<Row> {
  const folder = dirname(path);
  const storage = dirname(dirname(folder));
  const ids = new Set([basename(path, '.json')]);
  for (const id of ids) {
    const info = fileBeside(join(folder, `${id}.json`), path);
    if (info === null) continue;
    yield { ...info, id, parent_id: info.parentID ?? null, time_created: createdIn(info) };
    for (const row of messageRows(storage, id, path)) {
      const child = idOf(nativeOf(nativeOf(row.data.state)?.metadata)?.sessionId);
      if (child !== null && SESSION_FILE.test(`${child}.json`)) ids.add(child);
      yield row;
    }
  }
}

function* messageRows(
  storage: string,
  session_id: string,
  main: string,
): Generator<Row & { data: Native }> {
  for (const name of namesIn(join(storage, 'message', session_id))) {
    const data = fileBeside(join(storage, 'message', session_id, name), main);
    if (data === null) continue;
    const id = basename(name, '.json');
    const time_created = createdIn(data);
    yield { id, session_id, time_created, data };
    for (const part_name of namesIn(join(storage, 'part', id))) {
      const part = fileBeside(join(storage, 'part', id, part_name), main);
      if (part === null) continue;
      const part_id = basename(part_name, '.json');
      yield { id: part_id, message_id: id, session_id, time_created, data: part };
    }
  }
}

function createdIn(info: Native): number | null {
  return momentOf(nativeOf(info.time)?.created) ?? null;
}
