/** The newest runs of an index, for shell completion. */
import { IN_ORDER } from './index-schema.ts';
import { readOnly } from './read-only.ts';
import type { RunRow } from './runs-table.ts';

export type RecentRun = Pick<
  RunRow,
  'run_id' | 'agent' | 'model' | 'project' | 'prompt' | 'labels'
>;

const RECENT = `SELECT run_id, agent, model, project, prompt, labels FROM runs ${IN_ORDER} LIMIT ?`;

/** None if the index cannot be read. */
export const recentRuns = (path: string, most: number): RecentRun[] =>
  readOnly(path, (db) => db.prepare(RECENT).all(most).map(recentOf)) ?? [];

function recentOf({ labels, ...row }: Record<string, unknown>): RecentRun {
  return { ...(row as unknown as RecentRun), labels: JSON.parse(String(labels)) };
}
