/** The usage of today and of one session, read without changing the store. */
import {
  UsageReportFold,
  type UsageRequest,
  type UsageSums,
} from '../../projections/usage/usage-report.ts';
import { recentUsage } from '../../store/index/recent-usage.ts';
import { stateDirAt } from '../../store/state-dir.ts';
import { runsOfRows } from './usage.ts';

export interface StatusUsage {
  today: UsageSums;
  /** Of all runs of the session, at any time. Null: the store has no run of it. */
  session: UsageSums | null;
}

/** Null if there is no store, or if it is of another version. */
export function statusUsage(
  path: string,
  now_ms: number,
  session_id: string | null,
): StatusUsage | null {
  const now = new Date(now_ms);
  const since_ms = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const rows = recentUsage(stateDirAt(path).db, { since_ms, session_id });
  if (rows === null) return null;
  const sumOf = (some: typeof rows, request: Omit<UsageRequest, 'by'>) => {
    const fold = new UsageReportFold({ ...request, by: [] });
    // The success of runs is not shown.
    for (const run of runsOfRows(some)) fold.add(run);
    return fold.report().total;
  };
  const of_session = rows.filter((row) => session_id !== null && row.session_id === session_id);
  const all_time = { since_ms: null, until_ms: null };
  return {
    today: sumOf(rows, { since_ms, until_ms: null }),
    session: of_session.length === 0 ? null : sumOf(of_session, all_time),
  };
}
