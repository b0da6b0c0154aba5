/**
 * Files in the folders of agents that look like sessions but are not imported: no name pattern takes them, and no session
 * has them as a part. Contract: nothing is read but folders, and what an agent's own code reads to find its sessions.
 */
import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent, Memo } from '../../model/agent.ts';

export interface Stray {
  /** Id of the agent that owns the folder. */
  agent: string;
  path: string;
}

const LOOKS_LIKE = /\.jsonl(?:\.zst)?$/;
/** Files of sub-agents are at most this many levels below the main files. */
const LEVELS_BELOW = 3;

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** The files of a folder, and of `levels` folders below it. */
function filesBelow(folder: string, levels: number): string[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return LOOKS_LIKE.test(entry.name) ? [path] : [];
    return entry.isDirectory() && levels > 0 ? filesBelow(path, levels - 1) : [];
  });
}

/** The folders that have main files: those that the patterns above the last one match. */
function foldersOf(root: string, [name, ...rest]: readonly RegExp[]): string[] {
  if (name === undefined || rest.length === 0) return [root];
  return entriesOf(root)
    .filter((entry) => entry.isDirectory() && name.test(entry.name))
    .flatMap((entry) => foldersOf(join(root, entry.name), rest));
}

async function taken({ session }: Agent, env: NodeJS.ProcessEnv, memo: Memo): Promise<Set<string>> {
  const paths = new Set<string>();
  for await (const { path } of session?.list?.({ env, memo }) ?? [])
    for (const part of (await session?.parts(path, undefined, memo)) ?? []) paths.add(part.path);
  return paths;
}

export async function findStrays(
  agents: readonly Agent[],
  env: NodeJS.ProcessEnv,
): Promise<Stray[]> {
  const found: Stray[] = [];
  for (const agent of agents) {
    const places = agent.session?.places?.(env) ?? [];
    const folders = places.flatMap((place) =>
      'root' in place && place.root !== '' ? foldersOf(place.root, place.names) : [],
    );
    const files = new Set(folders.flatMap((folder) => filesBelow(folder, LEVELS_BELOW)));
    if (files.size === 0) continue;
    for (const path of await taken(agent, env, new Map())) files.delete(path);
    for (const path of [...files].sort()) found.push({ agent: agent.id, path });
  }
  return found;
}

const SHOWN = 5;

/** For people: how many there are, and the first of them. */
export function straysText(strays: readonly Stray[], name: (path: string) => string): string {
  if (strays.length === 0) return '';
  const files = strays.length === 1 ? '1 file looks' : `${strays.length} files look`;
  const lines = strays.slice(0, SHOWN).map(({ path }) => `  ${name(path)}\n`);
  const more = strays.length > SHOWN ? `  and ${strays.length - SHOWN} more\n` : '';
  return `note: ${files} like sessions, but tacho does not know their names, and did not import them:\n${lines.join('')}${more}`;
}
