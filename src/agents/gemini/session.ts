/**
 * Session files: `<home>/.gemini/tmp/<project>/chats/session-<time>-<id8>.jsonl`, sub-agents in a folder named after
 * the session. The file is a log of messages and patches. A message is appended again, whole, whenever something is
 * added to it. `$set.messages` replaces the model's context (a resumed, compressed or rolled back session): it
 * repeats messages and never reports events. A file name holds only the beginning of the session id. There is no end
 * record: the end is inferred from the last messages.
 */
import { basename, dirname, isAbsolute, join } from 'node:path';
import { Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { isCompressed } from '../../lib/compressed.ts';
import { openFile } from '../../lib/folders.ts';
import { createLines } from '../../lib/lines.ts';
import { memoised } from '../../lib/memoised.ts';
import { newestFirst } from '../../lib/newest.ts';
import type { Memo, SessionFiles, SessionPart, Unreadable } from '../../model/agent.ts';
import { decoder } from '../kit/decoder.ts';
import { idOf, listOf, momentOf, nativeOf, type Open, parsedOf, textOf } from '../kit/native.ts';
import { headOf, homeOf, pathsIn } from '../kit/sessions.ts';
import type { Session } from './generated/native.ts';
import { retention } from './retention.ts';
import { SessionRun } from './session-run.ts';

const SESSION_ID = /^[0-9a-zA-Z_-]{8,128}$/;
const SUB_AGENT = /^([0-9a-zA-Z_-]{1,128})\.jsonl$/;
/** The first line holds only ids and times. */
const HEADER_BYTES = 64 * 1024;
const PATH_BYTES_MAX = 4096;
const AGENT_ID = Buffer.from('"agentId"');
const USER = Buffer.from('"type":"user"');

function headerOf(path: string, unreadable?: Unreadable): Open | null {
  const [header = ''] = headOf(path, HEADER_BYTES, unreadable).split('\n', 1);
  return parsedOf(header);
}

/** When the agent of a file began. Now, if its first line is not complete. */
const beginningOf = (path: string) => timeOf(headerOf(path) ?? {}) ?? Number.POSITIVE_INFINITY;

/** The whole session id in a file; null if it cannot be read. */
async function sessionIdIn(path: string, unreadable?: Unreadable): Promise<string | null> {
  const id = idOf(headerOf(path, unreadable)?.sessionId);
  return id !== null && SESSION_ID.test(id) ? id : null;
}

interface AgentCalls {
  /** Sub-agents and the calls that started them. A call names its sub-agent once it has ended. */
  calls: Map<string, string>;
  /** When the last user message was written: the calls before it are all known. */
  settled_ms: number;
  /** The size of the file, as far as it was read. */
  bytes: number;
}

async function agentCalls(path: string): Promise<AgentCalls> {
  const calls = new Map<string, string>();
  let [settled_ms, bytes] = [0, 0];
  const lines = createLines({
    line(bytes, start, end) {
      const line = bytes.subarray(start, end);
      if (!line.includes(USER) && !line.includes(AGENT_ID)) return;
      const message: Session['gemini'] | null = parsedOf(line.toString('utf8'));
      if (message?.type === 'user') settled_ms = Math.max(settled_ms, timeOf(message) ?? 0);
      for (const item of listOf(message?.toolCalls)) {
        const call_item = nativeOf(item);
        const agent = idOf(call_item?.agentId);
        const call = idOf(call_item?.id);
        if (agent !== null && call !== null) calls.set(agent, call);
      }
    },
    oversize() {},
  });
  const file = await openFile(path);
  try {
    const stored = file?.createReadStream() ?? Readable.from([]);
    const text = isCompressed(path) ? stored.pipe(createZstdDecompress()) : stored;
    for await (const chunk of text as AsyncIterable<Buffer>) {
      lines.push(chunk);
      bytes += chunk.length;
    }
    lines.end();
  } catch {
    // Sub-agents of an unreadable file have no parents.
  }
  return { calls, settled_ms, bytes };
}

/** Sub-agents of the session in `path`, and their sub-agents. Their files are under `chats`. */
async function subAgents(
  chats: string,
  path: string,
  session_id: string,
  found: SessionPart[],
): Promise<void> {
  const folder = join(chats, session_id);
  const files = await Array.fromAsync(pathsIn(folder, [SUB_AGENT]));
  if (files.length === 0) return;
  const { calls, settled_ms, bytes } = await agentCalls(path);
  for (const { path: part, id } of files) {
    if (id === null || found.some((known) => known.path === part)) continue;
    const parent_call_id = calls.get(id) ?? null;
    const open = parent_call_id === null && beginningOf(part) > settled_ms;
    found.push({ path: part, parent_call_id, ...(open && { unclaimed: { in: path, bytes } }) });
    if (id !== session_id) await subAgents(chats, part, id, found);
  }
}

const MAIN = [/./, /^chats$/, /^session-.*\.jsonl$/];

function projectsOf(env: NodeJS.ProcessEnv): string {
  return join(env.GEMINI_CLI_HOME || homeOf(env), '.gemini', 'tmp');
}

const find: SessionFiles['find'] = async ({ session_id, env, unreadable }) => {
  if (!SESSION_ID.test(session_id)) return null;
  const ending = `-${session_id.slice(0, 8)}.jsonl`;
  let latest: string | null = null;
  for await (const { path } of pathsIn(projectsOf(env), MAIN, unreadable)) {
    // The name contains the time of the session's first run, followed by the beginning of the id.
    if (!path.endsWith(ending) || (latest !== null && basename(path) < basename(latest))) continue;
    if ((await sessionIdIn(path, unreadable)) === session_id) latest = path;
  }
  return latest;
};

/** Read once for the list and for the parts. */
const knownId = (path: string, memo?: Memo) =>
  memoised(memo, `gemini ${path}`, () => sessionIdIn(path));

async function* mainFiles(env: NodeJS.ProcessEnv, memo?: Memo) {
  for await (const { path } of pathsIn(projectsOf(env), MAIN)) {
    const session_id = await knownId(path, memo);
    if (session_id !== null) yield { path, session_id };
  }
}

/** The project's folder, which is in a file of its own. Null in the folders of earlier versions. */
function projectRoot(path: string): string | null {
  const root = headOf(join(dirname(dirname(path)), '.project_root'), PATH_BYTES_MAX).trim();
  return isAbsolute(root) ? root : null;
}

function timeOf({ timestamp, startTime, $set }: Open): number | undefined {
  return momentOf(timestamp ?? startTime ?? nativeOf($set)?.lastUpdated);
}

/** Lines without a type: a patch of the file, its first line, or a rewind. */
function kindOf(record: Open): string | null {
  if (nativeOf(record.$set)) return '$set';
  if (typeof record.$rewindTo === 'string') return '$rewindTo';
  if (typeof record.sessionId === 'string') return 'session';
  return textOf(record.type) ?? Object.keys(record).find((key) => key.startsWith('$')) ?? null;
}

export const session: SessionFiles = {
  where: '~/.gemini/tmp/*/chats, or $GEMINI_CLI_HOME/.gemini/tmp/*/chats',
  find,
  retention,
  list: ({ env, memo }) => newestFirst(mainFiles(env, memo)),
  places: (env) => [{ root: projectsOf(env), names: MAIN }],
  isMain: async (path, memo) => (await knownId(path, memo)) !== null,
  async parts(path, _unreadable, memo) {
    const found: SessionPart[] = [{ path, parent_call_id: null }];
    const session_id = await knownId(path, memo);
    if (session_id !== null) await subAgents(dirname(path), path, session_id, found);
    return found;
  },
  timeOf: (value) => timeOf(nativeOf(value) ?? {}) ?? null,
  decoder: (options = {}) =>
    decoder<Session>((to) => {
      const cwd = options.path === undefined ? null : projectRoot(options.path);
      const run = new SessionRun(to, options, cwd);
      return {
        kindOf,
        before: (_record, part) => run.listen(part),
        records: {
          $set: (record) => run.patch(nativeOf(record.$set)),
          $rewindTo: () => run.rewound(),
          session: (record, part) => run.header(record, part !== undefined),
          gemini: (record) => run.message(record),
          user: (record) => run.user(record),
          error: (record) => run.notice('error', record),
          info: (record) => run.notice('info', record),
          warning: (record) => run.notice('warning', record),
        },
        end: () => run.end(),
      };
    }),
};
