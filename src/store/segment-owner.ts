/** Who wrote a segment, by its first line. */
import { closeSync, readSync } from 'node:fs';
import { openRead } from './files.ts';
import { type Owner, ownerIn } from './owner.ts';

/** Null when the first line is torn or says nothing: such a writer died before its first entry. */
export function readFirst(path: string): Owner | null {
  const bytes = Buffer.alloc(512);
  let fd = -1;
  try {
    fd = openRead(path);
    const count = readSync(fd, bytes, 0, bytes.length, 0);
    const end = bytes.indexOf(10);
    if (end < 0 || end >= count) return null;
    const text = bytes.toString('latin1', 0, end);
    return (JSON.parse(text) as { v?: unknown } | null)?.v === 1 ? ownerIn(text) : null;
  } catch {
    return null;
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}
