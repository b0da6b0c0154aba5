/**
 * The files that a run changed: one artifact per path with its net effect, reconciled between calls and work tree
 * (RO-10). If they differ on the operation, the work tree decides.
 */
import { LIMITS } from '../lib/limits.ts';
import { baseOf, shortestPath } from '../lib/paths.ts';
import type { DataOf } from '../model/event.ts';
import type { Artifact } from '../model/outcome.ts';
import type { FileOperation } from '../model/words.ts';

interface Entry {
  path: string;
  /** Net effect of the calls; `none` for created and deleted again, null if no call touched it. */
  tool: FileOperation | 'none' | null;
  git: FileOperation | null;
  size: number | null;
}

interface Changes {
  bases: string[];
  entries: Map<string, Entry>;
  dropped: number;
  room: number;
}

const none = (): Changes => ({
  bases: [],
  entries: new Map(),
  dropped: 0,
  room: LIMITS.artifacts_chars_max,
});

export interface ArtifactFold {
  fork(): ArtifactFold;
  /** A folder that paths are shown relative to. Relative paths are resolved against the first one. */
  base(cwd: string | null): void;
  push(change: DataOf<'file_changed'>): void;
  list(): Artifact[];
  /** Paths beyond the limit. */
  dropped(): number;
}

/** `from`: continues with a copy of these changes. */
export function createArtifactFold(from: Changes = none()): ArtifactFold {
  const bases = [...from.bases];
  const entries = new Map([...from.entries].map(([path, entry]) => [path, { ...entry }]));
  let { dropped, room } = from;
  return {
    fork: () => createArtifactFold({ bases, entries, dropped, room }),
    base(cwd) {
      const base = baseOf(cwd);
      if (base !== null && !bases.includes(base) && bases.length < 4) bases.push(base);
    },
    push({ path, operation, source, size }) {
      const shown = shortestPath(path, bases);
      let entry = entries.get(shown);
      if (entry === undefined) {
        if (entries.size >= LIMITS.artifacts_max || shown.length > room) {
          dropped += 1;
          return;
        }
        room -= shown.length;
        entry = { path: shown, tool: null, git: null, size: null };
        entries.set(shown, entry);
      }
      entry.size = size ?? entry.size;
      if (source === 'git') entry.git = operation;
      else entry.tool = netEffect(entry.tool, operation);
    },
    list: () => [...entries.values()].map(artifactOf).filter((item) => item !== null),
    dropped: () => dropped,
  };
}

/** The net effect of two changes of one file. */
function netEffect(
  before: FileOperation | 'none' | null,
  operation: FileOperation,
): FileOperation | 'none' {
  if (before === null || before === 'none') return operation;
  if (operation === 'deleted') return before === 'created' ? 'none' : 'deleted';
  return before === 'created' ? 'created' : 'modified';
}

function artifactOf({ path, tool, git, size }: Entry): Artifact | null {
  const operation = git ?? tool;
  if (operation === null || operation === 'none') return null;
  const source = git === null ? 'tool' : git === tool ? 'both' : 'git';
  return { path, operation, size: operation === 'deleted' ? null : size, source };
}
