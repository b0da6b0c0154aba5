/**
 * What this user has agreed to and what tacho made for this user, kept in a folder of the user's own: no repository and no
 * archive can bring it along. Every fact is one file, named by the hash of its parts; a fact is known or it is not, so
 * that several processes can add facts at once.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { homeFolder } from '../lib/home.ts';
import { own } from '../lib/own.ts';
import { readStart, unlinkQuietly, writeAtomic } from './files.ts';
import { STORE_LIMITS } from './limits.ts';
import { ownFolder } from './own-folder.ts';

/**
 * `config`: the user agreed to the effects of a file; the key is the hash of its content.
 * `state`: a state folder of this user; the key is its mark.
 * `target`: a destination that the user named for messages of a state folder; the key is the hash of the destination.
 */
const FACT_KINDS = ['config', 'state', 'target'] as const;

export interface Fact {
  kind: (typeof FACT_KINDS)[number];
  /** Absolute, without symbolic links. */
  path: string;
  key: string;
  /** For people: the effects that were shown, or the destination. */
  notes: string[];
}

type FactId = Omit<Fact, 'notes'>;

type Env = Readonly<Record<string, string | undefined>>;

/** Where programs of a platform keep the state of a user, if not in `~/.local/state`. */
const USUAL_PLACES: Readonly<Record<string, (env: Env) => string>> = {
  darwin: () => join(homeFolder(), 'Library', 'Application Support'),
  win32: ({ LOCALAPPDATA: given = '' }) =>
    isAbsolute(given) ? given : join(homeFolder(), 'AppData', 'Local'),
};

/** The user's store, and the facts about this user: `$XDG_STATE_HOME/tacho`, else the usual place of the platform. */
export function userStatePath(
  env: Env = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const { XDG_STATE_HOME: given = '' } = env;
  // The XDG specification has relative paths ignored.
  if (isAbsolute(given)) return join(given, 'tacho');
  return join(own(USUAL_PLACES, platform)?.(env) ?? join(homeFolder(), '.local', 'state'), 'tacho');
}

export const hashOf = (text: string | Uint8Array) =>
  createHash('sha256').update(text).digest('hex');

const factsPath = () => join(userStatePath(), 'known');
const fileOf = ({ kind, path, key }: FactId) =>
  join(factsPath(), `${hashOf(JSON.stringify([kind, path, key]))}.json`);

/** False where the user's folder cannot be written, or is not the user's alone. */
export function remember(fact: Fact): boolean {
  try {
    if (isKnown(fact)) return true;
    for (const folder of [userStatePath(), factsPath()]) {
      // One that others could write may hold facts of theirs; closing it to them would make those count.
      if (existsSync(folder) && !isOurAlone(folder)) return false;
      ownFolder(folder, true);
    }
    writeAtomic(fileOf(fact), `${JSON.stringify(fact)}\n`, 'user state');
    pruneFacts();
    return true;
  } catch {
    return false;
  }
}

export function isKnown(id: FactId): boolean {
  if (!isOurAlone(userStatePath()) || !isOurAlone(factsPath())) return false;
  const found = readFact(fileOf(id));
  return found?.kind === id.kind && found.path === id.path && found.key === id.key;
}

export function forget(id: FactId): void {
  unlinkQuietly(fileOf(id));
}

/** All facts that can be read, by path. */
export function listFacts(): Fact[] {
  if (!isOurAlone(userStatePath()) || !isOurAlone(factsPath())) return [];
  return readdirSync(factsPath())
    .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
    .map((name) => readFact(join(factsPath(), name)))
    .filter((fact) => fact !== null)
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function isOurAlone(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return false;
  if (process.getuid === undefined) return true;
  return found.uid === process.getuid() && (found.mode & 0o077) === 0;
}

function readFact(path: string): Fact | null {
  try {
    const text = readStart(path, STORE_LIMITS.user_fact_bytes_max).toString('utf8');
    const fact = JSON.parse(text) as Fact;
    const texts = [fact.path, fact.key].every((part) => typeof part === 'string');
    return texts && FACT_KINDS.includes(fact.kind) ? fact : null;
  } catch {
    return null;
  }
}

/** Temporary state folders come and go: facts about paths that are gone are removed when there are too many. */
function pruneFacts(): void {
  if (readdirSync(factsPath()).length <= STORE_LIMITS.user_facts_max) return;
  for (const fact of listFacts()) if (!existsSync(fact.path)) forget(fact);
}
