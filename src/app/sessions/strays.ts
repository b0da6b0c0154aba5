/**
 * Files in the folders of agents that look like sessions but are not imported: no name pattern takes them, and no session
 * has them as a part. Contract: only folders are read, and the sessions
 * beside a file that may be a part of one.
 */
import { type Dirent, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { plainName } from '../../lib/compressed.ts';
import type { Agent, Memo } from '../../model/agent.ts';

export interface Stray {
  /** Id of the agent that owns the folder. */
  agent: string;
  path: string;
}

/** Files of sub-agents are at most this many levels below the main files. */
const LEVELS_BELOW = 3;
/** Kinds of files in patterns of names. */
const KINDS = /jsonl|json|db|pb/g;

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** A file of a kind in which the agent keeps sessions, compressed or not, or of lines. */
function looksLike(main: RegExp): RegExp {
  const kinds = new Set(['jsonl', ...(main.source.match(KINDS) ?? [])]);
  return new RegExp(`\\.(?:${[...kinds].join('|')})(?:\\.(?:zst|gz))?$`);
}

/** Files of a folder, and of `levels` folders below it. */
function filesBelow(folder: string, like: RegExp, levels: number): string[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return levels > 0 ? filesBelow(path, like, levels - 1) : [];
    return entry.isFile() && like.test(entry.name) ? [path] : [];
  });
}

/** The folders that have main files: those that the patterns above the last one match. */
function foldersOf(root: string, names: readonly RegExp[]): string[] {
  const [name, ...rest] = names;
  if (name === undefined || rest.length === 0) return [root];
  return entriesOf(root)
    .filter((entry) => entry.isDirectory() && name.test(entry.name))
    .flatMap((entry) => foldersOf(join(root, entry.name), rest));
}

/** The files of an agent that may be sessions, in folders with main files. */
interface Found {
  mains: Set<string>;
  others: Set<string>;
}

function filesOf({ session }: Agent, env: NodeJS.ProcessEnv): Found {
  const found: Found = { mains: new Set(), others: new Set() };
  for (const place of session?.places?.(env) ?? []) {
    if ('database' in place) {
      const like = looksLike(/db/);
      for (const path of filesBelow(dirname(place.database), like, 0))
        if (path !== place.database) found.others.add(path);
      continue;
    }
    const main = place.names.at(-1);
    if (main === undefined || place.root === '') continue;
    const like = looksLike(main);
    for (const folder of foldersOf(place.root, place.names))
      for (const path of filesBelow(folder, like, LEVELS_BELOW)) {
        const plain = plainName(basename(path));
        const known = dirname(path) === folder && main.test(plain) && !isGarbled(path);
        if (known) found.mains.add(path);
        else if (session?.beside?.test(plain) !== true) found.others.add(path);
      }
  }
  for (const path of found.mains) found.others.delete(path);
  return found;
}

/** A name that is not UTF-8 cannot be used to open the file. */
const isGarbled = (path: string) => path.includes('\ufffd');

/** Removes the parts of sessions. A main file is in the folder of its parts, or in one above or beside it. */
async function withoutParts({ session }: Agent, { mains, others }: Found): Promise<Set<string>> {
  const memo: Memo = new Map();
  const near = new Set([...others].map((path) => dirname(path)));
  for (const folder of near) if (dirname(folder) !== folder) near.add(dirname(folder));
  for (const path of mains) {
    if (others.size === 0) break;
    if (!near.has(dirname(path))) continue;
    for (const part of (await session?.parts(path, undefined, memo)) ?? [])
      others.delete(part.path);
  }
  return others;
}

export async function findStrays(
  agents: readonly Agent[],
  env: NodeJS.ProcessEnv,
): Promise<Stray[]> {
  const found: Stray[] = [];
  for (const agent of agents) {
    const strays = await withoutParts(agent, filesOf(agent, env));
    for (const path of [...strays].sort()) found.push({ agent: agent.id, path });
  }
  return found;
}

const SHOWN = 5;

/** For people: how many there are, and the first of them. */
export function straysText(strays: readonly Stray[], name: (path: string) => string): string {
  if (strays.length === 0) return '';
  const [files, names] =
    strays.length === 1
      ? ['1 file looks like a session', 'its name, and did not import it']
      : [`${strays.length} files look like sessions`, 'their names, and did not import them'];
  const lines = strays.slice(0, SHOWN).map(({ path }) => `  ${name(path)}\n`);
  const more = strays.length > SHOWN ? `  and ${strays.length - SHOWN} more\n` : '';
  return `note: ${files}, but tacho does not know ${names}:\n${lines.join('')}${more}`;
}
