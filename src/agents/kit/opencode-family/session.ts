/**
 * Location of sessions. The CLI keeps them in one SQLite database; the path of a session is then the database's path
 * with the session's id below it. Earlier versions kept JSON files in folders: `session/<project>/<session>.json`,
 * `message/<session>/<message>.json`, `part/<message>/<part>.json`. These are read as rows, as the CLI itself migrates
 * them to its database (seen in its source, not recorded): ids come from the file names. Other files come from
 * `opencode export`, or are the database's rows, one per line.
 */
import { existsSync, readdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { TachoError } from '../../../lib/errors.ts';
import { isFile, liesBeside, namesIn } from '../../../lib/folders.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { readTextFile } from '../../../lib/text-file.ts';
import type {
  SessionFile,
  SessionFiles,
  SessionPart,
  ToolTable,
  Unreadable,
} from '../../../model/agent.ts';
import { idOf, isNative, momentOf, nativeOf } from '../native.ts';
import { headOf, homeOf, pathsIn } from '../sessions.ts';
import { busy, hasSession, inChunks, type Row, rootSessions, sessionRows } from './database.ts';
import { type Message, type Part, rowTime, type SessionInfo } from './native.ts';
import { records } from './stream.ts';
import { toolNamesIn } from './tools.ts';

const SESSION_ID = /^ses_[0-9a-zA-Z]{1,64}$/;
const SESSION_FILE = /^(ses_[0-9a-zA-Z]{1,64})\.json$/;
const EXPORT = /^export-ses_[0-9a-zA-Z]{1,64}\.json$/;
/** In the order for rows of the same time. */
const ROWS: readonly string[] = ['db-session.jsonl', 'db-message.jsonl', 'db-part.jsonl'];
/** An export begins with its session's info, a few hundred bytes. */
const HEAD_BYTES = 16 * 1024;

/** A CLI of the family. */
interface Variant {
  /** Its name in paths: `<name>/<name>.db`. */
  readonly name: string;
  /** The variable with the path of its database. */
  readonly variable: string;
  readonly tools: ToolTable;
}

function placesOf(variant: Variant, env: NodeJS.ProcessEnv): { database: string; storage: string } {
  const data = env.XDG_DATA_HOME || join(homeOf(env), '.local', 'share');
  const name = env[variant.variable] || `${variant.name}.db`;
  const folder = join(data, variant.name);
  const database = isAbsolute(name) ? name : join(folder, name);
  return { database, storage: join(folder, 'storage') };
}

/** The export of the session that started this export's session; null for the root agent. */
async function parentOf(path: string): Promise<string | null> {
  const [info = ''] = headOf(path, HEAD_BYTES).split('"messages":');
  const id = /"parentID": ?"(ses_[0-9a-zA-Z]+)"/.exec(info)?.[1];
  return id === undefined ? null : `export-${id}.json`;
}

/** The exports of one run: the root agent's session first, then the sessions that it started, directly or not. */
async function exportsBeside(path: string, names: readonly string[]): Promise<string[]> {
  const parents = new Map<string, string | null>();
  for (const name of names) {
    if (EXPORT.test(name)) parents.set(name, await parentOf(join(dirname(path), name)));
  }
  const rootOf = (name: string, steps = parents.size): string => {
    const parent = parents.get(name) ?? '';
    return steps > 0 && parents.has(parent) ? rootOf(parent, steps - 1) : name;
  };
  const root = rootOf(basename(path));
  return [root, ...[...parents.keys()].filter((name) => name !== root && rootOf(name) === root)];
}

/** Root sessions of the database, then sessions that were never migrated to it. */
async function* kept(variant: Variant, env: NodeJS.ProcessEnv): AsyncGenerator<SessionFile> {
  const { database, storage } = placesOf(variant, env);
  const found = await stat(database).catch(() => null);
  const moved = new Set<string>();
  if (found?.isFile() && found.size > 0) {
    try {
      for (const { session_id, modified_ms } of rootSessions(database)) {
        moved.add(session_id);
        yield { path: join(database, session_id), session_id, modified_ms };
      }
    } catch {
      // The error is reported when the database is read.
      yield { path: database, session_id: '', modified_ms: Math.floor(found.mtimeMs) };
    }
  }
  for await (const file of storedSessions(storage)) if (!moved.has(file.session_id)) yield file;
}

export function sessionsOf(variant: Variant): SessionFiles {
  const { name, variable, tools } = variant;
  const namesOf = toolNamesIn(tools);
  return {
    where: `~/.local/share/${name} or $XDG_DATA_HOME/${name}, $${variable}`,
    async find({ session_id, env, unreadable }) {
      if (!SESSION_ID.test(session_id)) return null;
      const { database, storage } = placesOf(variant, env);
      const kept = await isFile(database, unreadable);
      if (kept && hasSession(database, session_id, unreadable)) return join(database, session_id);
      for await (const { path, id } of storedPaths(storage, unreadable)) {
        if (id === session_id) return path;
      }
      return null;
    },

    list: ({ env }) => kept(variant, env),

    places(env) {
      const { database, storage } = placesOf(variant, env);
      return [{ database }, { root: join(storage, 'session'), names: [/./, SESSION_FILE] }];
    },

    /** Not those of sub-agents, and not those that were migrated to the database. */
    async isMain(path) {
      if (!isStored(path)) return true;
      const info = infoIn(path);
      if (info === null || idOf(info.parentID) !== null) return false;
      const database = join(dirname(dirname(dirname(dirname(path)))), `${name}.db`);
      return !(await isFile(database)) || !hasSession(database, basename(path, '.json'));
    },

    /** Rows next to exports show sub-agents that were not exported. */
    async parts(path): Promise<SessionPart[]> {
      const folder = dirname(path);
      const exported = EXPORT.test(basename(path));
      if (!exported && !ROWS.includes(basename(path))) return [{ path, parent_call_id: null }];
      const names = await namesIn(folder);
      const rows = ROWS.filter((name) => names.includes(name));
      const all = exported ? [...(await exportsBeside(path, names)), ...rows] : rows;
      return all.map((name) => ({ path: join(folder, name), parent_call_id: null }));
    },

    read(path) {
      const name = basename(path);
      if (SESSION_ID.test(name)) return sessionRows(dirname(path), name);
      if (!name.endsWith('.db')) return isStored(path) ? inChunks(storedRows(path)) : null;
      const count = rootSessions(path).length;
      // If it was locked when its sessions were listed, they can be listed now.
      throw busy(`the database has ${count} sessions: name one by its id, or use all of them`);
    },

    timeOf: (value) => (isNative(value) ? (rowTime(value) ?? null) : null),

    decoder: (options) => records(namesOf, options),
  };
}

/** Whether the path is that of a session in folders of JSON files. */
function isStored(path: string): boolean {
  return SESSION_FILE.test(basename(path)) && basename(dirname(dirname(path))) === 'session';
}

/**
 * Null if the file is missing or is not JSON. Throws if it is over the limit, or behind a link, which could point to
 * any file of the user.
 */
function fileBeside<F>(path: string, main: string): F | null {
  if (!existsSync(path)) return null;
  if (path !== main && !liesBeside(path, main)) {
    const message = `${path}: is behind a symbolic link or is not a regular file`;
    throw new TachoError('not_a_file', message, { stage: 'read' });
  }
  const { text } = readTextFile(path, { bytes_max: LIMITS.line_bytes_max, stage: 'read' });
  try {
    return nativeOf(JSON.parse(text)) as F | null;
  } catch {
    return null;
  }
}

function storedPaths(storage: string, unreadable?: Unreadable) {
  return pathsIn(join(storage, 'session'), [/./, SESSION_FILE], unreadable);
}

/** Sessions that no other session started. */
async function* storedSessions(storage: string): AsyncGenerator<SessionFile> {
  for await (const { path, id } of storedPaths(storage)) {
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

/** The rows of the session at `path`, then the rows of the sub-agents that its calls name. */
function* storedRows(path: string): Generator<Row> {
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
        if (child !== null && SESSION_ID.test(child)) ids.add(child);
        yield { id: part_id, message_id, ...row, data: part };
      }
    }
  }
}

/** The files of a folder by the ids in their names, which sort by time. */
function* filesIn<F>(folder: string, main: string): Generator<[id: string, file: F]> {
  let names: string[] = [];
  try {
    names = readdirSync(folder).sort();
  } catch {
    // A message without parts has no folder.
  }
  for (const name of names) {
    const file = fileBeside<F>(join(folder, name), main);
    if (file !== null) yield [basename(name, '.json'), file];
  }
}

function createdIn(info: Message | SessionInfo): number | null {
  return momentOf(nativeOf(info.time)?.created) ?? null;
}
