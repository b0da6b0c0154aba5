/** Usage of today, for status lines: read without changing the index. */
import { readOnly } from './read-only.ts';
import { type RunUsage, runUsage, usageOf } from './usage-table.ts';

/** Runs with usage since then, and the runs of a session. */
const WHERE = `WHERE session_id = ? OR
  run_id IN (SELECT run_id FROM usage WHERE at_ms >= ?) OR started_ms >= ?`;

/** All usage of these runs. Null if the index cannot be read. */
export const recentUsage = (
  path: string,
  { since_ms, session_id }: { since_ms: number; session_id: string | null },
): RunUsage[] | null =>
  readOnly(path, (db) =>
    db.prepare(usageOf(WHERE)).all(session_id, since_ms, since_ms).map(runUsage),
  );
