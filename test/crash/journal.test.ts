import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { seededRandom } from '../../src/lib/ids.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { checkSession, lastAnswer, startWriter } from './writer.ts';

const CYCLES = 100;
const PLACES = ['before_write', 'mid_write', 'after_write', 'after_sync'];

function newFolder() {
  const folder = testFolder();
  const dir = openStateDir(join(folder, 'state')).journal;
  return { dir, answers: join(folder, 'answers') };
}

verifies(
  'ST-3',
  `${CYCLES} kills of a writer at any moment lose no acknowledged entry and store none twice`,
  async () => {
    const { dir, answers } = newFolder();
    const random = seededRandom('kill');
    let killed = 0;
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const before = existsSync(answers) ? lastAnswer(answers) : 0;
      const { child, ended } = startWriter([dir, 's'], answers);
      // From the first answer on: before it, only the start of the program would be hit.
      while (child.exitCode === null && lastAnswer(answers) <= before) await sleep(2);
      await sleep((random(1)[0] as number) / 10);
      child.kill('SIGKILL');
      if ((await ended) === 'SIGKILL') killed += 1;
      if (cycle % 10 === 9) await checkSession(dir, 's', lastAnswer(answers));
    }
    const stored = await checkSession(dir, 's', lastAnswer(answers));
    expect({ killed, many: stored > CYCLES }).toEqual({ killed: CYCLES, many: true });
  },
  600_000,
);

verifies(
  'ST-3',
  'a writer that dies before, in and after a write or after the sync loses nothing it acknowledged',
  async () => {
    const { dir, answers } = newFolder();
    writeFileSync(answers, '');
    for (const place of PLACES) {
      for (const nth of [1, 2, 5]) {
        const { ended } = startWriter([dir, 's'], answers, { TACHO_FAIL_AT: `${place}:${nth}` });
        expect(await ended).toBe('SIGKILL');
        await checkSession(dir, 's', lastAnswer(answers));
      }
    }
    const last = lastAnswer(answers) + 100;
    expect(await startWriter([dir, 's', String(last)], answers).ended).toBe(0);
    expect(await checkSession(dir, 's', last)).toBe(last);
  },
  300_000,
);

verifies(
  ['ST-6', 'ST-3'],
  'two writers in one state folder, one of them killed again and again, lose nothing',
  async () => {
    const { dir, answers } = newFolder();
    const other = `${answers}-other`;
    const steady = startWriter([dir, 'steady', '3000'], other);
    writeFileSync(answers, '');
    let running = true;
    const done = steady.ended.finally(() => {
      running = false;
    });
    for (let cycle = 0; cycle < 5 || running; cycle++) {
      const { child, ended } = startWriter([dir, 'unsteady'], answers);
      const before = lastAnswer(answers);
      while (child.exitCode === null && lastAnswer(answers) <= before) await sleep(2);
      child.kill('SIGKILL');
      await ended;
    }
    expect(await done).toBe(0);
    expect(await checkSession(dir, 'steady', lastAnswer(other))).toBe(3000);
    await checkSession(dir, 'unsteady', lastAnswer(answers));
  },
  300_000,
);
