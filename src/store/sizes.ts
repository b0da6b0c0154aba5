/** How much of the disk runs take. A run's part of a segment that others share is reckoned by its entries. */
import { createCatalogue } from './index/catalogue.ts';
import type { Index } from './index/index-db.ts';
import type { Weights } from './index/runs-table.ts';
import { diskBytes, newReport } from './journal/scan.ts';
import type { StateDir } from './state-dir.ts';

/** Brings the index to where it can say what every run takes; gives what it cannot keep of that. */
export async function weigh(state: StateDir, index: Index): Promise<Weights> {
  await createCatalogue(state.journal, index).refresh(newReport());
  const averages: [string, number][] = [];
  for (const [segment, entries] of index.openEntries())
    averages.push([segment, diskBytes(state.journal, segment) / entries]);
  return { entry_bytes: Object.fromEntries(averages), file_bytes: index.measure() };
}
