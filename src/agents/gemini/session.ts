/** Where the CLI keeps its sessions: `<home>/.gemini/tmp/<project>/chats/session-<time>-<id8>.jsonl`, sub-agents in a folder named after the whole id. */
import type { FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { namesIn, openFile } from '../../lib/folders.ts';
import { LIMITS } from '../../lib/limits.ts';
import { createLines } from '../../lib/lines.ts';
import { newestFirst } from '../../lib/newest.ts';
import type { SessionFiles, SessionPart } from '../../model/agent.ts';
import { idOf, isNative, listOf, momentOf, type Native, nativeOf } from './native.ts';
import { sessionDecoder } from './session-records.ts';

const SESSION_ID = /^[0-9a-zA-Z_-]{8,128}$/;
const SUB_AGENT = /^([0-9a-zA-Z_-]{1,128})\.jsonl$/;
/** The first line holds ids and times only. */
const HEADER_BYTES = 64 * 1024;
const AGENT_ID = Buffer.from('"agentId"');

/** Null where there is no file, or it cannot be read. */
async function withFile<T>(
  path: string,
  read: (file: FileHandle) => Promise<T>,
): Promise<T | null> {
  const file = await openFile(path);
  if (file === null) return null;
  try {
    return await read(file);
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

function parsed(text: string): Native | null {
  try {
    return nativeOf(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The whole id of the session in a file; null where it cannot be read. */
async function sessionIdIn(path: string): Promise<string | null> {
  return withFile(path, async (file) => {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const text = buffer.toString('utf8', 0, bytesRead);
    const id = idOf(parsed(text.split('\n', 1)[0] ?? '')?.sessionId);
    return id !== null && SESSION_ID.test(id) ? id : null;
  });
}

/** Sub-agents by the call that started them: written into the call when it has ended. */
async function agentCalls(path: string): Promise<Map<string, string>> {
  const calls = new Map<string, string>();
  const lines = createLines({
    line(bytes, start, end) {
      const line = bytes.subarray(start, end);
      if (!line.includes(AGENT_ID)) return;
      for (const item of listOf(parsed(line.toString('utf8'))?.toolCalls)) {
        const agent = isNative(item) ? idOf(item.agentId) : null;
        const call = isNative(item) ? idOf(item.id) : null;
        if (agent !== null && call !== null) calls.set(agent, call);
      }
    },
    oversize() {},
  });
  await withFile(path, async (file) => {
    const chunk = Buffer.alloc(LIMITS.read_chunk_bytes);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) break;
      lines.push(chunk.subarray(0, bytesRead));
    }
    lines.end();
  });
  return calls;
}

/** Sub-agents of the session in `path`, whose files lie under `chats`, and theirs. */
async function subAgents(
  chats: string,
  path: string,
  session_id: string,
  found: SessionPart[],
): Promise<void> {
  const folder = join(chats, session_id);
  const names = (await namesIn(folder)).filter((name) => SUB_AGENT.test(name));
  if (names.length === 0) return;
  const calls = await agentCalls(path);
  for (const name of names) {
    const part = join(folder, name);
    if (found.some((known) => known.path === part)) continue;
    const id = SUB_AGENT.exec(name)?.[1] ?? '';
    found.push({ path: part, parent_call_id: calls.get(id) ?? null });
    if (id !== session_id) await subAgents(chats, part, id, found);
  }
}

function projectsOf(env: NodeJS.ProcessEnv): string {
  return join(env.GEMINI_CLI_HOME || env.HOME || homedir(), '.gemini', 'tmp');
}

async function* mainFiles(projects: string) {
  for (const project of await namesIn(projects)) {
    const chats = join(projects, project, 'chats');
    for (const name of await namesIn(chats)) {
      if (!name.startsWith('session-') || !name.endsWith('.jsonl')) continue;
      const path = join(chats, name);
      const session_id = await sessionIdIn(path);
      if (session_id !== null) yield { path, session_id };
    }
  }
}

export const session: SessionFiles = {
  async find({ session_id, env }) {
    if (!SESSION_ID.test(session_id)) return null;
    const projects = projectsOf(env);
    const ending = `-${session_id.slice(0, 8)}.jsonl`;
    let latest: string | null = null;
    for (const project of await namesIn(projects)) {
      const chats = join(projects, project, 'chats');
      for (const name of await namesIn(chats)) {
        if (!name.startsWith('session-') || !name.endsWith(ending)) continue;
        // The name holds the id's beginning only, and the time of its first run before it.
        if (latest !== null && name < basename(latest)) continue;
        const path = join(chats, name);
        if ((await sessionIdIn(path)) === session_id) latest = path;
      }
    }
    return latest;
  },

  list: ({ env }) => newestFirst(mainFiles(projectsOf(env))),

  async parts(path) {
    const parts: SessionPart[] = [{ path, parent_call_id: null }];
    const session_id = await sessionIdIn(path);
    if (session_id !== null) await subAgents(dirname(path), path, session_id, parts);
    return parts;
  },

  timeOf(value) {
    if (!isNative(value)) return null;
    const stamp = value.timestamp ?? value.startTime ?? nativeOf(value.$set)?.lastUpdated;
    return momentOf(stamp) ?? null;
  },

  decoder(options = {}) {
    return sessionDecoder(options);
  },
};
