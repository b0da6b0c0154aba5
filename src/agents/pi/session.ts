/** Where the CLI keeps its sessions: `<agent folder>/sessions/--<work folder>--/<time>_<session>.jsonl`, one file each. */
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { newestFirst } from '../../lib/newest.ts';
import type { SessionFiles } from '../../model/agent.ts';
import { isNative, timeOf } from './native.ts';
import { sessionDecoder } from './session-records.ts';

const SESSION_ID = /^[0-9A-Za-z][0-9A-Za-z._-]{0,127}$/;

const MAIN = /^[0-9TZ-]+_([0-9A-Za-z][0-9A-Za-z._-]{0,127})\.jsonl$/;

/** A folder named by an environment variable, as the CLI reads it: `~` stands for the home folder. */
function folderOf(value: string | undefined, home: string): string | null {
  if (value === undefined || value === '') return null;
  if (value === '~') return home;
  return value.startsWith('~/') ? join(home, value.slice(2)) : resolve(value);
}

/** The newest file of the session in a folder. */
async function fileIn(folder: string, session_id: string): Promise<string | null> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const ending = `_${session_id}.jsonl`;
  const names = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  const newest = names
    .filter((name) => name.endsWith(ending))
    .sort()
    .at(-1);
  return newest === undefined ? null : join(folder, newest);
}

function sessionsOf(env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir();
  const agent = folderOf(env.PI_CODING_AGENT_DIR, home) ?? join(home, '.pi', 'agent');
  return folderOf(env.PI_CODING_AGENT_SESSION_DIR, home) ?? join(agent, 'sessions');
}

async function* mainFiles(sessions: string) {
  for (const entry of await readdir(sessions, { withFileTypes: true }).catch(() => [])) {
    const folder = entry.isDirectory() ? join(sessions, entry.name) : sessions;
    const names = entry.isDirectory() ? await readdir(folder).catch(() => []) : [entry.name];
    for (const name of names) {
      const session_id = MAIN.exec(name)?.[1];
      if (session_id !== undefined) yield { path: join(folder, name), session_id };
    }
  }
}

export const session: SessionFiles = {
  async find({ session_id, cwd, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    const sessions = sessionsOf(env);
    const name = `--${resolve(cwd)
      .replace(/^[/\\]/, '')
      .replaceAll(/[/\\:]/g, '-')}--`;
    // A folder that the user names himself holds the files without sub-folders.
    for (const folder of [join(sessions, name), sessions]) {
      const path = await fileIn(folder, session_id);
      if (path !== null) return path;
    }
    const projects = await readdir(sessions, { withFileTypes: true }).catch(() => []);
    for (const project of projects.filter((entry) => entry.isDirectory())) {
      const path = await fileIn(join(sessions, project.name), session_id);
      if (path !== null) return path;
    }
    return null;
  },

  list: ({ env }) => newestFirst(mainFiles(sessionsOf(env))),

  /** Sub-agents are processes that keep no session; what they said stands in the main file. */
  async parts(path) {
    return [{ path, parent_call_id: null }];
  },

  timeOf(value) {
    return isNative(value) ? (timeOf(value) ?? null) : null;
  },

  decoder(options = {}) {
    return sessionDecoder(options.since_ms ?? null);
  },
};
