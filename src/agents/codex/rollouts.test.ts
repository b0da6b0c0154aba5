/** Which files belong to sub-agents of a session, for one session and for all sessions of a home. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import type { Memo } from '../../model/agent.ts';
import { isMain, subAgents } from './rollouts.ts';

const DAYS = ['2026/11/13', '2026/11/14', '2026/11/15'];
const SESSIONS = 12;

interface Names {
  session_id?: string;
  parent_thread_id?: string;
}

/** Sessions on three days. Some have sub-agents, some of these have their own, partly on the next day. */
function home(): string[] {
  const root = join(testFolder(), 'sessions');
  const paths: string[] = [];
  const write = (day: string, time: string, id: string, names: Names) => {
    const folder = join(root, day);
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `rollout-${day.replaceAll('/', '-')}T${time}-${id}.jsonl`);
    const payload = { id, session_id: id, ...names };
    writeFileSync(path, `${JSON.stringify({ type: 'session_meta', payload })}\n`);
    paths.push(path);
  };
  for (const [d, day] of DAYS.entries())
    for (let n = 0; n < SESSIONS; n++) {
      const id = `s${d}x${n}`;
      const hour = String(n).padStart(2, '0');
      write(day, `${hour}-00-00`, id, {});
      if (n % 2 === 0) write(day, `${hour}-00-01`, `${id}-a`, { parent_thread_id: id });
      if (n % 4 === 0) write(day, `${hour}-00-02`, `${id}-b`, { parent_thread_id: `${id}-a` });
      const late = { parent_thread_id: 'unknown', session_id: id };
      if (n % 3 === 0) write(DAYS[d + 1] ?? day, `${hour}-30-00`, `${id}-c`, late);
      // Its name sorts before its parent's.
      if (n % 6 === 0) write(day, `${hour}-00-00`, `${id}-0`, { parent_thread_id: `${id}-a` });
    }
  return paths;
}

verifies('AG-15', 'a query for all sessions of a home reads each file once', async () => {
  const paths = home();
  const alone = new Map<string, string[]>();
  for (const path of paths)
    alone.set(
      path,
      (await subAgents(path)).map((part) => basename(part.path)),
    );
  expect([...alone.values()].flat().length).toBeGreaterThan(SESSIONS * 2);
  const memo: Memo = new Map();
  expect((await Promise.all(paths.map((path) => isMain(path, memo)))).filter(Boolean).length).toBe(
    DAYS.length * SESSIONS,
  );
  const [first = ''] = paths;
  await subAgents(first, undefined, memo);
  for (const path of paths) writeFileSync(path, 'changed\n');
  const together = new Map<string, string[]>();
  for (const path of paths)
    together.set(
      path,
      (await subAgents(path, undefined, memo)).map((part) => basename(part.path)),
    );
  expect(together).toEqual(alone);
});

verifies(
  'AG-15',
  'only the ids are kept from a first line that is longer than the head',
  async () => {
    const folder = testFolder();
    const paths = Array.from({ length: 200 }, (_, n) => {
      const id = `aaaaaaaa-0000-4000-8000-${String(n).padStart(12, '0')}`;
      const path = join(folder, `rollout-2026-11-13T10-00-00-${id}.jsonl`);
      const payload = { id, session_id: id, instructions: 'x'.repeat(100_000) };
      writeFileSync(path, JSON.stringify({ type: 'session_meta', payload }));
      return path;
    });
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const memo: Memo = new Map();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (const path of paths) expect(await isMain(path, memo)).toBe(true);
    collect();
    // The heads add up to 13 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000);
    expect(memo.size).toBe(paths.length);
  },
);

verifies('AG-15', 'a folder that cannot be listed is reported to every session', async () => {
  const paths = home();
  const [first = '', second = ''] = paths.filter((path) => path.includes(DAYS[0] ?? ''));
  const next = join(first, '../../15');
  rmSync(next, { recursive: true });
  // A link to itself.
  symlinkSync(next, next);
  const memo: Memo = new Map();
  for (const path of [first, second]) {
    const errors: string[] = [];
    const alone: string[] = [];
    await subAgents(path, (error) => errors.push(error.message), memo);
    await subAgents(path, (error) => alone.push(error.message));
    expect(errors).toEqual(alone);
    expect(errors[0]).toContain('ELOOP');
  }
});
