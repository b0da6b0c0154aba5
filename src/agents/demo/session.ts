/**
 * The demo's session files: `<folder>/<session id>.jsonl`, and `<folder>/<session id>/<call id>.jsonl` for each
 * sub-agent. The folder is what TACHO_DEMO_SESSIONS or `--session-dir` says; without it there are none.
 * The records are those of stdout without the deltas; a sub-agent's records do not repeat whose they are.
 */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { newestFirst } from '../../lib/newest.ts';
import type { Decoder, SessionFiles, SessionPart } from '../../model/agent.ts';
import type { Draft, DraftOf } from '../../model/draft.ts';
import { SESSIONS_VARIABLE } from './launch.ts';
import { timeOf } from './native.ts';
import { decode } from './stream.ts';

const SESSION_ID = /^[0-9A-Za-z-]{1,64}$/;
const SESSION_FILE = /^([0-9A-Za-z-]{1,64})\.jsonl$/;

export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text);
}

async function* mainFiles(folder: string | undefined) {
  if (folder === undefined || folder === '') return;
  for (const name of await readdir(folder).catch(() => [])) {
    const session_id = SESSION_FILE.exec(name)?.[1];
    if (session_id !== undefined) yield { path: join(resolve(folder), name), session_id };
  }
}

export const session: SessionFiles = {
  async find({ session_id, cwd, env }) {
    const folder = env[SESSIONS_VARIABLE];
    if (folder === undefined || folder === '' || !isSessionId(session_id)) return null;
    const path = join(resolve(cwd, folder), `${session_id}.jsonl`);
    const found = await stat(path).catch(() => null);
    return found?.isFile() ? path : null;
  },

  list: ({ env }) => newestFirst(mainFiles(env[SESSIONS_VARIABLE])),

  async parts(path) {
    const folder = path.replace(/\.jsonl$/, '');
    const names = folder === path ? [] : await readdir(folder).catch(() => []);
    const parts: SessionPart[] = [{ path, parent_call_id: null }];
    for (const name of names.sort()) {
      const call_id = SESSION_FILE.exec(name)?.[1];
      if (call_id !== undefined) parts.push({ path: join(folder, name), parent_call_id: call_id });
    }
    return parts;
  },

  timeOf,
  decoder: (options) => new SessionDecoder(options?.since_ms ?? null),
};

/** Records before `since_ms` give nothing; one without a time belongs with the record before it. */
class SessionDecoder implements Decoder {
  readonly #since_ms: number | null;
  #earlier: boolean;
  #used: DraftOf<'usage_reported'> | null = null;

  constructor(since_ms: number | null) {
    this.#since_ms = since_ms;
    this.#earlier = since_ms !== null;
  }

  record(value: unknown, out: Draft[], part?: SessionPart): void {
    const at_ms = timeOf(value);
    if (this.#since_ms !== null && at_ms !== null) this.#earlier = at_ms < this.#since_ms;
    if (this.#earlier) return;
    const before = out.length;
    decode(value, at_ms, out, part);
    const first = out[before];
    if (first?.kind !== 'usage_reported') return;
    out.length = before;
    this.#used = this.#used === null ? first : added(this.#used, first);
  }

  /** What was used is said once, as the whole: files merged by time would else be compared turn by turn. */
  end(out: Draft[]): void {
    if (this.#used === null) return;
    out.push({ ...this.#used, data: { ...this.#used.data, mode: 'total' } });
    this.#used = null;
  }
}

const sum = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);

function added(a: DraftOf<'usage_reported'>, b: DraftOf<'usage_reported'>) {
  const [x, y] = [a.data.usage, b.data.usage];
  const usage = {
    input: sum(x.input, y.input),
    output: sum(x.output, y.output),
    cache_read: sum(x.cache_read, y.cache_read),
    cache_write: sum(x.cache_write, y.cache_write),
    reasoning: sum(x.reasoning, y.reasoning),
  };
  return { ...b, data: { ...b.data, usage, cost_usd: sum(a.data.cost_usd, b.data.cost_usd) } };
}
