import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { countCalls } from '../../../test/count-opens.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { createOutcomeFold, measuredBy } from '../../projections/outcome.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { transcriptPath } from '../../store/spool/run-files.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { transcriptsOfRuns } from './subjects.ts';

const runId = (n: number) => `r_01m7fgscfd${String(n).padStart(16, '0')}`;

async function stored(runs: number) {
  const state = openStateDir(join(testFolder(), 'state'));
  using index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  for (let n = 0; n < runs; n++) {
    const make = createMaker();
    const own = { run_id: runId(n) };
    const events = [make('run_started', { agent: 'demo' }, own), make('run_finished', {}, own)];
    const fold = createOutcomeFold({ keepIo: false });
    for (const event of events) fold.push(event);
    const { run_id } = own;
    const bodies = events.map((event) => ({ seq: event.seq, body: JSON.stringify(event) }));
    await journal.append(bodies.map((one) => ({ session: run_id, source: 'capture', ...one })));
    index.saveRuns([measuredBy(fold)]);
  }
  await journal.close();
  return state;
}

test('any number of recorded runs is graded with one open index', async () => {
  const opened: number[] = [];
  for (const runs of [1, 5]) {
    const state = await stored(runs);
    // Each time the index is opened, its file is checked.
    const looks = countCalls('lstatSync', (path) => path === state.db);
    const names = Array.from({ length: runs }, (_, n) => runId(n));
    const found: string[] = [];
    for await (const { path } of transcriptsOfRuns(state, names, () => undefined)) found.push(path);
    expect(found).toEqual(names);
    expect(names.every((name) => existsSync(transcriptPath(state, 'demo', name)))).toBe(true);
    opened.push(looks());
  }
  expect(opened[1]).toBe(opened[0]);
});
