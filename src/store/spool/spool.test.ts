import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { STORE_LIMITS } from '../limits.ts';
import { openStateDir } from '../state-dir.ts';
import {
  createSpool,
  hasOutput,
  listSpools,
  readMeta,
  removeSpool,
  SPOOL_MARK,
  sweepRemoved,
} from './spool.ts';

const folder = mkdtempSync(join(tmpdir(), 'tacho-spool-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('an interrupted removal is not a spool to recover, and is finished', () => {
  const state = openStateDir(join(folder, 'state'));
  const spool = createSpool(state, 'r_01m7ezp9qekhgwkde4c6j49f0k');
  const left = join(state.spool, `.removed-${spool.name}`);
  mkdirSync(left);
  writeFileSync(join(left, 'stdout'), 'x');
  expect(listSpools(state)).toEqual([spool]);
  sweepRemoved(state);
  expect(existsSync(left)).toBe(false);
  mkdirSync(left);
  removeSpool(spool);
  expect(readdirSync(state.spool)).toEqual([]);
});

test('the mark, or a part of it, is not output of the agent', () => {
  const state = openStateDir(join(folder, 'state'));
  const { stdout } = createSpool(state, 'r_01m7ezp9qekhgwkde4c6j49f0k');
  expect(hasOutput(stdout)).toBe(false);
  for (const [bytes, output] of [
    [SPOOL_MARK.subarray(0, 5), false],
    ['', false],
    ['x', true],
    [`${SPOOL_MARK}x`, true],
  ] as const) {
    writeFileSync(stdout, bytes);
    expect(hasOutput(stdout)).toBe(output);
  }
  rmSync(stdout);
  expect(hasOutput(stdout)).toBe(false);
  mkdirSync(stdout);
  expect(hasOutput(stdout)).toBe(true);
});

test('a meta.json over its limit is not read', () => {
  const spool = createSpool(openStateDir(join(folder, 'state')), 'r_01m7ezp9qekhgwkde4c6j49f0k');
  writeFileSync(spool.meta, '{');
  truncateSync(spool.meta, STORE_LIMITS.spool_meta_bytes_max + 1);
  expect(() => readMeta(spool)).toThrow(`over ${STORE_LIMITS.spool_meta_bytes_max}`);
});
