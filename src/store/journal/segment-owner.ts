/** The first line of a segment: its writer, and the segment it replaces. */
import { type Owner, ownerIn } from '../owner.ts';
import { readFirst } from './segment-file.ts';

export interface SegmentHeader {
  owner: Owner;
  /** The segment it was copied from, without the deleted part. Null if it is not a copy. */
  replaces: string | null;
}

/** Null if the first line is torn or unusable: such a writer died before its first entry. */
export function readHeader(path: string): SegmentHeader | null {
  try {
    const bytes = readFirst(path, 2048);
    const end = bytes.indexOf(10);
    if (end < 0) return null;
    const text = bytes.toString('latin1', 0, end);
    const owner = ownerIn(text);
    const { v, replaces } = JSON.parse(text) as { v?: unknown; replaces?: unknown };
    if (owner === null || v !== 1) return null;
    return { owner, replaces: typeof replaces === 'string' ? replaces : null };
  } catch {
    return null;
  }
}
