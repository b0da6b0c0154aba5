/**
 * Inside the sandbox: `tacho watch` follows while several agents are used by hand, first undisturbed, then killed again
 * and again. Reads /mnt/room/job.json, writes /mnt/room/report.json.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore, type StatedRun, type Store } from '../../src/store.ts';
import { INSIDE, type Rehearsed } from '../agents/agent.ts';
import { REHEARSED } from '../agents/index.ts';
import { FirstRecords } from './first-records.ts';
import { compareStores, type Facts, factsOf, importFresh } from './record.ts';
import { type Moment, type Played, playSession, type Staged } from './session.ts';
import { Watch } from './watcher.ts';

export interface Job {
  /** Ids of the agents. */
  agents: readonly string[];
  parallel: number;
  kills: number;
}

interface Seen {
  at: Moment;
  /** The states of the runs of the session's folder; null: finished. */
  states: (string | null)[];
  run_ids: string[];
}

export interface SessionReport extends Played {
  agent: string;
  name: string;
  seen: Seen[];
  /** From the first record with content to the line of the watcher; null: not measured. */
  delay_ms: number | null;
  /** The runs of the session's folder. */
  runs: Facts[];
  duration_ms: number;
}

export interface Report {
  sessions: SessionReport[];
  kills: number;
  /** Ends of the watcher by itself. */
  died: string[];
  /** Differences from a fresh import of the same files. */
  differences: string[];
}

const READY_MS = 60_000;
const FIRST_PORT = INSIDE.model_port + 1;
/** After the last change, until the watcher must have it. */
const SETTLE_MS = 2_000;
const STATE = `${INSIDE.home}/.local/state/tacho`;

const ENV: NodeJS.ProcessEnv = {
  HOME: INSIDE.home,
  LANG: 'C.UTF-8',
  PATH: `${INSIDE.bin}:/usr/local/bin:/usr/bin:/bin`,
  TZ: 'UTC',
};

const rowsIn = async (store: Store, work: string): Promise<StatedRun[]> => {
  const rows = await Array.fromAsync(store.list());
  return rows.filter(({ project }) => project === work);
};

interface Scene {
  name: string;
  store: Store;
  first: FirstRecords | null;
  watch: Watch;
}

async function played(agent: Rehearsed, scene: Scene): Promise<SessionReport> {
  const { store, watch, name } = scene;
  const seen: Seen[] = [];
  let session_id: string | null = null;
  const moment: Staged['moment'] = async (at, work) => {
    const rows = await rowsIn(store, work);
    session_id = rows.find((row) => row.session_id !== null)?.session_id ?? session_id;
    const states = rows.map(({ unfinished }) => unfinished?.state ?? null);
    seen.push({ at, states, run_ids: rows.map(({ run_id }) => run_id) });
  };
  const begun_ms = Date.now();
  const terminal = name === 'watched' ? (agent.terminal ?? null) : null;
  const port = FIRST_PORT + REHEARSED.indexOf(agent);
  const session = await playSession({
    ...{ agent, port, name, terminal, moment },
    sessionIn: () => session_id,
  });
  await sleep(SETTLE_MS);
  const rows = await rowsIn(store, session.work);
  const runs = await Promise.all(rows.map(({ run_id }) => factsOf(store, run_id)));
  const first = watch.rows.find(({ run_id }) => run_id !== null && run_id === rows.at(-1)?.run_id);
  const written_ms =
    scene.first === null || first === undefined
      ? null
      : ((await scene.first.of(first.path, join(INSIDE.room, 'tmp', 'first'))) ??
        runs.at(-1)?.first_ms ??
        null);
  return {
    ...session,
    agent: agent.id,
    name,
    seen,
    delay_ms: first === undefined || written_ms === null ? null : first.at_ms - written_ms,
    runs,
    duration_ms: Date.now() - begun_ms,
  };
}

async function playAll(agents: readonly Rehearsed[], scene: Scene, parallel: number) {
  const reports: SessionReport[] = [];
  const waiting = agents.values();
  const player = async () => {
    for (const agent of waiting) reports.push(await played(agent, scene));
  };
  await Promise.all(Array.from({ length: parallel }, player));
  return reports;
}

async function main(): Promise<void> {
  const job = JSON.parse(readFileSync(`${INSIDE.room}/job.json`, 'utf8')) as Job;
  const agents = job.agents.flatMap((id) => REHEARSED.find((agent) => agent.id === id) ?? []);
  mkdirSync(`${INSIDE.room}/tmp/first`, { recursive: true });
  using store = openStore({ stateDir: STATE });
  const watch = new Watch(ENV, STATE);
  const reported = new Set<string>();
  const first = new FirstRecords(ENV, (path) => {
    for (const row of watch.rows.slice(reported.size)) reported.add(row.path);
    return watch.rows.some((row) => row.path === path);
  });
  watch.start();
  if (!(await watch.ready(READY_MS))) throw new Error('the watcher did not start');
  await first.start();
  const steady = await playAll(agents, { name: 'watched', store, first, watch }, job.parallel);
  first.stop();
  await watch.end('SIGTERM');
  const scene = { name: 'watched-killed', store, first: null, watch };
  const killing = watch.keepKilling(job.kills);
  const killed = await playAll(agents, scene, job.parallel);
  watch.stop();
  await killing;
  watch.start();
  await watch.ready(READY_MS);
  await sleep(SETTLE_MS);
  await watch.end('SIGTERM');
  // The last state of sessions that were played while the watcher was killed.
  for (const report of killed) {
    const rows = await rowsIn(store, report.work);
    report.runs = await Promise.all(rows.map(({ run_id }) => factsOf(store, run_id)));
  }
  const fresh = `${INSIDE.room}/fresh`;
  await importFresh({ ...ENV, TACHO_HOME: fresh });
  using imported = openStore({ stateDir: fresh });
  const report: Report = {
    sessions: [...steady, ...killed],
    kills: watch.kills,
    died: watch.died,
    differences: await compareStores(store, imported),
  };
  writeFileSync(`${INSIDE.room}/report.json`, JSON.stringify(report));
}

if (import.meta.main) await main();
