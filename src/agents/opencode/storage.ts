/**
 * The folders in which versions before the database kept their sessions, one JSON file each:
 * `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`,
 * `storage/part/<message>/<part>.json`. They are read as rows, as the CLI itself moves them into its database:
 * ids come from the files' names. Not in the recordings; read in the CLI's source.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TachoError } from '../../lib/errors.ts';
import { liesBeside } from '../../lib/folders.ts';
import { LIMITS } from '../../lib/limits.ts';
import { readTextFile } from '../../lib/text-file.ts';
import type { SessionFile } from '../../model/agent.ts';
import { idOf, momentOf, nativeOf } from '../kit/native.ts';
import { pathsIn } from '../kit/sessions.ts';
import { inChunks, type Row } from './database.ts';
import type { Message, Part, SessionInfo } from './forms.ts';

const SESSION_FILE = /^(ses_[0-9a-zA-Z]{1,64})\.json$/;

/** Whether the path is that of a session in such folders. */
export function isStored(path: string): boolean {
  return SESSION_FILE.test(basename(path)) && basename(dirname(dirname(path))) === 'session';
}

/** Null where there is none, or it is no JSON. Throws where it is over the limit, or behind a link: that may be any file of the user. */
function fileBeside<F>(path: string, main: string): F | null {
  if (!existsSync(path)) return null;
  if (path !== main && !liesBeside(path, main)) {
    const message = `${path}: a link leads to it, or it is no regular file`;
    throw new TachoError('not_a_file', message, { stage: 'read' });
  }
  const { text } = readTextFile(path, { bytes_max: LIMITS.line_bytes_max, stage: 'read' });
  try {
    return nativeOf(JSON.parse(text)) as F | null;
  } catch {
    return null;
  }
}

function sessionPaths(storage: string) {
  return pathsIn(join(storage, 'session'), [/./, SESSION_FILE]);
}

/** Sessions that no other session started. */
export async function* storedSessions(storage: string): AsyncGenerator<SessionFile> {
  for await (const { path, id } of sessionPaths(storage)) {
    const info = infoIn(path);
    if (info === null || idOf(info.parentID) !== null) continue;
    const { created, updated } = nativeOf(info.time) ?? {};
    const modified_ms = momentOf(updated) ?? momentOf(created) ?? 0;
    yield { path, session_id: id ?? '', modified_ms };
  }
}

function infoIn(path: string): SessionInfo | null {
  try {
    return fileBeside(path, path);
  } catch {
    return null;
  }
}

export async function storedPath(storage: string, session_id: string): Promise<string | null> {
  for await (const { path, id } of sessionPaths(storage)) {
    if (id === session_id) return path;
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
    const info = fileBeside<SessionInfo>(join(folder, `${id}.json`), path);
    if (info === null) continue;
    yield { ...info, id, parent_id: info.parentID ?? null, time_created: createdIn(info) };
    for (const [message_id, data] of filesIn<Message>(join(storage, 'message', id), path)) {
      const row = { session_id: id, time_created: createdIn(data) };
      yield { id: message_id, ...row, data };
      for (const [part_id, part] of filesIn<Part>(join(storage, 'part', message_id), path)) {
        const child = idOf(nativeOf(nativeOf(part.state)?.metadata)?.sessionId);
        if (child !== null && SESSION_FILE.test(`${child}.json`)) ids.add(child);
        yield { id: part_id, message_id, ...row, data: part };
      }
    }
  }
}

/** The files of a folder by the ids in their names, which sort by time. */
function* filesIn<F>(folder: string, main: string): Generator<[id: string, file: F]> {
  for (const name of namesIn(folder)) {
    const file = fileBeside<F>(join(folder, name), main);
    if (file !== null) yield [basename(name, '.json'), file];
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function createdIn(info: Message | SessionInfo): number | null {
  return momentOf(nativeOf(info.time)?.created) ?? null;
}
