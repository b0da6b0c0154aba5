/** Several tacho processes in one state folder at the same time (ST-6). */
import { expect } from 'vitest';
import { demo, finished, kill, linesOf, type Result, usePlace } from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';

const place = usePlace();
const { tacho } = place;
const SCRIPTS = [
  'default',
  'flood',
  'words',
  'agent-error',
  'parallel',
  'tools',
  'subagent',
  'denied',
];

async function listed(): Promise<string[]> {
  const { stdout } = await tacho(['runs', 'list', '--limit', '100', '--json']);
  return linesOf(stdout).map((row) => row.run_id as string);
}

verifies('ST-6', 'concurrent runs are all recorded, each complete and separate', async () => {
  const runs = await Promise.all(SCRIPTS.map((script) => tacho(demo(script))));
  expect(runs.map((run) => finished(run).exit_reason)).toEqual([
    'ok',
    'ok',
    'ok',
    'agent_error',
    'ok',
    'ok',
    'ok',
    'ok',
  ]);
  const ids = runs.map((run) => run.records[0].run_id as string);
  expect((await listed()).sort()).toEqual([...ids].sort());
  for (const [index, id] of ids.entries()) {
    expect((await tacho(['runs', 'verify', id])).stdout).toContain('events are intact');
    const replayed = await tacho(['replay', id, '--output', 'json']);
    expect(replayed.stdout).toBe(runs[index]?.stdout);
  }
});

verifies(
  'ST-6',
  'runs continue while other commands list, verify, reindex and recover',
  async () => {
    const first = await tacho(demo('fixed'));
    const run = tacho(demo('default').filter((word) => word !== '--speed' && word !== '0'));
    const others: number[] = [];
    let going = true;
    run.finally(() => {
      going = false;
    });
    while (going) {
      // A reindex rebuilds the list: meanwhile a run may not be found by its id.
      const commands = [
        [['list'], ['verify', first.records[0].run_id]],
        [['reindex'], ['recover', '--no-wait']],
      ];
      const codes: Result[] = [];
      for (const pair of commands)
        codes.push(...(await Promise.all(pair.map((words) => tacho(['runs', ...words])))));
      others.push(...codes.map(({ code }) => code ?? -1));
    }
    expect(new Set(others)).toEqual(new Set([0]));
    expect((await run).code).toBe(0);
    expect(await listed()).toHaveLength(2);
    expect((await tacho(['runs', 'verify', 'last'])).code).toBe(0);
  },
);

verifies(
  'ST-6',
  'one of several runs is killed: the others are complete, and the next run finishes its record',
  async () => {
    const victim = place.start(demo('flood'), {
      contract: 'cut',
      seen: (_, child) => kill(child.pid as number),
    });
    const others = await Promise.all(['default', 'parallel'].map((script) => tacho(demo(script))));
    await victim.done;
    expect(others.map(({ code }) => code)).toEqual([0, 0]);
    expect((await tacho(['runs', 'recover'])).code).toBe(0);
    const ids = await listed();
    expect(ids).toHaveLength(3);
    for (const id of ids) expect((await tacho(['runs', 'verify', id])).code).toBe(0);
  },
);
