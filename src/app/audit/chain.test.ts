/** The chain compared with a store: runs that grow, and runs that were changed before they grew. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMaker } from '../../../test/build-events.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { newRunId, seededRandom } from '../../lib/ids.ts';
import { CAPTURE_SOURCE } from '../../model/words.ts';
import { createOutcomeFold, measuredBy } from '../../projections/outcome.ts';
import { appendChain, readChain } from '../../store/chain/chain.ts';
import { createCatalogue } from '../../store/index/catalogue.ts';
import { openIndex } from '../../store/index/index-db.ts';
import { openJournal } from '../../store/journal/journal.ts';
import { newReport } from '../../store/journal/scan.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { chainHead, checkChain } from './chain.ts';

const run_id = newRunId(1_000, seededRandom('grows'));

/** Appends the events from `from` on, and saves the row. */
async function store(state: StateDir, texts: readonly string[], from = 0): Promise<void> {
  const event = createMaker();
  const fold = createOutcomeFold({ keepIo: false });
  const all = texts.map((text) => ({ ...event('notice', { text }), run_id }));
  for (const one of all) fold.push(one);
  using index = openIndex(state);
  const journal = openJournal(state.journal, { index });
  const entries = all
    .map((one) => ({
      session: run_id,
      source: CAPTURE_SOURCE,
      seq: one.seq,
      body: JSON.stringify(one),
    }))
    .slice(from);
  await journal.append(entries);
  await journal.close();
  await createCatalogue(state.journal, index).refresh(newReport());
  index.saveRuns([measuredBy(fold)]);
}

test('a run that grows gets a new entry, and its earlier ones are still valid', async () => {
  const state = openStateDir(join(testFolder(), 'state'));
  await store(state, ['a', 'b']);
  await chainHead(state, 1);
  await store(state, ['a', 'b', 'c'], 2);
  expect(await checkChain(state)).toMatchObject({
    entries: 1,
    runs: 1,
    not_chained: 1,
    faults: [],
  });
  await chainHead(state, 2);
  await chainHead(state, 3);
  expect(readChain(state)?.entries.map(({ events }) => events)).toEqual([2, 3]);
  expect(await checkChain(state)).toMatchObject({ runs: 1, not_chained: 0, faults: [] });
});

test('a run that was changed is found, although a later entry has its new content', async () => {
  const state = openStateDir(join(testFolder(), 'state'));
  await store(state, ['a', 'b']);
  await chainHead(state, 1);
  const [entry] = readChain(state)?.entries ?? [];
  const other = openStateDir(join(testFolder(), 'state'));
  await store(other, ['a', 'changed', 'c']);
  // The same first entry, in a store with other events.
  appendChain(other, entry === undefined ? [] : [entry], 1);
  await chainHead(other, 2);
  expect((await checkChain(other))?.faults).toEqual([
    `the events of run ${run_id} differ from those of entry 1`,
  ]);
});
