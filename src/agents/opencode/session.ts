/**
 * Where sessions are. The CLI keeps them in one SQLite database: there a session's path is the database's, with the
 * session's id below it. Earlier versions kept them in folders of JSON files. Files come from `opencode export` (a
 * document of one session) or are the database's rows, one per line (`db-session.jsonl`, `db-message.jsonl`,
 * `db-part.jsonl`).
 */
import { stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { isFile, namesIn, openFile } from '../../lib/folders.ts';
import type { SessionFile, SessionFiles, SessionPart } from '../../model/agent.ts';
import { isNative, momentOf } from '../kit/native.ts';
import { homeOf } from '../kit/sessions.ts';
import { hasSession, rootSessions, sessionRows } from './database.ts';
import { isStored, storedPath, storedRows, storedSessions } from './storage.ts';
import { records } from './stream.ts';

const SESSION_ID = /^ses_[0-9a-zA-Z]{1,64}$/;
const EXPORT = /^export-ses_[0-9a-zA-Z]{1,64}\.json$/;
/** In the order in which rows of one moment belong. */
const ROWS: readonly string[] = ['db-session.jsonl', 'db-message.jsonl', 'db-part.jsonl'];
/** An export begins with its session's info, some hundred bytes. */
const HEAD_BYTES = 16 * 1024;

function placesOf(env: NodeJS.ProcessEnv): { database: string; storage: string } {
  const data = env.XDG_DATA_HOME || join(homeOf(env), '.local', 'share');
  const name = env.OPENCODE_DB || 'opencode.db';
  const folder = join(data, 'opencode');
  const database = isAbsolute(name) ? name : join(folder, name);
  return { database, storage: join(folder, 'storage') };
}

/** The export of the session that started this export's session; null for the root agent's. */
async function parentOf(path: string): Promise<string | null> {
  const file = await openFile(path);
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const [info = ''] = buffer.toString('utf8', 0, bytesRead).split('"messages":');
    const id = /"parentID": ?"(ses_[0-9a-zA-Z]+)"/.exec(info)?.[1];
    return id === undefined ? null : `export-${id}.json`;
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/** The exports of one run: the root agent's session first, then those that it started, directly or not. */
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

/** A database is no session: says why it cannot be read, or how its sessions can. */
// biome-ignore lint/correctness/useYield: it has nothing to give.
function* allSessions(database: string): Generator<Buffer> {
  const count = rootSessions(database).length;
  throw new Error(`it holds ${count} sessions: name one by its id, or take all of them`);
}

/** Root sessions of the database, then those that were never moved into it. */
async function* kept(env: NodeJS.ProcessEnv): AsyncGenerator<SessionFile> {
  const { database, storage } = placesOf(env);
  const found = await stat(database).catch(() => null);
  const moved = new Set<string>();
  if (found?.isFile() && found.size > 0) {
    try {
      for (const { session_id, modified_ms } of rootSessions(database)) {
        moved.add(session_id);
        yield { path: join(database, session_id), session_id, modified_ms };
      }
    } catch {
      // Reading it reports that it cannot be read.
      yield { path: database, session_id: '', modified_ms: Math.floor(found.mtimeMs) };
    }
  }
  for await (const file of storedSessions(storage)) if (!moved.has(file.session_id)) yield file;
}

export const session: SessionFiles = {
  async find({ session_id, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    const { database, storage } = placesOf(env);
    const moved = (await isFile(database)) && hasSession(database, session_id);
    return moved ? join(database, session_id) : storedPath(storage, session_id);
  },

  list: ({ env }) => kept(env),

  /** Rows beside exports show sub-agents that were not exported. */
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
    if (name.endsWith('.db')) return allSessions(path);
    return isStored(path) ? storedRows(path) : null;
  },

  timeOf: (value) => (isNative(value) ? (momentOf(value.time_created) ?? null) : null),

  decoder: records,
};
