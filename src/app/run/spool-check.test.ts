import { expect } from 'vitest';
import { CONFIG } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { checkMeta } from './spool-check.ts';

verifies('ST-3', 'a meta.json gives the fields that are known: others may be of any size', () => {
  const meta = {
    version: 1,
    run_id: 'r_1',
    config: CONFIG,
    prompt: 'p',
    cwd: '/',
    started_ms: 1_700_000_000_000,
    keep_raw: false,
    redact: [],
    secrets: { KEY: 'value' },
    owner: { pid: 7, ticks: 1, space: null },
    agent: { pid: 8, start: '1' },
  };
  const more = { x: [[[]]] };
  const agent = { ...meta.agent, ...more };
  const owner = { ...meta.owner, ...more };
  const config = { ...meta.config, ...more };
  expect(checkMeta({ ...meta, ...more, agent, owner, config })).toEqual({ meta });
});
