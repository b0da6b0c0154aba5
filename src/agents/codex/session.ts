/** Where the CLI keeps its sessions: `<home>/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, sub-agents beside, in files of their own. */
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { namesIn, openFile } from '../../lib/folders.ts';
import { newestFirst } from '../../lib/newest.ts';
import type { SessionFiles, SessionPart } from '../../model/agent.ts';
import { idOf, isNative, jsonOf, type Native, nativeOf, timeOf } from './native.ts';
import { keyOf } from './pairs.ts';
import { sessionDecoder } from './session-records.ts';

const SESSION_ID = /^[0-9a-zA-Z-]{1,64}$/;
const ROLLOUT = /^rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-([0-9a-zA-Z-]{1,64})\.jsonl$/;
const DAY_MS = 86_400_000;
/** The first line holds the instructions too; the names at its beginning are enough when it is longer. */
const HEAD_BYTES = 64 * 1024;

/** Folders of days, the newest first: a session that is asked for is mostly a new one. */
async function* daysOf(sessions: string): AsyncGenerator<string> {
  for (const year of (await namesIn(sessions)).reverse()) {
    for (const month of (await namesIn(join(sessions, year))).reverse()) {
      for (const day of (await namesIn(join(sessions, year, month))).reverse()) {
        yield join(sessions, year, month, day);
      }
    }
  }
}

/** All folders that hold sessions; those put away lie together, whatever their day. */
async function* foldersOf(sessions: string): AsyncGenerator<string> {
  yield* daysOf(sessions);
  yield join(dirname(sessions), 'archived_sessions');
}

/** What a file's first line says of its thread. */
async function metaOf(path: string): Promise<Native | null> {
  const file = await openFile(path);
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = buffer.toString('utf8', 0, bytesRead);
    const end = head.indexOf('\n');
    const line = nativeOf(jsonOf(end < 0 ? head : head.slice(0, end)));
    return line === null ? namedIn(head) : nativeOf(line.payload);
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

function namedIn(head: string): Native {
  const field = (name: string) =>
    new RegExp(`"${name}":"([0-9a-zA-Z-]{1,64})"`).exec(head)?.[1] ?? null;
  return {
    id: field('id'),
    session_id: field('session_id'),
    parent_thread_id: field('parent_thread_id'),
  };
}

/** Files begun no earlier than the session's own, in its folder and those of the days it lasted. */
async function* laterFiles(path: string): AsyncGenerator<string> {
  const folder = dirname(path);
  const begun = ROLLOUT.exec(basename(path))?.[1] ?? '';
  const changed = (await stat(path).catch(() => null))?.mtimeMs ?? 0;
  const last = new Date(changed + DAY_MS).toISOString().slice(0, 10).replaceAll('-', '/');
  const own_day = folder.replaceAll('\\', '/').slice(-10);
  const folders = [folder];
  if (/^\d{4}\/\d\d\/\d\d$/.test(own_day)) {
    for await (const other of daysOf(dirname(dirname(dirname(folder))))) {
      const day = other.replaceAll('\\', '/').slice(-10);
      if (day > own_day && day <= last) folders.splice(1, 0, other);
    }
  }
  for (const each of folders) {
    for (const name of await namesIn(each)) {
      const time = ROLLOUT.exec(name)?.[1];
      if (time !== undefined && time >= begun && join(each, name) !== path) yield join(each, name);
    }
  }
}

function sessionsOf(env: NodeJS.ProcessEnv): string {
  return join(env.CODEX_HOME || join(env.HOME || homedir(), '.codex'), 'sessions');
}

/** Files of threads that no other thread started. */
async function* mainFiles(sessions: string) {
  for await (const day of foldersOf(sessions)) {
    for (const name of await namesIn(day)) {
      const session_id = ROLLOUT.exec(name)?.[2];
      const path = join(day, name);
      if (session_id === undefined || isSubAgent(await metaOf(path))) continue;
      yield { path, session_id };
    }
  }
}

/** A sub-agent's thread names its parent; a fork names only where its history comes from. */
function isSubAgent(meta: Native | null): boolean {
  return idOf(meta?.parent_thread_id) !== null || nativeOf(meta?.source)?.subagent !== undefined;
}

export const session: SessionFiles = {
  async find({ session_id, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    const ending = `-${session_id}.jsonl`;
    for await (const day of foldersOf(sessionsOf(env))) {
      const name = (await namesIn(day)).find((one) => ROLLOUT.test(one) && one.endsWith(ending));
      if (name !== undefined) return join(day, name);
    }
    return null;
  },

  list: ({ env }) => newestFirst(mainFiles(sessionsOf(env))),

  async parts(path) {
    const parts: SessionPart[] = [{ path, parent_call_id: null }];
    const id = idOf((await metaOf(path))?.id);
    if (id === null) return parts;
    const threads = new Set([id]);
    for await (const other of laterFiles(path)) {
      const meta = await metaOf(other);
      const parent = idOf(meta?.parent_thread_id);
      const thread = idOf(meta?.id);
      if (parent === null || thread === null || thread === id) continue;
      if (!threads.has(parent) && idOf(meta?.session_id) !== id) continue;
      threads.add(thread);
      parts.push({ path: other, parent_call_id: null });
    }
    return parts;
  },

  timeOf(value) {
    return isNative(value) ? (timeOf(value) ?? null) : null;
  },

  decoder(options = {}) {
    return sessionDecoder(options);
  },

  keyOf,
};
