/**
 * Packs segments that dead processes left. Contract: killed or without power at any moment, readers find all of the text
 * that was there before; where both forms are there, no text that one of them alone has is removed.
 */
import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { syncFolder, unlinkQuietly } from '../files.ts';
import { packBeside } from './pack.ts';
import { mayGrow, syncSegment } from './segment.ts';
import { isPacked, PACKED, packedHolds } from './segment-file.ts';

/** Those of these segments that nobody writes any more. */
export async function packClosed(dir: string, segments: Iterable<string>): Promise<void> {
  for (const segment of segments)
    if (!isPacked(join(dir, segment)) && !mayGrow(dir, segment)) await packLeft(dir, segment);
}

/** Also finishes what was killed in it. A failure leaves the plain form, and gives false. */
export async function packLeft(dir: string, segment: string): Promise<boolean> {
  const path = join(dir, segment);
  try {
    // Its writer may have died before it synced: a power cut can bring the plain form back, and it is the one that counts.
    await syncSegment(dir, segment);
    if (packedHolds(path)) syncFolder(dir);
    else if ((await packBeside(path)) === null) {
      // What is beside a plain one that stays was left by a kill, or by others.
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
