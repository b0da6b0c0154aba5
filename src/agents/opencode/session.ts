/**
 * Where sessions lie. The CLI keeps them in one SQLite database: there a session's path is the database's, with the
 * session's id below it. Earlier versions kept them in folders of JSON files. Files come from `opencode export` (a
 * document of one session) or are the database's rows, one a line (`db-session.jsonl`, `db-message.jsonl`,
 * `db-part.jsonl`).
 */
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { namesIn, openFile } from '../../lib/folders.ts';
import type { SessionFile, SessionFiles, SessionPart } from '../../model/agent.ts';
import { hasSession, rootSessions, sessionRows } from './database.ts';
import { isNative, momentOf } from './native.ts';
import { isStored, storedPath, storedRows, storedSessions } from './storage.ts';
import { stream } from './stream.ts';

const SESSION_ID = /^ses_[0-9a-zA-Z]{1,64}$/;
const EXPORT = /^export-ses_[0-9a-zA-Z]{1,64}\.json$/;
/** In the order in which rows of one moment belong. */
const ROWS: readonly string[] = ['db-session.jsonl', 'db-message.jsonl', 'db-part.jsonl'];
/** An export begins with its session's info, some hundred bytes. */
const HEAD_BYTES = 16 * 1024;

function dataOf(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_DATA_HOME || join(env.HOME || homedir(), '.local', 'share'), 'opencode');
}

function databaseOf(env: NodeJS.ProcessEnv): string {
  const name = env.OPENCODE_DB || 'opencode.db';
  return isAbsolute(name) ? name : join(dataOf(env), name);
}

function storageOf(env: NodeJS.ProcessEnv): string {
  return join(dataOf(env), 'storage');
}

/** The session that started this export's session; null for the root agent's. */
async function parentIn(path: string): Promise<string | null> {
  const file = await openFile(path);
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const [info = ''] = buffer.toString('utf8', 0, bytesRead).split('"messages":');
    return /"parentID": ?"(ses_[0-9a-zA-Z]+)"/.exec(info)?.[1] ?? null;
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/**
 * The exports of one run: the root agent's session first, then those that it started, directly or not, then rows beside
 * them, which tell of sub-agents that nobody exported.
 */
async function family(path: string): Promise<SessionPart[]> {
  const folder = dirname(path);
  const fileOf = (session_id: string) => `export-${session_id}.json`;
  const parents = new Map<string, string | null>();
  for (const name of await namesIn(folder)) {
    if (!EXPORT.test(name)) continue;
    const parent = await parentIn(join(folder, name));
    parents.set(name, parent === null ? null : fileOf(parent));
  }
  const rootOf = (name: string): string => {
    let root = name;
    for (let n = parents.size; n > 0; n--) {
      const parent = parents.get(root);
      if (parent == null || !parents.has(parent)) break;
      root = parent;
    }
    return root;
  };
  const root = rootOf(basename(path));
  const others = [...parents.keys()].filter((name) => name !== root && rootOf(name) === root);
  return partsIn(folder, [root, ...others, ...(await rowsIn(folder))]);
}

function partsIn(folder: string, names: readonly string[]): SessionPart[] {
  return names.map((name) => ({ path: join(folder, name), parent_call_id: null }));
}

async function rowsIn(folder: string): Promise<string[]> {
  const names = await namesIn(folder);
  return ROWS.filter((name) => names.includes(name));
}

/** A database is no session: says why it cannot be read, or how its sessions can. */
// biome-ignore lint/correctness/useYield: it has nothing to give.
function* allSessions(database: string): Generator<Buffer> {
  const count = rootSessions(database).length;
  throw new Error(`it holds ${count} sessions: name one by its id, or take all of them`);
}

/** Root sessions of the database, then those that were never moved into it. */
async function* kept(env: NodeJS.ProcessEnv): AsyncGenerator<SessionFile> {
  const database = databaseOf(env);
  const found = await stat(database).catch(() => null);
  const moved = new Set<string>();
  if (found?.isFile() && found.size > 0) {
    try {
      for (const { session_id, modified_ms } of rootSessions(database)) {
        moved.add(session_id);
        yield { path: join(database, session_id), session_id, modified_ms };
      }
    } catch {
      // Whoever reads it as it is finds that it cannot be read, and says so.
      yield { path: database, session_id: '', modified_ms: Math.floor(found.mtimeMs) };
    }
  }
  for (const file of storedSessions(storageOf(env))) if (!moved.has(file.session_id)) yield file;
}

export const session: SessionFiles = {
  async find({ session_id, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    const database = databaseOf(env);
    const found = await stat(database).catch(() => null);
    if (found?.isFile() && hasSession(database, session_id)) return join(database, session_id);
    return storedPath(storageOf(env), session_id);
  },

  list: ({ env }) => kept(env),

  async parts(path) {
    const name = basename(path);
    if (EXPORT.test(name)) return family(path);
    if (!ROWS.includes(name)) return [{ path, parent_call_id: null }];
    const folder = dirname(path);
    return partsIn(folder, await rowsIn(folder));
  },

  read(path) {
    const name = basename(path);
    if (SESSION_ID.test(name)) return sessionRows(dirname(path), name);
    if (name.endsWith('.db')) return allSessions(path);
    return isStored(path) ? storedRows(path) : null;
  },

  timeOf(value) {
    return isNative(value) ? (momentOf(value.time_created) ?? null) : null;
  },

  decoder: stream,
};
