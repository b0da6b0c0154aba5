/** Folders with sessions, if more exist than can be watched. */
import { appendFileSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { useLimits } from '../../../test/use-limits.ts';
import { agentOf } from '../config/agent-of.ts';
import { APP_LIMITS } from '../limits.ts';
import { Folders } from './folders.ts';

const MINUTE_MS = 60_000;

/** Projects with one session each, the last one the newest. */
async function place(projects: number) {
  const home = testFolder();
  const now_ms = Date.now() - projects * MINUTE_MS;
  const paths = Array.from({ length: projects }, (_, n) => {
    const path = join(home, '.claude/projects', `project-${n}`, `session-${n}.jsonl`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '{}\n');
    const time = new Date(now_ms + n * MINUTE_MS);
    utimesSync(path, time, time);
    return path;
  });
  const hints = new Set<string>();
  const folders = new Folders([await agentOf('claude')], { HOME: home }, (path) => hints.add(path));
  onTestFinished(() => folders.close());
  const hinted = async (path: string) => {
    for (let tries = 0; tries < 200 && !hints.has(path); tries++) await sleep(10);
    return hints.has(path);
  };
  return { paths, folders, hinted };
}

verifies(
  'WA-5',
  'if not all folders can be watched, those with the newest sessions are, and the others are counted',
  async () => {
    // The folder of all projects, and two projects.
    useLimits(APP_LIMITS, { watched_folders_max: 3 });
    const { paths, folders, hinted } = await place(6);
    expect(folders.scan().length).toBe(6);
    expect(folders.unwatched).toBe(4);
    const [oldest = '', , , , , newest = ''] = paths;
    appendFileSync(newest, '{}\n');
    expect(await hinted(newest)).toBe(true);
    // A scan finds what was written to the others, and watches their folder from then on.
    appendFileSync(oldest, '{}\n');
    expect(folders.scan().map(({ path }) => path)).toContain(oldest);
    expect(folders.unwatched).toBe(4);
    appendFileSync(oldest, '{}\n');
    expect(await hinted(oldest)).toBe(true);
  },
);

verifies('WA-5', 'folders that disappear are forgotten', async () => {
  useLimits(APP_LIMITS, { watched_folders_max: 3 });
  const { paths, folders } = await place(6);
  for (let n = 0; n < 3; n++) folders.scan();
  expect(folders.unwatched).toBe(4);
  for (const path of paths.slice(0, 3)) rmSync(dirname(path), { recursive: true });
  folders.scan();
  expect([folders.unwatched, folders.files.size]).toEqual([1, 3]);
  for (const path of paths.slice(3)) rmSync(dirname(path), { recursive: true });
  folders.scan();
  expect([folders.unwatched, folders.files.size]).toEqual([0, 0]);
});
