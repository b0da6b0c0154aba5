import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { openStateDir } from '../../store/state-dir.ts';
import { type Closing, endRun } from './close-run.ts';

/** What the end of a run needs of it, with a journal that fails when it is closed. */
function closing(check: () => void): Closing {
  const desk = {
    run_id: 'r_1',
    state: openStateDir(join(testFolder(), 'state')),
    recorder: { failed: [] },
    covers: [],
    outcome: () => ({ run_id: 'r_1', agent: 'toy', exit_reason: 'ok' }),
    transcript: () => null,
    close: async () => {},
    journal: {
      check,
      close: async () => {
        throw new Error('cannot be closed');
      },
    },
  };
  return { desk, cause: null, spool: null, request: {} } as unknown as Closing;
}

verifies('ST-2', 'a record that is removed after the end of its run is no record', async () => {
  const kept = await endRun(
    closing(() => {}),
    true,
  );
  expect(kept).toMatchObject({ recorded: true, exit_reason: 'ok' });
  expect(kept.unlisted).toMatch(/recorded but not listed: cannot be closed/);
  const lost = await endRun(
    closing(() => {
      throw new Error('was removed or replaced');
    }),
    true,
  );
  expect(lost).toMatchObject({ recorded: false, exit_reason: 'capture_error' });
  expect(lost.unlisted).toMatch(/the record of the run is lost: was removed/);
});
