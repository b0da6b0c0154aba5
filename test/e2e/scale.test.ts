import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createOutcomeFold } from '../../src/projections/outcome.ts';
import { openIndex } from '../../src/store/index/index-db.ts';
import { openJournal } from '../../src/store/journal/journal.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { measured } from '../measured.ts';
import { verifies } from './verifies.ts';

const runId = (n: number) => `r_01m7ek9wah${String(n).padStart(16, '0')}`;

/** The measurements are in bench/; this only checks that results stay right at this size, within a generous time. */
verifies(
  'ST-4',
  'ten thousand outcomes and a journal of a hundred thousand events open quickly',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tacho-scale-'));
    try {
      const state = openStateDir(join(folder, 'state'));
      const index = openIndex(state);
      const empty = createOutcomeFold({ keepIo: false }).finish();
      const started = performance.now();
      const outcome = (n: number) => ({ ...empty, run_id: runId(n), agent: 'demo' });
      index.saveRuns(measured(...Array.from({ length: 10_000 }, (_, n) => outcome(n))));
      expect(performance.now() - started).toBeLessThan(20_000);
      const journal = openJournal(state.journal, { index });
      for (let run = 0; run < 100; run++) {
        const session = runId(run);
        journal.begin(session);
        await journal.append(
          Array.from({ length: 1_000 }, (_, i) => ({
            session,
            source: 'capture',
            seq: i + 1,
            body: '{"x":1}',
          })),
        );
      }
      await journal.close();
      index.close();

      const reopened = performance.now();
      const again = openIndex(state);
      expect([...again.listRuns({ limit: 5 })]).toHaveLength(5);
      expect(again.findRuns(runId(9_999))).toHaveLength(1);
      const reader = openJournal(state.journal, { index: again });
      expect(await reader.lastSeq(runId(7), 'capture')).toBe(1_000);
      expect(performance.now() - reopened).toBeLessThan(20_000);
      await reader.close();
      again.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
