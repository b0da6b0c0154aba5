/** Where the CLI keeps its sessions: `<home>/session-state/<session>/events.jsonl`; sub-agents speak in the same file. */
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SessionFiles } from '../../model/agent.ts';
import { isNative, timeOf } from './native.ts';
import { Records } from './stream.ts';

const SESSION_ID = /^[0-9a-zA-Z][0-9a-zA-Z_-]{0,127}$/;

export const session: SessionFiles = {
  async find({ session_id, cwd, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    const home = env.COPILOT_HOME
      ? resolve(cwd, env.COPILOT_HOME)
      : join(env.HOME || homedir(), '.copilot');
    const folder = join(home, 'session-state');
    // Earlier versions kept one file a session.
    for (const path of [
      join(folder, session_id, 'events.jsonl'),
      join(folder, `${session_id}.jsonl`),
    ]) {
      const found = await stat(path).catch(() => null);
      if (found?.isFile()) return path;
    }
    return null;
  },

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
