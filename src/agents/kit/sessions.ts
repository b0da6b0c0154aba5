/** Session files in folders: found by id, listed, and read with the files of their sub-agents. */
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { constants, zstdDecompressSync } from 'node:zlib';
import { isCompressed, plainName } from '../../lib/compressed.ts';
import { headIn, isFile, namesIn } from '../../lib/folders.ts';
import { newestFirst } from '../../lib/newest.ts';
import { readTextFile } from '../../lib/text-file.ts';
import type { Memo, SessionFiles, SessionPart, Unreadable } from '../../model/agent.ts';
import { AGENT_LIMITS } from './limits.ts';
import { idOf, isNative, nativeOf, type Open, timeOf } from './native.ts';

export interface Layout
  extends Pick<
    SessionFiles,
    'where' | 'rewritten' | 'decoder' | 'keyOf' | 'retention' | 'parts_in_places' | 'beside'
  > {
  /** The folder of all sessions. */
  root(env: NodeJS.ProcessEnv, cwd: string): string;
  /** Pattern of a session id; other ids are not looked for. */
  readonly id: RegExp;
  /** Name patterns from the root down to the main file, per possible place. The first group is the session id. */
  readonly names: readonly (readonly RegExp[])[];
  /** Paths below the root to try before a search. */
  likely?(session_id: string, cwd: string): readonly string[];
  /** False if the file belongs to a sub-agent although its name does not show it. Such a file is not listed. */
  isMain?(path: string, memo?: Memo): Promise<boolean>;
  /** Files of the session's sub-agents. */
  subAgents?(path: string, unreadable?: Unreadable, memo?: Memo): Promise<SessionPart[]>;
  /** Default: `timestamp`. */
  timeOf?(record: Open): number | undefined;
}

/** The user's home folder, as the CLI determines it. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env.HOME || homedir();
}

/** Files below a folder, matched by a name pattern per level, compressed or not. A plain file replaces a compressed one. `id` is the first group that matched. */
export async function* pathsIn(
  folder: string,
  [name, ...rest]: readonly RegExp[],
  unreadable?: Unreadable,
  id: string | null = null,
): AsyncGenerator<{ path: string; id: string | null }> {
  const names = name === undefined ? [] : await namesIn(folder, unreadable);
  const plain = new Set(names);
  for (const found of names) {
    if (found !== plainName(found) && plain.has(plainName(found))) continue;
    const match = name?.exec(plainName(found)) ?? null;
    if (match === null) continue;
    const path = join(folder, found);
    if (rest.length === 0) yield { path, id: id ?? match[1] ?? null };
    else yield* pathsIn(path, rest, unreadable, id ?? match[1] ?? null);
  }
}

let head_bytes = Buffer.alloc(0);

/** The beginning of a file; '' if it cannot be read. */
export function headOf(path: string, bytes: number, unreadable?: Unreadable): string {
  if (head_bytes.length < bytes) head_bytes = Buffer.allocUnsafeSlow(bytes);
  const head = headIn(path, head_bytes.subarray(0, bytes), unreadable);
  if (head === null) return '';
  return isCompressed(path) ? unpacked(head) : head.toString('utf8');
}

/** The text at the beginning of a compressed file; '' if it is damaged. */
function unpacked(head: Buffer): string {
  try {
    // The flush returns what a cut input contains.
    const options = { finishFlush: constants.ZSTD_e_flush, maxOutputLength: UNPACKED_BYTES_MAX };
    return zstdDecompressSync(head, options).toString('utf8');
  } catch {
    return '';
  }
}

/** The beginning of a file never unpacks to more, unless it was made to. */
const UNPACKED_BYTES_MAX = 64 * 1024 * 1024;

/** Sub-agents' files in a folder. A small file next to each names the call that started it. */
export function partsIn(folder: string, name: RegExp, unreadable?: Unreadable) {
  return Array.fromAsync(pathsIn(folder, [name], unreadable), ({ path }) => ({
    path,
    parent_call_id: idOf(metaIn(plainName(path).replace(/\.jsonl$/, '.meta.json'))?.toolUseId),
  }));
}

/** A small JSON file next to a session file; null if it cannot be read. */
export function metaIn(path: string): Open | null {
  try {
    const limits = { bytes_max: AGENT_LIMITS.session_meta_bytes_max, stage: 'read' };
    return nativeOf(JSON.parse(readTextFile(path, limits).text));
  } catch {
    return null;
  }
}

export function sessionFiles(layout: Layout): SessionFiles {
  const { where, root, id, names, likely, isMain, subAgents, decoder } = layout;
  const { keyOf, retention } = layout;
  const time = layout.timeOf ?? timeOf;

  async function* mainFiles(folder: string, unreadable?: Unreadable) {
    for (const place of names) {
      for await (const { path, id: session_id } of pathsIn(folder, place, unreadable)) {
        if (session_id !== null) yield { path, session_id };
      }
    }
  }

  async function* listed(folder: string, memo?: Memo) {
    for await (const file of mainFiles(folder)) {
      if (isMain === undefined || (await isMain(file.path, memo))) yield file;
    }
  }

  return {
    where,
    async find({ session_id, cwd, env, unreadable }) {
      if (!id.test(session_id)) return null;
      const folder = root(env, cwd);
      for (const path of likely?.(session_id, cwd) ?? []) {
        if (await isFile(join(folder, path), unreadable)) return join(folder, path);
      }
      // Names begin with a time where a session has several files: the last one is the newest.
      let newest: string | null = null;
      for await (const file of mainFiles(folder, unreadable)) {
        if (file.session_id !== session_id || !(await isFile(file.path, unreadable))) continue;
        if (newest === null || basename(file.path) >= basename(newest)) newest = file.path;
      }
      return newest;
    },
    list: ({ env, memo }) => newestFirst(listed(root(env, process.cwd()), memo)),
    places: (env) => names.map((one) => ({ root: root(env, process.cwd()), names: one })),
    ...(isMain && { isMain }),
    async parts(path, unreadable, memo) {
      const others = (await subAgents?.(path, unreadable, memo)) ?? [];
      return [{ path, parent_call_id: null }, ...others];
    },
    timeOf: (value) => (isNative(value) ? (time(value) ?? null) : null),
    decoder,
    ...(keyOf && { keyOf }),
    ...(retention && { retention }),
    ...(layout.rewritten && { rewritten: layout.rewritten }),
    ...(layout.beside && { beside: layout.beside }),
    ...(layout.parts_in_places && { parts_in_places: layout.parts_in_places }),
  };
}
