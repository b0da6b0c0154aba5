/** Session files in folders: found by id, listed, and read with the files of their sub-agents. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isFile, namesIn } from '../../lib/folders.ts';
import { LIMITS } from '../../lib/limits.ts';
import { newestFirst } from '../../lib/newest.ts';
import { readTextFile } from '../../lib/text-file.ts';
import type { SessionFiles, SessionPart } from '../../model/agent.ts';
import { isNative, nativeOf, type Open, timeOf } from './native.ts';

export interface Layout extends Pick<SessionFiles, 'decoder' | 'keyOf'> {
  /** The folder of all sessions. */
  root(env: NodeJS.ProcessEnv, cwd: string): string;
  /** What a session's id looks like; others are not looked for. */
  readonly id: RegExp;
  /** Names from the root down to the main file; the first group of the last one is the session's id. */
  readonly names: readonly RegExp[];
  /** Where the file of a session is without a search, from the root. */
  likely?(session_id: string, cwd: string): readonly string[];
  /** Files of the session's sub-agents. */
  subAgents?(path: string): Promise<SessionPart[]>;
  /** Default: `timestamp`. */
  timeOf?(record: Open): number | undefined;
}

/** The user's home folder, as the CLI finds it. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env.HOME || homedir();
}

/** Paths below a folder, by the names of each level; each with the match of its last name. */
export async function* pathsIn(
  folder: string,
  [name, ...rest]: readonly RegExp[],
): AsyncGenerator<{ path: string; match: RegExpExecArray }> {
  for (const found of name === undefined ? [] : await namesIn(folder)) {
    const match = name?.exec(found) ?? null;
    if (match === null) continue;
    const path = join(folder, found);
    if (rest.length === 0) yield { path, match };
    else yield* pathsIn(path, rest);
  }
}

/** A small JSON file beside a session's; null where it cannot be read. */
export function metaIn(path: string): Open | null {
  try {
    const limits = { bytes_max: LIMITS.session_meta_bytes_max, stage: 'read' };
    return nativeOf(JSON.parse(readTextFile(path, limits).text));
  } catch {
    return null;
  }
}

export function sessionFiles(layout: Layout): SessionFiles {
  const { root, id, names, likely, subAgents, decoder, keyOf } = layout;
  const time = layout.timeOf ?? timeOf;

  async function* mainFiles(folder: string) {
    for await (const { path, match } of pathsIn(folder, names)) {
      const session_id = match[1];
      if (session_id !== undefined) yield { path, session_id };
    }
  }

  return {
    async find({ session_id, cwd, env }) {
      if (!id.test(session_id)) return null;
      const folder = root(env, cwd);
      for (const path of likely?.(session_id, cwd) ?? []) {
        if (await isFile(join(folder, path))) return join(folder, path);
      }
      for await (const file of mainFiles(folder)) {
        if (file.session_id === session_id && (await isFile(file.path))) return file.path;
      }
      return null;
    },
    list: ({ env }) => newestFirst(mainFiles(root(env, process.cwd()))),
    async parts(path) {
      return [{ path, parent_call_id: null }, ...((await subAgents?.(path)) ?? [])];
    },
    timeOf: (value) => (isNative(value) ? (time(value) ?? null) : null),
    decoder,
    ...(keyOf && { keyOf }),
  };
}
