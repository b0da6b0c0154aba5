import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifies } from '../../test/e2e/verifies.ts';
import { testFolder } from '../../test/fixtures/folder.ts';
import { makerOf, startPrivate } from './files.ts';
import { openStateDir } from './state-dir.ts';
import { sweepLeftovers, sweepUnfinished } from './sweep.ts';

const DEAD = 2 ** 22 + 1;

test('files in the making of dead processes are removed, others stay', () => {
  const folder = testFolder();
  const names = {
    dead: join('transcripts', 'demo', `.r_1.json.${DEAD}-812.55.tmp`),
    'dead, in the root': `.mark.${DEAD}-3.tmp`,
    alive: join('transcripts', 'demo', `.r_2.json.${process.pid}-812.5.tmp`),
    'too new': join('logs', 'demo', `.r_1.jsonl.${DEAD}-812.5.tmp`),
    foreign: join('logs', 'demo', 'notes.tmp'),
  };
  const before = Date.now() / 1000 - 600;
  for (const [about, name] of Object.entries(names)) {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'said');
    if (about !== 'too new') utimesSync(path, before, before);
  }
  sweepUnfinished(folder);
  const left = Object.entries(names).filter(([, name]) => existsSync(join(folder, name)));
  expect(left.map(([about]) => about)).toEqual(['alive', 'too new', 'foreign']);
  sweepUnfinished(join(folder, 'nothing'));
});

test('the name of a file in the making says who makes it', () => {
  const folder = testFolder();
  const file = startPrivate(join(folder, 'a.json'), 'test');
  expect(readdirSync(folder).map(makerOf)).toEqual([process.pid]);
  file.abandon();
  expect(readdirSync(folder)).toEqual([]);
});

verifies('ST-5', 'the index of a killed reindex goes with the next removal of runs', () => {
  const state = openStateDir(join(testFolder(), 'state'));
  for (const end of ['', '-wal', '-shm'])
    writeFileSync(`${state.db}.new-0123456789ab${end}`, 'said');
  writeFileSync(state.db, '');
  sweepLeftovers(state);
  expect(readdirSync(state.path).filter((name) => name.startsWith('tacho.db'))).toEqual([
    'tacho.db',
  ]);
});
