/** Rules for a state folder after a disturbed command, checked with ordinary commands on a healthy disk. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { verifyRun } from '../../src/app/runs/verify.ts';
import { readSession } from '../../src/store/journal/read.ts';
import { stateDirAt } from '../../src/store/state-dir.ts';
import { checkRunEvents } from '../contract/check-run-event.ts';
import type { Lane, Ran } from './lane.ts';

/** Per run: its journal entries, and its line in the list. */
export type Known = Map<string, { bodies: readonly string[]; row: string }>;

const STACK = /^\s+at .+:\d+:\d+\)?$|node:internal|Node\.js v\d|\(node:\d+\)|UnhandledPromise/m;
/** Files that only exist while something is being written, locked or removed. */
const TEMPORARY = /\.tmp$|^\.removed-|\.lock\.|\.of-|spill|redaction\.key\./;

/** How a command may exit after any fault. */
export function* commandFaults(ran: Ran): Generator<string> {
  const name = `tacho ${ran.args.slice(0, 3).join(' ')}`;
  if (ran.late) yield `${name}: does not exit`;
  if (STACK.test(ran.stderr) || STACK.test(ran.stdout))
    yield `${name}: shows a stack trace: ${ran.stderr.slice(0, 1500)}`;
  if (ran.code === null && ran.signal !== 'SIGKILL') yield `${name}: killed by ${ran.signal}`;
  const silent = ran.stdout === '' && ran.stderr === '';
  if (ran.code !== null && ran.code !== 0 && silent) yield `${name}: exit ${ran.code} in silence`;
}

/** The same for an undisturbed command, which must succeed. */
export function* successFaults(ran: Ran, codes: readonly number[] = [0]): Generator<string> {
  yield* commandFaults(ran);
  if (ran.late || codes.includes(ran.code ?? -1)) return;
  const text = `${ran.stderr}${ran.stdout}`.slice(0, 800);
  yield `tacho ${ran.args.slice(0, 3).join(' ')}: exit ${ran.code ?? ran.signal}: ${text}`;
}

// biome-ignore lint/suspicious/noExplicitAny: records are read loosely here
export function jsonLines(text: string): any[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

export async function bodiesOf(state: string, run_id: string): Promise<string[]> {
  const bodies: string[] = [];
  for await (const { source, body } of readSession(stateDirAt(state).journal, run_id))
    if (source === 'capture') bodies.push(body);
  return bodies;
}

/** The list of runs: id and line, without states, which depend on the time and on other processes. */
export async function listed(lane: Lane): Promise<Map<string, string>> {
  const ran = await lane.tacho(['runs', 'list', '--limit', '500', '--json']);
  const [fault] = successFaults(ran);
  if (fault !== undefined) throw new Error(fault);
  const line = (row: object) => JSON.stringify({ ...row, unfinished: null });
  return new Map(jsonLines(ran.stdout).map((row) => [row.run_id as string, line(row)]));
}

/** All runs of the lane's state folder. */
export async function knownRuns(lane: Lane): Promise<Known> {
  const known: Known = new Map();
  for (const [run_id, row] of await listed(lane))
    known.set(run_id, { row, bodies: await bodiesOf(lane.state, run_id) });
  return known;
}

/** Recovers until nothing is left, as if several minutes had passed. */
export async function* recoveryFaults(lane: Lane): AsyncGenerator<string> {
  age(lane);
  for (const last of [false, true]) {
    const ran = await lane.tacho(['runs', 'recover', '--json']);
    yield* successFaults(ran);
    const rows = ran.code === 0 ? jsonLines(ran.stdout) : [];
    for (const { state, run_id } of rows)
      if (state !== 'recovered' && (last || state !== 'busy'))
        yield `runs recover: ${run_id} is ${state}`;
    if (!rows.some(({ state }) => state === 'busy')) return;
  }
}

/** A spool without `meta.json` counts as starting for a minute, and a `.tmp` file as in use. */
function age({ state }: Lane): void {
  const before = Date.now() / 1000 - 600;
  for (const path of filesBelow(state)) if (path.endsWith('.tmp')) utimesSync(path, before, before);
  for (const folder of foldersIn(join(state, 'spool'))) {
    const stdout = join(folder, 'stdout');
    // The creation time of a folder cannot be changed.
    if (!existsSync(stdout)) writeFileSync(stdout, '', { mode: 0o600 });
    utimesSync(stdout, before, before);
  }
}

function foldersIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => join(folder, name));
}

export async function* wholeFaults(lane: Lane, known: Known): AsyncGenerator<string> {
  const rows = await listed(lane);
  for (const [run_id, { bodies, row }] of known) {
    const now = await bodiesOf(lane.state, run_id);
    if (now.join('\n') !== bodies.join('\n'))
      yield `${run_id} was not touched but has changed: ${bodies.length} events before, ${now.length} now`;
    if (!rows.has(run_id)) yield `${run_id} was not deleted but is not listed`;
    else if (rows.get(run_id) !== row)
      yield `${run_id} was not touched but is listed as ${rows.get(run_id)}, not as ${row}`;
    else yield* verifyFaults(lane, run_id);
  }
}

export async function* verifyFaults(lane: Lane, run_id: string): AsyncGenerator<string> {
  try {
    const { ok, faults } = await verifyRun(stateDirAt(lane.state), run_id);
    if (!ok) yield `verify ${run_id}: ${faults.join('; ')}`;
  } catch (error) {
    yield `verify ${run_id}: ${(error as Error).stack}`;
  }
}

/** For a stored run: numbers, a single end, the contract, and that it begins with the shown output (ST-2). */
export async function* recordFaults(
  lane: Lane,
  run_id: string,
  shown: string,
): AsyncGenerator<string> {
  const events = (await bodiesOf(lane.state, run_id)).map((body) => JSON.parse(body));
  events.forEach(({ seq }, index) => {
    if (seq !== index + 1) throw new Error(`${run_id}: event ${index + 1} has the number ${seq}`);
  });
  const ends = events.filter(({ kind }) => kind === 'run_finished').length;
  if (ends !== 1 || events.at(-1).kind !== 'run_finished') yield `${run_id}: ${ends} run_finished`;
  const replay = await lane.tacho(['replay', run_id, '--output', 'json']);
  yield* successFaults(replay);
  for (const breach of checkRunEvents(Buffer.from(replay.stdout), { stream: true }))
    yield `replay of ${run_id}: ${breach}`;
  const whole = shown.slice(0, shown.lastIndexOf('\n') + 1);
  if (!replay.stdout.startsWith(whole))
    yield `${run_id}: its record does not begin with the shown output: ${firstDifference(whole, replay.stdout)}`;
  const verify = await lane.tacho(['runs', 'verify', run_id]);
  yield* successFaults(verify);
}

function firstDifference(shown: string, recorded: string): string {
  const [a, b] = [shown.split('\n'), recorded.split('\n')];
  const at = a.findIndex((line, n) => line !== b[n]);
  return `line ${at + 1}: ${a[at]?.slice(0, 300)} ≠ ${b[at]?.slice(0, 300)}`;
}

/** Unreadable output is kept for people. */
async function isKept(lane: Lane, run_id: string): Promise<boolean> {
  if (!existsSync(join(lane.state, 'spool', run_id, 'recorded'))) return false;
  const last = (await bodiesOf(lane.state, run_id)).at(-1);
  return last !== undefined && JSON.parse(last).data.exit_reason === 'capture_error';
}

/** Nothing more to do, nothing left behind. */
export async function* tidyFaults(lane: Lane): AsyncGenerator<string> {
  const before = digestOf(lane.state);
  const again = await lane.tacho(['runs', 'recover']);
  yield* successFaults(again);
  if (again.stdout !== 'Nothing to recover.\n') yield `a second recover says: ${again.stdout}`;
  const after = digestOf(lane.state);
  for (const [path, digest] of after)
    if (before.get(path) !== digest) yield `a second recover changes ${path}`;
  for (const path of before.keys()) if (!after.has(path)) yield `a second recover removes ${path}`;
  yield* successFaults(await lane.tacho(['runs', 'gc', '--max-runs', '1000']));
  const names = filesBelow(lane.state).map((path) => path.slice(lane.state.length + 1));
  for (const path of names)
    if (path.split('/').some((name) => TEMPORARY.test(name))) yield `left behind: ${path}`;
  const spool = join(lane.state, 'spool');
  for (const name of existsSync(spool) ? readdirSync(spool) : [])
    if (!(await isKept(lane, name))) yield `left behind: spool/${name}`;
  for (const path of filesBelow(lane.temporary)) yield `left behind: ${path}`;
  for (const text of await lane.settle()) yield `left running: ${text}`;
}

export function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The index is a cache, and every reader changes its bytes. */
function digestOf(state: string): Map<string, string> {
  const files = filesBelow(state).filter((path) => !/tacho\.db|\.lock$|\/locks\//.test(path));
  return new Map(
    files.map((path) => {
      const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
      return [path.slice(state.length + 1), `${statSync(path).size} ${hash}`];
    }),
  );
}
