import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { succeeds } from '../../../test/e2e/needs.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { type ProcessStat, parseStat } from '../../lib/process-stat.ts';
import { type ProcessTable, parsePsLine } from './process-table.ts';
import { listTree, type TreeRoot } from './process-tree.ts';

type Row = [pid: number, ppid: number, pgid: number, session: number | null, start: number];

function tableOf(rows: readonly Row[], marked: readonly number[] = []): ProcessTable {
  const list = rows.map(
    ([pid, ppid, pgid, session, start]): ProcessStat => ({
      pid,
      ppid,
      pgid,
      session,
      name: `p${pid}`,
      start: String(start),
    }),
  );
  return {
    list: async () => list,
    startOf: (pid) => list.find((one) => one.pid === pid)?.start ?? null,
    notEarlier: (a, b) => Number(a) >= Number(b),
    hasEnv: async (pid, entry) => entry === 'TACHO_RUN_ID=r_1' && marked.includes(pid),
  };
}

const pidsOf = async (root: Partial<TreeRoot>, rows: readonly Row[], marked?: number[]) =>
  (await listTree({ pid: 500, run_id: 'r_1', ...root }, tableOf(rows, marked))).map((p) => p.pid);

/** Far above any pid on this machine, so that none is ours. */
const far = 90_000_000;
const system: Row[] = [
  [1, 0, 1, 1, 1],
  [2, 0, 0, 0, 1],
  [far, 1, far, null, 5],
  [far + 1, 1, far + 1, 0, 900],
  [far + 2, far + 1, far + 1, null, 950],
];

test('the tree is the group, session, descendants and marked daemons, and nothing else', async () => {
  const rows: Row[] = [
    ...system,
    [500, far, 500, 500, 100],
    [501, 500, 500, 500, 101],
    [502, 1, 502, 500, 102],
    [503, 1, 500, 503, 103],
    [504, 501, 504, 504, 104],
    [505, 504, 505, 505, 105],
    [506, 1, 506, 506, 106],
    [507, 506, 507, 507, 107],
  ];
  expect(await pidsOf({ start: '100' }, rows, [506])).toEqual([
    500, 501, 502, 503, 504, 505, 506, 507,
  ]);
  expect(await pidsOf({}, rows, [506])).toEqual([500, 501, 502, 503, 504, 505, 506, 507]);
});

test('when another process has the pid of the agent, only marked processes are in the tree', async () => {
  const rows: Row[] = [
    ...system,
    [500, 1, 500, 500, 700],
    [501, 500, 500, 500, 701],
    [502, 1, 502, null, 702],
  ];
  expect(await pidsOf({ start: '100' }, rows)).toEqual([]);
  expect(await pidsOf({ start: '100' }, rows, [502])).toEqual([502]);
});

test('start times in another format match nothing', async () => {
  const rows: Row[] = [...system, [500, far, 500, null, 100], [501, 500, 500, null, 101]];
  expect(await pidsOf({ start: 'Sun Nov 15 03:00:00 2026' }, rows)).toEqual([]);
});

test('a process that started before the agent is never in its tree', async () => {
  const rows: Row[] = [...system, [500, far, 500, 500, 100], [501, 500, 500, 500, 99]];
  expect(await pidsOf({ start: '100' }, rows, [far])).toEqual([500]);
});

test('a missing, 0, 1, negative or fractional pid has no tree', async () => {
  const pids = [Number.NaN, 0, 1, -1, -500, 500.5, Number.POSITIVE_INFINITY];
  const found = await Promise.all(pids.map((pid) => pidsOf({ pid }, system)));
  expect(found).toEqual(pids.map(() => []));
});

test('this process and its ancestors are never in a tree', async () => {
  const rows: Row[] = [
    ...system,
    [500, far, 500, 500, 100],
    [501, 500, 500, 500, 101],
    [process.ppid, 501, 500, 500, 102],
    [process.pid, process.ppid, 500, 500, 103],
  ];
  expect(await pidsOf({ start: '100' }, rows, [process.pid])).toEqual([]);
});

test('a stat line is parsed whatever the name contains, and a zombie is skipped', () => {
  const rest = '7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1000 2';
  expect(parseStat(`42 (a) b (c) S ${rest}\n`)).toEqual({
    pid: 42,
    ppid: 7,
    pgid: 8,
    session: 9,
    name: 'a) b (c',
    start: '12345',
  });
  expect(parseStat(`42 (gone) Z ${rest}\n`)).toBe(null);
  expect(['', '42', '42 (x', '42 (x) S 1'].map(parseStat)).toEqual([null, null, null, null]);
});

test('a line of ps is parsed, and a zombie is skipped', () => {
  expect(parsePsLine('   42     7    8 Ss+  Sun Nov  1 03:02:01 2026 /bin/a b')).toEqual({
    pid: 42,
    ppid: 7,
    pgid: 8,
    session: null,
    name: '/bin/a b',
    start: 'Sun Nov  1 03:02:01 2026',
  });
  expect(parsePsLine('42 7 8 Z Sun Nov  1 03:02:01 2026 <defunct>')).toBe(null);
  expect(parsePsLine('')).toBe(null);
});

verifies(
  'ST-3',
  'in a /proc of another process namespace, no process is mistaken for the agent',
  () => {
    const wrap = ['--user', '--map-root-user', '--pid', '--fork'];
    if (!succeeds(['unshare', ...wrap, 'true'], 'a /proc of others')) return;
    const table = JSON.stringify(new URL('./process-table.ts', import.meta.url).href);
    const script = `import { procTable } from ${table}; console.log(procTable.startOf(1));`;
    const args = [...wrap, process.execPath, '--input-type=module', '-e', script];
    expect(spawnSync('unshare', args, { encoding: 'utf8' }).stdout).toBe('null\n');
  },
);
