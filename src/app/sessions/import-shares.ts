/**
 * Distributes the targets of an import over processes. Contract: sessions that affect each other (the same session,
 * or one that begins at the same time, as forks do) stay together, in their order.
 */
import { statSync } from 'node:fs';
import type { Memo } from '../../model/agent.ts';
import type { Index } from '../../store/index/index-db.ts';
import { type Head, headOf } from './import-source.ts';
import type { ImportTarget } from './imported.ts';
import { KnownFiles } from './known-files.ts';
import { partsOf } from './session-source.ts';

interface Sharing {
  jobs: number;
  index: Index;
  memo: Memo | undefined;
}

interface Shares {
  /** Targets that need not be read. */
  known: ImportTarget[];
  /** One per process. */
  shares: ImportTarget[][];
}

interface Group {
  /** Positions in the list of targets. */
  places: number[];
  bytes: number;
  known: boolean;
}

/** The facts about a target by which related ones are found. */
interface Beginning {
  keys: string[];
  known: boolean;
}

/** The largest groups first, each to the smallest share. */
export async function sharesOf(
  targets: readonly ImportTarget[],
  sharing: Sharing,
): Promise<Shares> {
  const groups = await groupsOf(targets, sharing);
  const known = groups.filter((group) => group.known);
  const shares = Array.from({ length: sharing.jobs }, () => ({ places: [] as number[], bytes: 0 }));
  const unknown = groups.filter((group) => !group.known);
  for (const { places, bytes } of unknown.sort((a, b) => b.bytes - a.bytes)) {
    const least = shares.reduce((a, b) => (b.bytes < a.bytes ? b : a));
    least.places.push(...places);
    least.bytes += bytes;
  }
  const inOrder = (places: number[]) =>
    places.sort((a, b) => a - b).map((n) => targets[n] as ImportTarget);
  return {
    known: inOrder(known.flatMap(({ places }) => places)),
    shares: shares.filter(({ places }) => places.length > 0).map(({ places }) => inOrder(places)),
  };
}

/** Targets that affect each other, in their order. */
export async function familiesOf(
  targets: readonly ImportTarget[],
  sharing: Omit<Sharing, 'jobs'>,
): Promise<ImportTarget[][]> {
  const groups = await groupsOf(targets, sharing);
  return groups.map(({ places }) => places.map((n) => targets[n] as ImportTarget));
}

async function groupsOf(
  targets: readonly ImportTarget[],
  sharing: Omit<Sharing, 'jobs'>,
): Promise<Group[]> {
  // It stores nothing: the process that reads a file does.
  const files = new KnownFiles(sharing.index, () => false);
  const roots = targets.map((_, place) => place);
  const rootOf = (place: number): number => {
    const above = roots[place] as number;
    if (above === place) return place;
    roots[place] = rootOf(above);
    return roots[place];
  };
  const by_key = new Map<string, number>();
  const known: boolean[] = [];
  for (const [place, target] of targets.entries()) {
    const beginning = await beginningOf(target, files, sharing.memo);
    known.push(beginning.known);
    for (const key of beginning.keys) {
      roots[rootOf(place)] = rootOf(by_key.get(key) ?? place);
      by_key.set(key, place);
    }
  }
  return [...Map.groupBy(roots.keys(), rootOf).values()].map((places) => ({
    places,
    bytes: places.reduce((sum, place) => sum + bytesAt((targets[place] as ImportTarget).path), 0),
    known: places.every((place) => known[place]),
  }));
}

async function beginningOf(
  { agent, path }: ImportTarget,
  files: KnownFiles,
  memo: Memo | undefined,
): Promise<Beginning> {
  try {
    const source = { agent, path, ...(await partsOf(agent, path, memo)) };
    const session = files.of(source);
    const head = session.known ? await session.head(null) : await headOf(source, null);
    return { keys: keysOf(agent.id, head), known: session.known };
  } catch {
    // The share with this file reports that it is unreadable.
    return { keys: [], known: false };
  }
}

/** Keys that related targets have in common. */
function keysOf(agent: string, { session_id, started_ms }: Head): string[] {
  const keys: unknown[] = [];
  if (session_id !== null) keys.push(['session', session_id]);
  if (started_ms !== 0) keys.push(['start', started_ms]);
  return (keys.length > 0 ? keys : ['unknown']).map((key) => JSON.stringify([agent, key]));
}

function bytesAt(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}
