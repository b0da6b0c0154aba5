/** Files of sub-agents: beside those of the sessions that started them, known by their first line. */
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { SessionPart, Unreadable } from '../../model/agent.ts';
import { type Inside, idOf, nativeOf } from '../kit/native.ts';
import { headOf, pathsIn } from '../kit/sessions.ts';
import type { Session } from './generated/native.ts';

type Meta = Inside<Session['session_meta']['payload']>;

export const ROLLOUT = /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-zA-Z-]{1,64})\.jsonl$/;
const TIMED_CHARS = 'rollout-2026-01-01T00-00-00'.length;
const DAY = /\d{4}\/\d\d\/\d\d$/;
const DAY_MS = 86_400_000;
/** The first line holds the instructions too; what is read of it is at its beginning. */
const HEAD_BYTES = 64 * 1024;
const META_IDS = ['id', 'session_id', 'parent_thread_id'];

async function metaOf(path: string, unreadable?: Unreadable): Promise<Meta> {
  const head = await headOf(path, HEAD_BYTES, unreadable);
  try {
    const line: Session['session_meta'] | null = nativeOf(JSON.parse(head.split('\n', 1)[0] ?? ''));
    return nativeOf(line?.payload) ?? {};
  } catch {
    // The line is longer than what was read of it.
    const named = (name: string) => new RegExp(`"${name}":"([\\w-]{1,64})"`).exec(head)?.[1];
    const [id, session_id, parent_thread_id] = META_IDS.map(named);
    return { id, session_id, parent_thread_id };
  }
}

/** A sub-agent's thread names its parent; a fork names only where its history comes from. */
export async function isMain(path: string): Promise<boolean> {
  const { parent_thread_id, source } = await metaOf(path);
  return idOf(parent_thread_id) === null && nativeOf(source)?.subagent === undefined;
}

/** Files begun no earlier than the session's own, in its folder and those of the days it lasted. */
async function* laterFiles(path: string, unreadable?: Unreadable): AsyncGenerator<string> {
  const folder = dirname(path);
  const dayOf = (name: string) => DAY.exec(name.replaceAll('\\', '/'))?.[0] ?? '';
  const begun = (name: string) => basename(name).slice(0, TIMED_CHARS);
  const changed = (await stat(path).catch(() => null))?.mtimeMs ?? 0;
  const last = new Date(changed + DAY_MS).toISOString().slice(0, 10).replaceAll('-', '/');
  const own = dayOf(folder);
  const folders = [folder];
  const days = own === '' ? [] : pathsIn(join(folder, '../../..'), [/./, /./, /./], unreadable);
  for await (const { path: day } of days) {
    if (dayOf(day) > own && dayOf(day) <= last) folders.push(day);
  }
  for (const each of folders) {
    for await (const { path: other } of pathsIn(each, [ROLLOUT], unreadable)) {
      if (begun(other) >= begun(path) && other !== path) yield other;
    }
  }
}

export async function subAgents(path: string, unreadable?: Unreadable): Promise<SessionPart[]> {
  const parts: SessionPart[] = [];
  const id = idOf((await metaOf(path, unreadable)).id);
  if (id === null) return parts;
  const threads = new Set([id]);
  for await (const other of laterFiles(path, unreadable)) {
    const meta = await metaOf(other, unreadable);
    const [thread, parent] = [idOf(meta.id), idOf(meta.parent_thread_id)];
    if (thread === null || thread === id || parent === null) continue;
    if (!threads.has(parent) && idOf(meta.session_id) !== id) continue;
    threads.add(thread);
    parts.push({ path: other, parent_call_id: null });
  }
  return parts;
}
