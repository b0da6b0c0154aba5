/** Runs that may grow: the events that their outcome covers, and the evidence for the state of unfinished ones. */
import type { Evidence } from '../../model/unfinished.ts';
import type { Database } from './database.ts';
import { DELETE_UNFINISHED, SAVE_UNFINISHED } from './index-schema.ts';

export function grownTable(db: Database) {
  return {
    /** Saves the evidence for the state of a run that may not be finished. Null: the run is finished. */
    saveEvidence: (run_id: string, evidence: Evidence | null) => {
      const sql = 'SELECT 1 FROM unfinished WHERE run_id = ?';
      // Most runs are finished, and were before.
      if (evidence === null && db.read((prepared) => prepared.get(sql, run_id)) === undefined)
        return;
      db.write((prepared) => {
        if (evidence === null) prepared.run(DELETE_UNFINISHED, JSON.stringify([run_id]));
        else prepared.run(SAVE_UNFINISHED, run_id, JSON.stringify(evidence));
      });
    },
    /** The runs that may not be finished, each with its agent and evidence. */
    unfinished: () =>
      db.readOrNone((prepared) =>
        prepared
          // Otherwise SQLite looks at all runs to find the few that are unfinished.
          .all('SELECT run_id, agent, evidence FROM unfinished CROSS JOIN runs USING (run_id)')
          .map((row) => ({
            run_id: String(row.run_id),
            agent: String(row.agent),
            evidence: JSON.parse(String(row.evidence)) as Evidence,
          })),
      ),
    /** The number of events that the outcome of a run that may grow covers. Null for other runs. */
    grownTo: (run_id: string) =>
      db.readOrNone((prepared) => {
        const row = prepared.get('SELECT events FROM grown WHERE run_id = ?', run_id);
        return row === undefined ? null : Number(row.events);
      }),
  };
}
