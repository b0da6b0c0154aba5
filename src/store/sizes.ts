/** How much of the disk runs take. A run's part of a segment that others share is reckoned by its entries. */
import { createCatalogue } from './index/catalogue.ts';
import type { Index } from './index/index-db.ts';
import { diskBytes, newReport } from './journal/scan.ts';
import type { StateDir } from './state-dir.ts';

/** Bytes of each run in the journal. */
export async function journalBytes(state: StateDir, index: Index): Promise<Map<string, number>> {
  await createCatalogue(state.journal, index).refresh(newReport());
  const rows = index.entriesBySession();
  const entries = new Map<string, number>();
  for (const row of rows) entries.set(row.segment, (entries.get(row.segment) ?? 0) + row.entries);
  const bytes = new Map<string, number>();
  for (const segment of entries.keys()) bytes.set(segment, diskBytes(state.journal, segment));
  const sizes = new Map<string, number>();
  for (const row of rows) {
    const share = row.entries / (entries.get(row.segment) as number);
    const own = Math.round((bytes.get(row.segment) as number) * share);
    sizes.set(row.session, (sizes.get(row.session) ?? 0) + own);
  }
  return sizes;
}
