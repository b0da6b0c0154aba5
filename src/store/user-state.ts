/**
 * The user's consents and the facts that tacho recorded for this user, kept in the user's own folder: no repository
 * and no archive can bring it along. Every fact is one file, named by the hash of its parts. A fact is either known
 * or not, so several processes can add facts concurrently.
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

/** The folder for the state of a user's programs on a platform, if not `~/.local/state`. */
const USUAL_PLACES: Readonly<Record<string, (env: Env) => string>> = {
  darwin: () => join(homeFolder(), 'Library', 'Application Support'),
  win32: ({ LOCALAPPDATA: given = '' }) =>
    isAbsolute(given) ? given : join(homeFolder(), 'AppData', 'Local'),
};

/** The user's store, and the facts about this user: `$XDG_STATE_HOME/tacho`, or the usual place on the platform. */
export function userStatePath(
  env: Env = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const { XDG_STATE_HOME: given = '' } = env;
  // The XDG specification says to ignore relative paths.
  if (isAbsolute(given)) return join(given, 'tacho');
  return join(own(USUAL_PLACES, platform)?.(env) ?? join(homeFolder(), '.local', 'state'), 'tacho');
}

export const hashOf = (text: string | Uint8Array) =>
  createHash('sha256').update(text).digest('hex');

const factsPath = () => join(userStatePath(), 'known');
const fileOf = ({ kind, path, key }: FactId) =>
  join(factsPath(), `${hashOf(JSON.stringify([kind, path, key]))}.json`);

/** False if the user's folder cannot be written, or others can access it. */
export function remember(fact: Fact): boolean {
  try {
    if (isKnown(fact)) return true;
    for (const folder of [userStatePath(), factsPath()]) {
      // A folder that others could write to may contain their facts; making it private now would make tacho trust them.
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

/** All readable facts, by path. */
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

/** Temporary state folders are short-lived: when there are too many facts, those about missing paths are removed. */
function pruneFacts(): void {
  if (readdirSync(factsPath()).length <= STORE_LIMITS.user_facts_max) return;
  for (const fact of listFacts()) if (!existsSync(fact.path)) forget(fact);
}
