/** Files of sub-agents. They are next to the files of the sessions that started them; the first line identifies them. */
import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { memoised } from '../../lib/memoised.ts';
import type { Memo, SessionPart, Unreadable } from '../../model/agent.ts';
import { type Inside, idOf, nativeOf } from '../kit/native.ts';
import { headOf, pathsIn } from '../kit/sessions.ts';
import type { Session } from './generated/native.ts';

type Meta = Inside<Session['session_meta']['payload']>;

export const ROLLOUT = /^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-zA-Z-]{1,64})\.jsonl$/;
const TIMED_CHARS = 'rollout-2026-01-01T00-00-00'.length;
const DAY = /\d{4}\/\d\d\/\d\d$/;
const DAY_MS = 86_400_000;
/** The first line also holds the instructions. The fields that are read are at its beginning. */
const HEAD_BYTES = 64 * 1024;
const META_IDS = ['id', 'session_id', 'parent_thread_id'];

/** A session file, described by its first line. */
interface Rollout {
  path: string;
  /** The time in the file's name. */
  begun: string;
  id: string | null;
  session_id: string | null;
  parent: string | null;
  main: boolean;
  /** Read errors. */
  errors: readonly Error[];
}

/** Sub-agents' files of a folder by the ids that they name, in the order of their names. */
interface Folder {
  by_parent: ReadonlyMap<string, Rollout[]>;
  by_session: ReadonlyMap<string, Rollout[]>;
  unread: readonly Rollout[];
  /** Errors from listing the folder. */
  errors: readonly Error[];
}

/** Null: the first line is not complete yet. */
function metaOf(path: string, unreadable: Unreadable): Meta | null {
  const head = headOf(path, HEAD_BYTES, unreadable);
  const [first = '', ...rest] = head.split('\n', 2);
  if (rest.length === 0 && Buffer.byteLength(head) < HEAD_BYTES) return null;
  try {
    const line: Session['session_meta'] | null = nativeOf(JSON.parse(first));
    return nativeOf(line?.payload) ?? {};
  } catch {
    // The line is longer than the part that was read.
    const named = (name: string) => {
      const id = new RegExp(`"${name}":"([\\w-]{1,64})"`).exec(head)?.[1];
      // A copy: a slice would keep the whole head in memory for the rest of the command.
      return id === undefined ? undefined : Buffer.from(id, 'latin1').toString('latin1');
    };
    const [id, session_id, parent_thread_id] = META_IDS.map(named);
    return { id, session_id, parent_thread_id };
  }
}

const begunIn = (path: string) => basename(path).slice(0, TIMED_CHARS);

/** Read once per command: every session of a home needs the files of all later ones. */
function rolloutAt(path: string, memo?: Memo): Promise<Rollout> {
  return memoised(memo, `rollout ${path}`, async () => {
    const errors: Error[] = [];
    const read = metaOf(path, (error) => errors.push(error));
    const meta = read ?? {};
    const parent = idOf(meta.parent_thread_id);
    const sub_agent = parent !== null || nativeOf(meta.source)?.subagent !== undefined;
    // Only its first line shows whether it is a sub-agent: until then it is not imported.
    const main = !sub_agent && (read !== null || errors.length > 0);
    const ids = { id: idOf(meta.id), session_id: idOf(meta.session_id), parent };
    return { path, begun: begunIn(path), ...ids, main, errors };
  });
}

/** A sub-agent's thread names its parent. A fork names only the origin of its history. */
export async function isMain(path: string, memo?: Memo): Promise<boolean> {
  return (await rolloutAt(path, memo)).main;
}

/** With a memo, all files of the folder are read, for all callers; otherwise those started at `least` or later. */
function folderAt(folder: string, least: string, memo?: Memo): Promise<Folder> {
  return memoised(memo, `rollouts ${folder}`, async () => {
    const errors: Error[] = [];
    const files: Rollout[] = [];
    for await (const { path } of pathsIn(folder, [ROLLOUT], (error) => errors.push(error)))
      if (memo !== undefined || begunIn(path) >= least) files.push(await rolloutAt(path, memo));
    const parts = files.filter(({ id, parent }) => id !== null && parent !== null);
    return {
      by_parent: Map.groupBy(parts, ({ parent }) => parent ?? ''),
      by_session: Map.groupBy(parts, ({ session_id }) => session_id ?? ''),
      unread: files.filter((file) => file.errors.length > 0),
      errors,
    };
  });
}

/** The day folders of all sessions. */
function daysBeside(folder: string, memo?: Memo) {
  return memoised(memo, `days ${dirname(dirname(dirname(folder)))}`, async () => {
    const errors: Error[] = [];
    const days = pathsIn(join(folder, '../../..'), [/./, /./, /./], (error) => errors.push(error));
    return { paths: await Array.fromAsync(days, ({ path }) => path), errors };
  });
}

/** The session's folder, and the folders of later days that the session lasted. */
async function foldersOf(path: string, unreadable?: Unreadable, memo?: Memo): Promise<string[]> {
  const folder = dirname(path);
  const dayOf = (name: string) => DAY.exec(name.replaceAll('\\', '/'))?.[0] ?? '';
  const own = dayOf(folder);
  if (own === '') return [folder];
  const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const last = new Date(changed + DAY_MS).toISOString().slice(0, 10).replaceAll('-', '/');
  const { paths, errors } = await daysBeside(folder, memo);
  for (const error of errors) unreadable?.(error);
  return [folder, ...paths.filter((day) => dayOf(day) > own && dayOf(day) <= last)];
}

export async function subAgents(
  path: string,
  unreadable?: Unreadable,
  memo?: Memo,
): Promise<SessionPart[]> {
  const { id, begun, errors } = await rolloutAt(path, memo);
  for (const error of errors) unreadable?.(error);
  if (id === null) return [];
  const folders: Folder[] = [];
  for (const folder of await foldersOf(path, unreadable, memo))
    folders.push(await folderAt(folder, begun, memo));
  const later = (file: Rollout) => file.begun >= begun && file.path !== path;
  for (const folder of folders) {
    const failed = folder.unread.filter(later).flatMap((file) => file.errors);
    for (const error of [...folder.errors, ...failed]) unreadable?.(error);
  }
  const threads = new Set([id]);
  const parts: SessionPart[] = [];
  for (const file of candidates(id, folders)) {
    if (!later(file) || file.id === null || file.id === id) continue;
    if (!threads.has(file.parent ?? '') && file.session_id !== id) continue;
    threads.add(file.id);
    parts.push({ path: file.path, parent_call_id: null });
  }
  return parts;
}

/** All possible sub-agents of the session, including nested ones: by folder, then by name. */
function candidates(id: string, folders: readonly Folder[]): Rollout[] {
  const threads = new Set([id]);
  const found = folders.map(({ by_session }) => new Set(by_session.get(id)));
  for (const file of found.flatMap((files) => [...files])) threads.add(file.id ?? '');
  for (const thread of threads)
    for (const [n, { by_parent }] of folders.entries())
      for (const file of by_parent.get(thread) ?? []) {
        found[n]?.add(file);
        threads.add(file.id ?? '');
      }
  return found.flatMap((files) => [...files].sort((a, b) => (a.path < b.path ? -1 : 1)));
}
