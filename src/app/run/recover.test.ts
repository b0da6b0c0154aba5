import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { createSpool } from '../../store/spool/spool.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { recoverAll } from './recover.ts';
import type { Recovery } from './recover-run.ts';

const runId = (n: number) => `r_01m7fgscfd${String(n).padStart(16, '0')}`;
const newState = () => openStateDir(join(testFolder(), 'state'));

async function all(...args: Parameters<typeof recoverAll>): Promise<Recovery[]> {
  const found: Recovery[] = [];
  for await (const recovery of recoverAll(...args)) found.push(recovery);
  return found;
}

verifies(
  'ST-3',
  'a spool that cannot be locked is named, and the others get their turn',
  async () => {
    const state = newState();
    for (const n of [1, 2]) mkdirSync(join(createSpool(state, runId(n)).path, 'recovering'));
    const found = await all(state, { wait: false });
    expect(found).toEqual([
      { state: 'unreadable', run_id: runId(1), why: expect.stringContaining('recovering') },
      { state: 'unreadable', run_id: runId(2), why: expect.stringContaining('recovering') },
    ]);
  },
);

verifies('ST-3', 'a recovery removes files in the making of dead processes', async () => {
  const state = newState();
  const left = join(
    state.transcripts,
    'demo',
    `.${runId(1)}.transcript.jsonl.${2 ** 22 + 1}-5.tmp`,
  );
  mkdirSync(dirname(left), { recursive: true });
  writeFileSync(left, 'said in a run');
  utimesSync(left, 1_700_000_000, 1_700_000_000);
  expect(await all(state, { wait: false })).toEqual([]);
  expect(existsSync(left)).toBe(false);
});

verifies(['ST-3', 'ST-8'], 'every recovery removes temporary files of dead processes', async () => {
  for (const auto of [null, { until_ms: Number.POSITIVE_INFINITY }]) {
    const state = newState();
    mkdirSync(state.tmp, { recursive: true });
    const left = join(state.tmp, `spill-${2 ** 22 + 1}-5-0123456789ab`);
    writeFileSync(left, 'said in a run');
    expect(await all(state, { wait: false, auto })).toEqual([]);
    expect(existsSync(left)).toBe(false);
  }
});
