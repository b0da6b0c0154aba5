/** Where the CLI keeps its sessions: `<config>/projects/<work folder>/<session>.jsonl`, sub-agents in a folder of that name. */
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isFile, namesIn } from '../../lib/folders.ts';
import { LIMITS } from '../../lib/limits.ts';
import { newestFirst } from '../../lib/newest.ts';
import { readTextFile } from '../../lib/text-file.ts';
import type { SessionFiles, SessionPart } from '../../model/agent.ts';
import { idOf, isNative, timeOf } from './native.ts';
import { sessionDecoder } from './session-records.ts';

const SESSION_ID = /^[0-9a-zA-Z-]{1,64}$/;
const MAIN = /^([0-9a-zA-Z-]{1,64})\.jsonl$/;
const SUB_AGENT = /^agent-[0-9a-zA-Z_-]{1,128}\.jsonl$/;

/** The call that started a sub-agent stands in a small file beside the sub-agent's own. */
function parentOf(path: string): string | null {
  const meta_path = path.replace(/\.jsonl$/, '.meta.json');
  try {
    const limits = { bytes_max: LIMITS.session_meta_bytes_max, stage: 'read' };
    const meta: unknown = JSON.parse(readTextFile(meta_path, limits).text);
    return isNative(meta) ? idOf(meta.toolUseId) : null;
  } catch {
    return null;
  }
}

function projectsOf(env: NodeJS.ProcessEnv): string {
  return join(env.CLAUDE_CONFIG_DIR || join(env.HOME || homedir(), '.claude'), 'projects');
}

async function* mainFiles(projects: string) {
  for (const project of await namesIn(projects)) {
    for (const name of await namesIn(join(projects, project))) {
      const session_id = MAIN.exec(name)?.[1];
      // Earlier versions put sub-agents' files beside the main ones.
      if (session_id === undefined || SUB_AGENT.test(name)) continue;
      yield { path: join(projects, project, name), session_id };
    }
  }
}

export const session: SessionFiles = {
  async find({ session_id, cwd, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    const projects = projectsOf(env);
    const name = `${session_id}.jsonl`;
    const likely = join(projects, cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'), name);
    if (await isFile(likely)) return likely;
    // The folder is named after the real path, and long names are cut.
    for (const project of await namesIn(projects)) {
      const path = join(projects, project, name);
      if (await isFile(path)) return path;
    }
    return null;
  },

  list: ({ env }) => newestFirst(mainFiles(projectsOf(env))),

  async parts(path) {
    const parts: SessionPart[] = [{ path, parent_call_id: null }];
    const folder = join(dirname(path), basename(path, '.jsonl'), 'subagents');
    for (const name of await namesIn(folder)) {
      if (!SUB_AGENT.test(name)) continue;
      const sub = join(folder, name);
      parts.push({ path: sub, parent_call_id: parentOf(sub) });
    }
    return parts;
  },

  timeOf(value) {
    return isNative(value) ? (timeOf(value) ?? null) : null;
  },

  decoder(options = {}) {
    return sessionDecoder(options.since_ms ?? null);
  },
};
