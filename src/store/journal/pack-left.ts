/**
 * Packs segments left by dead processes. Contract: after a kill or power failure at any moment, readers find all of the
 * previous text. If both forms exist, text that only one of them contains is never removed.
 */
import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolder, unlinkQuietly } from '../files.ts';
import { packBeside } from './pack.ts';
import { mayGrow, syncSegment } from './segment.ts';
import { isPacked, PACKED, packedHolds } from './segment-file.ts';

/** Packs those of these segments that no process writes any more. */
export async function packClosed(dir: string, segments: Iterable<string>): Promise<void> {
  for (const segment of segments)
    if (!isPacked(join(dir, segment)) && !mayGrow(dir, segment)) await packLeft(dir, segment);
}

/** Also finishes a killed packing. Returns false and keeps the plain form on failure. */
export async function packLeft(dir: string, segment: string): Promise<boolean> {
  const path = join(dir, segment);
  try {
    // Its writer may have died before it synced: a power failure can restore the plain form, which takes
    // precedence.
    await syncSegment(dir, segment);
    if (packedHolds(path)) syncFolder(dir);
    else if ((await packBeside(path)) === null) {
      // If the plain form stays, a packed file next to it was left by a kill, or by others.
      unlinkQuietly(`${path}${PACKED}`);
      return false;
    }
    unlinkSync(path);
    syncFolder(dir);
    return true;
  } catch {
    return false;
  }
}
