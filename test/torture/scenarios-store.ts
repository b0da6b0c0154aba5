/** Faults in commands that change the store: gc, rm, reindex, import, restore. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHAOS, played } from '../chaos-agent.ts';
import type { Lane, Ran } from './lane.ts';
import type { Scenario } from './scenario.ts';
import {
  bodiesOf,
  commandFaults,
  filesBelow,
  jsonLines,
  type Known,
  knownRuns,
  listed,
  recoveryFaults,
  successFaults,
  tidyFaults,
  verifyFaults,
  wholeFaults,
} from './store-checks.ts';

const TESTDATA = join(import.meta.dirname, '../../src/agents/claude/testdata');
const SESSIONS = ['text', 'bash-ok', 'write-edit'];
const IMPORT = ['import', 'claude', '--all', '--json'];

export async function must(ran: Promise<Ran>): Promise<Ran> {
  const done = await ran;
  const [fault] = successFaults(done);
  if (fault !== undefined) throw new Error(`cannot prepare: ${fault}`);
  return done;
}

/** Two runs, each with its own segment, and another agent's sessions in their usual place. */
async function twoRuns(lane: Lane): Promise<void> {
  for (const script of ['fixed', 'agent-error'])
    await lane.tacho(['run', ...CHAOS, 'x', '--', ...played(script)]);
  for (const name of SESSIONS) {
    const folder = join(lane.home, '.claude');
    mkdirSync(folder, { recursive: true });
    cpSync(join(TESTDATA, name, 'session/.claude'), folder, { recursive: true });
  }
}

/** The same with the sessions imported: they share a segment. */
export async function fiveRuns(lane: Lane): Promise<Known> {
  await twoRuns(lane);
  await must(lane.tacho(IMPORT));
  const known = await knownRuns(lane);
  if (known.size !== 5) throw new Error(`cannot prepare: ${known.size} runs instead of 5`);
  return known;
}

/** The second imported session, which shares a segment with others. */
export function oneImported(known: Known): string {
  const imported = [...known].filter(([, { row }]) => JSON.parse(row).agent === 'claude');
  return imported[1]?.[0] ?? '';
}

/** Grades a run, which makes and stores its transcript. */
export function grade(lane: Lane, run_id: string, options = {}): Promise<Ran> {
  const path = join(lane.work, 'grade.yaml');
  const assert = [{ type: 'regex', value: '.' }];
  writeFileSync(path, JSON.stringify({ tests: [{ id: 'a', input: 'x', assert }] }));
  return lane.tacho(['eval', path, '--run', run_id], options);
}

const split = (known: Known, going: readonly string[]) => ({
  kept: new Map([...known].filter(([run_id]) => !going.includes(run_id))),
  gone: new Map([...known].filter(([run_id]) => going.includes(run_id))),
});

/** The list has exactly these runs, also after a reindex. */
async function* listFaults(lane: Lane, expected: Known): AsyncGenerator<string> {
  const names = [...expected.keys()].sort().join();
  const now = async () => [...(await listed(lane)).keys()].sort().join();
  if ((await now()) !== names) yield `listed are ${await now()}, not ${names}`;
  yield* successFaults(await lane.tacho(['runs', 'reindex']));
  if ((await now()) !== names) yield `after reindex the list has ${await now()}, not ${names}`;
}

const archivesOf = ({ state }: Lane) =>
  filesBelow(join(state, 'archive')).filter((path) => path.endsWith('.zst'));

const GC = ['runs', 'gc', '--agent', 'claude', '--max-runs', '1'];

const gc: Scenario = {
  name: 'gc',
  async prepare(lane) {
    const known = await fiveRuns(lane);
    const { stdout } = await must(lane.tacho([...GC, '--dry-run', '--json']));
    const going = JSON.parse(stdout).runs.map(({ run_id }: { run_id: string }) => run_id);
    return { known, facts: { going: going.join() } };
  },
  act: (lane, injection) => lane.tacho(GC, { injection }),
  async *check(lane, { known, facts }, ran) {
    yield* commandFaults(ran);
    const { kept } = split(known, (facts.going ?? '').split(','));
    if (ran.code === 0 && (await listed(lane)).size !== kept.size)
      yield 'gc reports success but is not done';
    yield* recoveryFaults(lane);
    yield* wholeFaults(lane, kept);
    yield* successFaults(await lane.tacho(GC));
    yield* listFaults(lane, kept);
    yield* wholeFaults(lane, kept);
    yield* tidyFaults(lane);
    for (const path of archivesOf(lane))
      yield* successFaults(await lane.tacho(['runs', 'restore', path]));
    yield* wholeFaults(lane, known);
  },
};

const rm: Scenario = {
  name: 'rm',
  async prepare(lane) {
    const going = oneImported(await fiveRuns(lane));
    // With a transcript, which an imported session has after its first use.
    await must(grade(lane, going));
    return { known: await knownRuns(lane), facts: { going } };
  },
  act: (lane, injection, { facts }) => lane.tacho(['runs', 'rm', facts.going ?? ''], { injection }),
  async *check(lane, { known, facts }, ran) {
    const going = facts.going ?? '';
    yield* commandFaults(ran);
    const { kept, gone } = split(known, [going]);
    const still = (await listed(lane)).has(going);
    if (ran.code === 0 && still) yield 'rm reports success but is not done';
    yield* recoveryFaults(lane);
    yield* wholeFaults(lane, kept);
    if ((await listed(lane)).has(going)) yield* wholeFaults(lane, gone);
    yield* successFaults(await lane.tacho(['runs', 'rm', going]), [0, 1]);
    yield* listFaults(lane, kept);
    yield* wholeFaults(lane, kept);
    yield* tidyFaults(lane);
    const traces = filesBelow(lane.state).filter(
      (path) => !/tombstones|tacho\.db/.test(path) && readFileSync(path).includes(going),
    );
    for (const path of traces) yield `${going} was deleted, but ${path} still names it`;
  },
};

const reindex: Scenario = {
  name: 'reindex',
  prepare: async (lane) => ({ known: await fiveRuns(lane), facts: {} }),
  act: (lane, injection) => lane.tacho(['runs', 'reindex'], { injection }),
  async *check(lane, { known }, ran) {
    yield* commandFaults(ran);
    yield* recoveryFaults(lane);
    yield* wholeFaults(lane, known);
    yield* listFaults(lane, known);
    yield* wholeFaults(lane, known);
    yield* tidyFaults(lane);
  },
};

/** The imported runs without their ids: their events. */
async function imported(lane: Lane, known: Known): Promise<string[]> {
  const texts: string[] = [];
  for (const run_id of (await listed(lane)).keys()) {
    if (known.has(run_id)) continue;
    const bodies = (await bodiesOf(lane.state, run_id)).map((body) => {
      const { run_id: _, ...event } = JSON.parse(body);
      return JSON.stringify(event.kind === 'run_finished' ? event.data.final_output : event);
    });
    texts.push(bodies.join('\n'));
  }
  return texts.sort();
}

const importing: Scenario = {
  name: 'import',
  async prepare(lane) {
    await twoRuns(lane);
    const known = await knownRuns(lane);
    lane.save('scratch');
    await must(lane.tacho(IMPORT));
    const runs = await imported(lane, known);
    lane.load('scratch');
    return { known, facts: { runs: JSON.stringify(runs) } };
  },
  act: (lane, injection) => lane.tacho(IMPORT, { injection }),
  async *check(lane, { known, facts }, ran) {
    yield* commandFaults(ran);
    const runs: string[] = JSON.parse(facts.runs ?? '');
    if (ran.code === 0 && (await listed(lane)).size !== known.size + runs.length)
      yield 'import reports success but is not done';
    yield* recoveryFaults(lane);
    yield* wholeFaults(lane, known);
    const again = await lane.tacho(IMPORT);
    yield* successFaults(again);
    const now = await imported(lane, known);
    if (now.length !== runs.length) yield `${runs.length} sessions have become ${now.length} runs`;
    else if (now.join() !== runs.join()) yield* differences(runs, now);
    for (const run_id of (await listed(lane)).keys()) yield* verifyFaults(lane, run_id);
    const third = await lane.tacho(IMPORT);
    yield* successFaults(third);
    for (const { state } of jsonLines(third.stdout))
      if (state !== 'known') yield `a third import says ${state}`;
    yield* wholeFaults(lane, known);
    yield* tidyFaults(lane);
  },
};

function* differences(before: readonly string[], now: readonly string[]): Generator<string> {
  for (const [n, text] of before.entries()) {
    const [a, b] = [text.split('\n'), (now[n] ?? '').split('\n')];
    const at = a.findIndex((line, i) => line !== b[i]);
    if (text !== now[n])
      yield `an imported run differs: ${a.length} and ${b.length} events; at ${at + 1}: ${a[at]?.slice(0, 300)} ≠ ${b[at]?.slice(0, 300)}`;
  }
}

const restore: Scenario = {
  name: 'restore',
  async prepare(lane) {
    const known = await fiveRuns(lane);
    await must(lane.tacho(GC));
    const [path = ''] = archivesOf(lane);
    return { known, facts: { path, kept: [...(await listed(lane)).keys()].join() } };
  },
  act: (lane, injection, { facts }) =>
    lane.tacho(['runs', 'restore', facts.path ?? ''], { injection }),
  async *check(lane, { known, facts }, ran) {
    yield* commandFaults(ran);
    const { gone: kept } = split(known, (facts.kept ?? '').split(','));
    if (ran.code === 0 && (await listed(lane)).size !== known.size)
      yield 'restore reports success but is not done';
    yield* recoveryFaults(lane);
    yield* wholeFaults(lane, kept);
    yield* successFaults(await lane.tacho(['runs', 'restore', facts.path ?? '']));
    yield* wholeFaults(lane, known);
    yield* listFaults(lane, known);
    yield* tidyFaults(lane);
  },
};

export const STORE_SCENARIOS: readonly Scenario[] = [gc, rm, reindex, importing, restore];
