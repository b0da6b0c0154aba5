import type { ChildProcess } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
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

/** A kill before the writer's first answer would only hit its start-up. */
async function nextAnswer(child: ChildProcess, answers: string): Promise<void> {
  const { size } = statSync(answers);
  while (child.exitCode === null && statSync(answers).size === size) await sleep(2);
}

verifies(
  'ST-3',
  `${CYCLES} kills of a writer at random moments lose no acknowledged entry and store none twice`,
  async () => {
    let { dir, answers } = newFolder();
    const random = seededRandom('kill');
    let killed = 0;
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      // A writer reads the journal first: a new folder from time to time keeps most of the time for writing.
      if (cycle % 10 === 0) ({ dir, answers } = newFolder());
      const { child, ended } = startWriter([dir, 's'], answers);
      await nextAnswer(child, answers);
      await sleep((random(1)[0] as number) / 10);
      child.kill('SIGKILL');
      if ((await ended) === 'SIGKILL') killed += 1;
      if (cycle % 5 === 4) await checkSession(dir, 's', lastAnswer(answers));
    }
    expect(killed).toBe(CYCLES);
  },
  600_000,
);

verifies(
  'ST-3',
  'a writer that dies before, during or after a write, or after the sync, loses no acknowledged entry',
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
  'ST-3',
  'a writer that dies while packing a segment loses nothing, whichever parts of both forms exist',
  async () => {
    const { dir, answers } = newFolder();
    writeFileSync(answers, '');
    for (const place of ['mid_pack', 'before_packed', 'after_packed']) {
      for (const nth of [1, 2, 4]) {
        const { ended } = startWriter([dir, 's'], answers, { TACHO_FAIL_AT: `${place}:${nth}` });
        expect(await ended).toBe('SIGKILL');
        await checkSession(dir, 's', lastAnswer(answers));
      }
    }
    const names = readdirSync(dir);
    const both = names.filter((name) => names.includes(`${name}.zst`));
    expect(both.length).toBeGreaterThan(0);
    const last = lastAnswer(answers) + 100;
    expect(await startWriter([dir, 's', String(last)], answers).ended).toBe(0);
    expect(await checkSession(dir, 's', last)).toBe(last);
  },
  300_000,
);

verifies(
  ['ST-6', 'ST-3'],
  'two writers in one state folder, one of them killed repeatedly, lose nothing',
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
      await nextAnswer(child, answers);
      child.kill('SIGKILL');
      await ended;
    }
    expect(await done).toBe(0);
    expect(await checkSession(dir, 'steady', lastAnswer(other))).toBe(3000);
    await checkSession(dir, 'unsteady', lastAnswer(answers));
  },
  300_000,
);
