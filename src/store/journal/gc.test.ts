import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { journalLine } from '../../../test/fixtures/edit-journal.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { createCatalogue } from '../index/catalogue.ts';
import { openIndex } from '../index/index-db.ts';
import { unclosed } from '../index/segment-book.ts';
import { closeEnded } from '../index/watch-segments.ts';
import { openStateDir } from '../state-dir.ts';
import { collectRuns } from './gc.ts';
import { listSegments, newReport, segmentBytes } from './scan.ts';

const DEAD = { v: 1, pid: 1_073_741_824, ticks: 1, space: null, life: '0123456789abcdef' };

verifies('ST-5', 'a segment that is known to be closed is packed, unless it is small', async () => {
  const state = openStateDir(join(testFolder(), 'state'));
  const { journal } = state;
  const pathAt = (at: number) => join(journal, `${String(at).padStart(26, '0')}.jsonl`);
  for (const [at, chars] of [10, 100_000].entries()) {
    const line = journalLine({ s: `s${at}`, o: 'main', n: 1, e: 'x'.repeat(chars) });
    writeFileSync(pathAt(at), Buffer.concat([Buffer.from(`${JSON.stringify(DEAD)}\n`), line]));
  }
  using index = openIndex(state);
  await createCatalogue(journal, index).refresh(newReport());
  const sizes = listSegments(journal).map((segment) => ({
    segment,
    bytes: segmentBytes(journal, segment),
  }));
  unclosed(journal, index.book);
  closeEnded(journal, index.book, sizes);
  expect(unclosed(journal, index.book)).toEqual([]);
  const newCheck = () => ({ push: () => undefined, fault: () => null });
  await collectRuns(state, index, [], { now_ms: Date.now(), newCheck });
  const packed = [0, 1].map((at) => [existsSync(pathAt(at)), existsSync(`${pathAt(at)}.zst`)]);
  expect(packed).toEqual([
    [true, false],
    [false, true],
  ]);
});
