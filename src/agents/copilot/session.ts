/** Where the CLI keeps its sessions: `<home>/session-state/<session>/events.jsonl`; sub-agents speak in the same file. */
import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { newestFirst } from '../../lib/newest.ts';
import type { SessionFiles } from '../../model/agent.ts';
import { isNative, timeOf } from './native.ts';
import { Records } from './stream.ts';

const SESSION_ID = /^[0-9a-zA-Z][0-9a-zA-Z_-]{0,127}$/;

function folderOf(env: NodeJS.ProcessEnv, cwd: string): string {
  const home = env.COPILOT_HOME
    ? resolve(cwd, env.COPILOT_HOME)
    : join(env.HOME || homedir(), '.copilot');
  return join(home, 'session-state');
}

/** Earlier versions kept one file a session. */
function pathsOf(folder: string, session_id: string): string[] {
  return [join(folder, session_id, 'events.jsonl'), join(folder, `${session_id}.jsonl`)];
}

async function* mainFiles(folder: string) {
  const names = await readdir(folder).catch(() => []);
  const ids = new Set(names.map((name) => name.replace(/\.jsonl$/, '')));
  for (const session_id of ids) {
    if (!SESSION_ID.test(session_id)) continue;
    for (const path of pathsOf(folder, session_id)) yield { path, session_id };
  }
}

export const session: SessionFiles = {
  async find({ session_id, cwd, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    for (const path of pathsOf(folderOf(env, cwd), session_id)) {
      const found = await stat(path).catch(() => null);
      if (found?.isFile()) return path;
    }
    return null;
  },

  list: ({ env }) => newestFirst(mainFiles(folderOf(env, process.cwd()))),

  async parts(path) {
    return [{ path, parent_call_id: null }];
  },

  timeOf(value) {
    return isNative(value) ? (timeOf(value) ?? null) : null;
  },

  decoder(options = {}) {
    return new Records(options.since_ms ?? null);
  },
};
