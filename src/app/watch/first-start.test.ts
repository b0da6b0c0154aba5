/** The first start of a watcher, with more sessions than it imports at once. */
import { appendFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { watchSessions } from './watch.ts';

const ID = '7e15eb39-6be6-4422-a6f5-9c0868fe7f65';
const RECORDED = `../../agents/claude/testdata/resume/session/.claude/projects/-home-user-project/${ID}.jsonl`;
const LINES = readFileSync(join(import.meta.dirname, RECORDED), 'utf8').split(/(?<=\n)/);
const SESSIONS = 80;
const DAY_MS = 86_400_000;
/** Several slices of time are needed for all sessions, on any machine. */
const EACH_MS = 30;

const NEWEST_MS = Date.UTC(2026, 9, 1);

/** The lines of the nth newest session. */
function linesOf(n: number): string[] {
  const day = new Date(NEWEST_MS - n * DAY_MS).toISOString().slice(0, 10);
  const own = `${ID.slice(0, -4)}${1000 + n}`;
  return LINES.map((line) => line.replaceAll(ID, own).replaceAll(/2026-11-\d\d/g, day));
}

verifies('WA-10', 'a session that grows during the first start is not the last', async () => {
  const home = testFolder();
  const folder = join(home, '.claude/projects/-p');
  mkdirSync(folder, { recursive: true });
  const paths = Array.from({ length: SESSIONS }, (_, n) => {
    const path = join(folder, `${ID.slice(0, -4)}${1000 + n}.jsonl`);
    writeFileSync(path, linesOf(n).slice(0, -2).join(''));
    const at_s = (NEWEST_MS - n * DAY_MS) / 1000;
    utimesSync(path, at_s, at_s);
    return path;
  });
  const oldest = paths.at(-1) as string;
  const took: string[] = [];
  const aborting = new AbortController();
  await watchSessions({
    state_dir: join(home, 'state'),
    env: { HOME: home },
    agents: ['claude'],
    ...{ redact: [], metadata_only: false, once: false, live: null, signal: aborting.signal },
    took({ path }) {
      took.push(path);
      if (took.length === 1)
        appendFileSync(
          oldest,
          linesOf(SESSIONS - 1)
            .slice(-2)
            .join(''),
        );
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EACH_MS);
    },
    caughtUp: () => aborting.abort(),
    say: () => undefined,
  });
  expect(took[0]).toBe(paths[0]);
  expect(new Set(took).size).toBe(SESSIONS);
  expect(took.indexOf(oldest)).toBeLessThan(SESSIONS / 2 + 20);
  // The others stay in their order.
  const others = took.filter((path) => path !== oldest);
  expect(others).toEqual(paths.slice(0, -1));
});
