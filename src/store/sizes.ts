/** How much of the disk runs take. A run's part of a segment that others share is reckoned by its entries. */
import { createCatalogue } from './index/catalogue.ts';
import type { Index } from './index/index-db.ts';
import type { EntryBytes } from './index/runs-table.ts';
import { diskBytes, newReport } from './journal/scan.ts';
import type { StateDir } from './state-dir.ts';

/** What an entry takes on average in each segment that is not closed; of closed ones the index has it. */
export async function entryBytes(state: StateDir, index: Index): Promise<EntryBytes> {
  await createCatalogue(state.journal, index).refresh(newReport());
  const averages: [string, number][] = [];
  for (const [segment, entries] of index.openEntries())
    averages.push([segment, diskBytes(state.journal, segment) / entries]);
  return Object.fromEntries(averages);
}
