/**
 * The index: outcomes of runs, and the positions of each session's events in the journal. It is small, and can be
 * rebuilt from the journal at any time. Contract: contains no conversations, raw output, tool inputs or outputs (ST-1).
 */
import type { Clock } from '../../lib/clock.ts';
import type { MeasuredRun } from '../../model/usage.ts';
import { fileBytesOf } from '../spool/run-files.ts';
import type { StateDir } from '../state-dir.ts';
import { openDatabase } from './database.ts';
import { grownTable } from './grown-table.ts';
import { SCHEMA_VERSION } from './index-schema.ts';
import type { Cover } from './position-index.ts';
import { positionsTable, putCover } from './positions-table.ts';
import type { Prepared } from './prepared.ts';
import { type FileBytes, putRun, runsTable } from './runs-table.ts';
import { closedForm, identityOf } from './segment-book.ts';
import { putClosed, segmentsTable, settle } from './segments-table.ts';
import { sourcesTable } from './sources-table.ts';
import { usageTable } from './usage-table.ts';

export type Index = ReturnType<typeof openIndex>;

export function openIndex(state: StateDir, options: { clock?: Clock } = {}) {
  const db = openDatabase(state.db, options.clock);
  const fileBytes: FileBytes = ({ agent, run_id }) => fileBytesOf(state, agent, run_id);
  const runs = runsTable(db, fileBytes);
  return {
    ...runs,
    ...positionsTable(db),
    ...segmentsTable(db),
    ...sourcesTable(db),
    ...grownTable(db),
    ...usageTable(db),
    /** Saves a run and its positions in the journal in one transaction. The journal is closed. */
    saveRun: (run: MeasuredRun, covers: readonly Cover[]) => {
      const closed = covers.map(({ segment }) => closedForm(state.journal, segment));
      db.write((prepared) => {
        putRun(prepared, run, fileBytes(run.outcome));
        for (const cover of covers) {
          putCover(prepared, cover);
          settle(prepared, cover.segment, cover.bytes);
        }
        putClosed(prepared, identityOf(state.journal), closed);
      });
    },
    stats: () => db.read(statsOf),
    /** Returns the space of deleted rows to the disk and erases their bytes, unless others are using the file. */
    compact: db.compact,
    /** The path that a damaged database was moved to when this one replaced it, or null. */
    get moved_to() {
      return db.moved_to;
    },
    close: db.close,
    [Symbol.dispose]: db.close,
  };
}

function statsOf(prepared: Prepared) {
  const number = (sql: string) => Number(Object.values(prepared.get(sql) ?? { none: 0 })[0]);
  return {
    schema: SCHEMA_VERSION,
    runs: number('SELECT count(*) FROM runs'),
    positions: number('SELECT count(*) FROM positions'),
    segments: number('SELECT count(*) FROM segments'),
    bytes: number('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size'),
  };
}
