/**
 * Where sessions lie. The CLI keeps them in one SQLite database; files come from `opencode export` (a document of one
 * session) or are the database's rows, one a line (`db-session.jsonl`, `db-message.jsonl`, `db-part.jsonl`).
 */
import { open, readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { SessionFiles, SessionPart } from '../../model/agent.ts';
import { dumpSession } from './database.ts';
import { isNative, msOf } from './native.ts';
import { recordsSince } from './stream.ts';

const SESSION_ID = /^ses_[0-9a-zA-Z]{1,64}$/;
const EXPORT = /^export-ses_[0-9a-zA-Z]{1,64}\.json$/;
/** In the order in which rows of one moment belong. */
const ROWS: readonly string[] = ['db-session.jsonl', 'db-message.jsonl', 'db-part.jsonl'];
/** An export begins with its session's info, some hundred bytes. */
const HEAD_BYTES = 16 * 1024;

function databaseOf(env: NodeJS.ProcessEnv): string {
  const data = env.XDG_DATA_HOME || join(env.HOME || homedir(), '.local', 'share');
  const name = env.OPENCODE_DB || 'opencode.db';
  return isAbsolute(name) ? name : join(data, 'opencode', name);
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = await readdir(folder).catch(() => []);
  return names.sort();
}

/** The session that started this export's session; null for the root agent's. */
async function parentIn(path: string): Promise<string | null> {
  const file = await open(path).catch(() => null);
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

export const session: SessionFiles = {
  async find({ session_id, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    const database = databaseOf(env);
    const found = await stat(database).catch(() => null);
    return found?.isFile() ? dumpSession(database, session_id) : null;
  },

  async parts(path) {
    const name = basename(path);
    if (EXPORT.test(name)) return family(path);
    if (!ROWS.includes(name)) return [{ path, parent_call_id: null }];
    const folder = dirname(path);
    return partsIn(folder, await rowsIn(folder));
  },

  timeOf(value) {
    return isNative(value) ? (msOf(value.time_created) ?? null) : null;
  },

  decoder(options = {}) {
    return recordsSince(options.since_ms ?? null);
  },
};
