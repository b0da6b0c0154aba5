/** Commands that change the store run one at a time. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { useLimits } from '../../../test/use-limits.ts';
import { STORE_LIMITS } from '../../store/limits.ts';
import { openStateDir, type StateDir } from '../../store/state-dir.ts';
import { lockStore, tryStoreLock, withStoreLock } from '../../store/store-lock.ts';
import { importSessions } from '../sessions/import.ts';
import { reindex } from './reindex.ts';
import { removeRuns } from './remove.ts';
import { restore } from './restore.ts';
import { collect } from './retention.ts';

const RUN = 'r_01m7fgscfd0000000000000001';

function archive(state: StateDir): string {
  const path = join(state.path, 'a.jsonl.zst');
  writeFileSync(path, '');
  return path;
}

const COMMANDS: Record<string, (state: StateDir) => Promise<unknown>> = {
  rm: (state) => removeRuns(state, [RUN]),
  gc: (state) => collect(state, [], { now_ms: 0, dry_run: false }),
  reindex: (state) => reindex(state),
  restore: (state) => restore(state, archive(state), { runs: [] }),
  import: (state) => importSessions([], { state_dir: state.path, env: {}, redact: [] }).next(),
};

const withoutWaiting = () => useLimits(STORE_LIMITS, { lock_wait_ms: 0 });

for (const [name, command] of Object.entries(COMMANDS))
  verifies('ST-6', `${name} is refused while another command changes the store`, async () => {
    withoutWaiting();
    const state = openStateDir(join(testFolder(), 'state'));
    const release = await lockStore(state, {});
    const lock_file = join(state.path, 'store.lock');
    await expect(command(state)).rejects.toMatchObject({
      code: 'busy',
      message: expect.stringMatching(
        new RegExp(
          `^the store in ${state.path} is in use by .*--force \\(lock file: ${lock_file}\\)$`,
        ),
      ),
    });
    release();
    tryStoreLock(state)?.();
  });

verifies(
  'ST-6',
  'a command waits for the previous one, reports it, and runs after that one has failed',
  async () => {
    const state = openStateDir(join(testFolder(), 'state'));
    const order: string[] = [];
    const said: string[] = [];
    const first = withStoreLock(state, {}, async () => {
      order.push('first begins');
      while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      order.push('first ends');
      throw new Error('failed');
    });
    const say = (text: string) => void said.push(text);
    const second = withStoreLock(state, { say }, async () => void order.push('second'));
    await expect(first).rejects.toThrow('failed');
    await second;
    expect(order).toEqual(['first begins', 'first ends', 'second']);
    expect(said).toEqual([
      expect.stringMatching(/^note: the store in .* is in use by .*; waiting$/),
    ]);
    const release = tryStoreLock(state);
    expect([release === null, tryStoreLock(state)]).toEqual([false, null]);
    release?.();
  },
);
