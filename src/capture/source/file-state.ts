/** The content of one file of a work tree, read without following links or waiting for pipes. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readlink } from 'node:fs/promises';
import { CAPTURE_LIMITS } from '../limits.ts';

/** The state of a path. `oid`: git's id of the content. `stat`: size and time, for content that was not read. */
export type FileState =
  | { kind: 'absent' }
  | { kind: 'present'; oid: string | null; stat: string | null; size: number | null };

export const ABSENT: FileState = { kind: 'absent' };

/** Git's id of some content. */
export function oidOf(kind: 'blob' | 'tree', content: Uint8Array, oid_length: number): string {
  const hash = createHash(oid_length === 64 ? 'sha256' : 'sha1');
  return hash.update(`${kind} ${content.length}\0`).update(content).digest('hex');
}

/** How much may still be read, and whether a file exceeded it. */
export interface ReadBudget {
  bytes: number;
  oid_length: number;
  too_big: boolean;
}

export async function readState(full: Buffer, budget: ReadBudget): Promise<FileState> {
  try {
    const found = await lstat(full, { bigint: true });
    const size = found.isFile() || found.isSymbolicLink() ? Number(found.size) : null;
    const state: FileState = {
      kind: 'present',
      oid: null,
      stat: size === null ? `${found.ino}` : `${found.size}:${found.mtimeNs}:${found.ctimeNs}`,
      size,
    };
    if (found.isSymbolicLink()) {
      const target = await readlink(full, { encoding: 'buffer' });
      state.oid = oidOf('blob', target, budget.oid_length);
    } else if (
      size !== null &&
      size <= Math.min(CAPTURE_LIMITS.worktree_file_bytes_max, budget.bytes)
    ) {
      budget.bytes -= size;
      state.oid = oidOf('blob', await readBounded(full, size), budget.oid_length);
    } else if (size !== null) budget.too_big = true;
    return state;
  } catch {
    return ABSENT;
  }
}

/** Reads at most `size` bytes, so that a growing file stays bounded. */
async function readBounded(path: Buffer, size: number): Promise<Buffer> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags);
  try {
    const target = Buffer.allocUnsafe(size);
    let got = 0;
    while (got < size) {
      const { bytesRead } = await file.read(target, got, size - got, got);
      if (bytesRead === 0) break;
      got += bytesRead;
    }
    return target.subarray(0, got);
  } finally {
    await file.close();
  }
}
