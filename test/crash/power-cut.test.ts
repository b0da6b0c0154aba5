import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { seededRandom } from '../../src/lib/ids.ts';
import { listSegments } from '../../src/store/journal/scan.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { makeImage, mount, unmount, whyNoMount } from './mount.ts';
import { checkSession, lastAnswer, startWriter } from './writer.ts';

const PACK_LEFT = join(import.meta.dirname, '../../src/store/journal/pack-left.ts');
const CUTS = 5;
const UNSYNCED = Buffer.alloc(1_000_000, 1);
const why = whyNoMount('loop');
const unless = why === null ? '' : ` (NOT RUN: ${why})`;

// The image is copied while the writer is stopped: it holds the data that reached the device, not the page cache of the
// file system above it, as after a power cut.
verifies(
  'ST-3',
  `${CUTS} power cuts lose no acknowledged entry${unless}`,
  async () => {
    if (why !== null) return;
    const random = seededRandom('power');
    let answered_in_all = 0;
    let unsynced_lost = 0;
    for (let cut = 0; cut < CUTS; cut++) {
      const folder = testFolder();
      const image = join(folder, 'image');
      const answers = join(folder, 'answers');
      makeImage(image, 64);
      const disk = join(folder, 'disk');
      mount(['-o', 'loop', image], disk);
      onTestFinished(() => unmount(disk));
      const { journal: dir } = openStateDir(join(disk, 'state'));
      writeFileSync(answers, '');
      const { child, ended } = startWriter([dir, 's'], answers);
      while (child.exitCode === null && statSync(answers).size === 0) await sleep(2);
      await sleep(50 + (random(1)[0] as number));
      writeFileSync(join(disk, 'unsynced'), UNSYNCED);
      child.kill('SIGSTOP');
      await stopped(child.pid as number);
      const answered = lastAnswer(answers);
      const copy = join(folder, 'copy');
      copyFileSync(image, copy);
      child.kill('SIGKILL');
      await ended;
      const after = join(folder, 'after');
      mount(['-o', 'loop', copy], after);
      try {
        await checkSession(join(after, 'state', 'journal'), 's', answered);
        const left = statSync(join(after, 'unsynced'), { throwIfNoEntry: false });
        if (left?.size !== UNSYNCED.length) unsynced_lost += 1;
      } finally {
        unmount(after);
      }
      answered_in_all += answered;
    }
    expect(answered_in_all).toBeGreaterThan(CUTS);
    // The cut is real: unsynced data is lost.
    expect(unsynced_lost).toBeGreaterThan(0);
  },
  300_000,
);

/** Packs the only segment of a journal, in a separate process that may be killed at a failpoint. */
function packIn(dir: string, fail_at: string): void {
  const [segment] = listSegments(dir);
  const code = `import(${JSON.stringify(PACK_LEFT)}).then((m) => m.packLeft(...process.argv.slice(1)))`;
  const env = { ...process.env, TACHO_FAIL_AT: fail_at };
  const { signal, status } = spawnSync(process.execPath, ['-e', code, dir, segment as string], {
    env,
  });
  expect([signal, status]).toEqual(fail_at === '' ? [null, 0] : ['SIGKILL', null]);
}

for (const fail_at of ['', 'after_packed'])
  verifies(
    'ST-3',
    `a power cut after packing the segment of a dead writer loses nothing${fail_at === '' ? '' : ', killed too'}${unless}`,
    async () => {
      if (why !== null) return;
      const folder = testFolder();
      const [image, copy, answers, disk, after] = ['image', 'copy', 'answers', 'disk', 'after'].map(
        (name) => join(folder, name),
      ) as [string, string, string, string, string];
      makeImage(image, 64);
      mount(['-o', 'loop', image], disk);
      onTestFinished(() => unmount(disk));
      const { journal: dir } = openStateDir(join(disk, 'state'));
      writeFileSync(answers, '');
      // Dies between a write and its sync: the last entries are only in the page cache.
      const { ended } = startWriter([dir, 's', '10000', '10000000'], answers, {
        TACHO_FAIL_AT: 'after_write:60',
      });
      expect(await ended).toBe('SIGKILL');
      const answered = lastAnswer(answers);
      const found = await checkSession(dir, 's', answered);
      expect(found).toBeGreaterThan(answered);
      packIn(dir, fail_at);
      copyFileSync(image, copy);
      mount(['-o', 'loop', copy], after);
      try {
        expect(await checkSession(join(after, 'state', 'journal'), 's', found)).toBe(found);
      } finally {
        unmount(after);
      }
    },
  );

async function stopped(pid: number): Promise<void> {
  const state = () => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0];
  while (state() !== 'T') await sleep(1);
}
