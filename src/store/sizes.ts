/** Disk usage of runs. A run's share of a shared segment is estimated from its entries. */
import { createCatalogue } from './index/catalogue.ts';
import type { Index } from './index/index-db.ts';
import type { Weights } from './index/runs-table.ts';
import { diskBytes, newReport } from './journal/scan.ts';
import type { StateDir } from './state-dir.ts';

/** Updates the index until it knows the size of every run. Returns the sizes that it cannot store. */
export async function weigh(state: StateDir, index: Index): Promise<Weights> {
  await createCatalogue(state.journal, index).refresh(newReport());
  const averages: [string, number][] = [];
  for (const [segment, entries] of index.openEntries())
    averages.push([segment, diskBytes(state.journal, segment) / entries]);
  return { entry_bytes: Object.fromEntries(averages), file_bytes: index.measure() };
}
