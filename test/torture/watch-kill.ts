/**
 * A watcher that is killed again and again while sessions grow, compared with one import of the same files (WA-15). May
 * differ: problems, if the import saw less of a line or of a state than the watcher; for sessions with several files, the
 * order of their events, which is the order in which they were seen; the digest of a record, which covers its growth.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalledEvents } from '../../src/app/runs/replay.ts';
import { verifyRun } from '../../src/app/runs/verify.ts';
import type { Agent } from '../../src/model/agent.ts';
import type { Event } from '../../src/model/event.ts';
import type { RunOutcome } from '../../src/model/outcome.ts';
import { openIndex } from '../../src/store/index/index-db.ts';
import { openStateDir } from '../../src/store/state-dir.ts';
import { TORTURE_FOLDER } from './inject.ts';
import { Random } from './random.ts';
import { storyOf } from './watch-story.ts';

const BIN = join(import.meta.dirname, '../../bin/tacho.cjs');
/** Where a life may end by itself; the others end at a random moment. */
const PLACES = [
  'before_write',
  'mid_write',
  'after_write',
  'after_sync',
  'before_row',
  'before_places',
];
const NTH_MAX = 6;
/** From the start of the process to its death. */
const LIFE_MS = 500;
/** A place that is not reached. */
const PATIENCE_MS = 1_500;
const LIMIT_MS = 120_000;
const FAULTS_MAX = 20;
const FAULTS_OF_RUN_MAX = 6;
/** Agents that write rows or documents again. */
const LATE: ReadonlySet<string> = new Set(['cline', 'kilo', 'opencode']);
const TIMES: ReadonlySet<string> = new Set(['at_ms', 'duration_ms', 'phase_total_duration_ms']);

export interface KillOptions {
  kills: number;
  seed: number;
  /** How many recordings. Default: all. */
  scenarios?: number;
}

export interface KillResult {
  faults: string[];
  kills: number;
  runs: number;
}

/** Plays the recordings of an agent while the watcher is killed. Returns what is not as in one import. */
export async function playKills(agent: Agent, options: KillOptions): Promise<KillResult> {
  const place = new KillPlace();
  try {
    const random = new Random(options.seed);
    const story = storyOf(agent, place.home, random, options.scenarios);
    await place.live(agent, story.writes, random, options.kills);
    story.close();
    return { ...(await place.judge(agent)), kills: options.kills };
  } finally {
    place.close();
  }
}

const lived = new Set<KillPlace>();

/** Ends everything if the program is stopped. */
export function closeKills(): void {
  for (const place of lived) place.close();
}

class KillPlace {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), 'tacho-kills-')));
  readonly #running = new Set<ChildProcess>();
  readonly home = join(this.#folder, 'home');
  readonly #watched = join(this.#folder, 'watched');
  readonly #imported = join(this.#folder, 'imported');

  constructor() {
    lived.add(this);
    mkdirSync(this.home);
  }

  #start(args: readonly string[], env: Record<string, string>): ChildProcess {
    const cache = join(TORTURE_FOLDER, 'cache');
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd: this.#folder,
      env: {
        PATH: process.env.PATH,
        HOME: this.home,
        XDG_CACHE_HOME: cache,
        TACHO_DEMO_SESSIONS: join(this.home, 'demo'),
        TZ: 'UTC',
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#running.add(child);
    child.on('close', () => this.#running.delete(child));
    return child;
  }

  /** Many short lives of the watcher. The sessions grow while it lives, and while it is dead. */
  async live(agent: Agent, writes: (() => void)[], random: Random, kills: number): Promise<void> {
    const share = Math.ceil(writes.length / kills);
    for (let life = 0; life < kills; life++) {
      const named = random.is(0.5);
      const fail = `${random.pick(PLACES)}:${1 + random.below(NTH_MAX)}`;
      const child = this.#start(['watch', agent.id], {
        TACHO_HOME: this.#watched,
        ...(named && { TACHO_FAIL_AT: fail }),
      });
      const dead = ended(child);
      const life_ms = named ? PATIENCE_MS : random.below(LIFE_MS);
      const timer = setTimeout(() => child.kill('SIGKILL'), life_ms);
      const now = writes.splice(0, share);
      for (const write of now) {
        if (random.is(0.5)) await sleep(random.below((2 * LIFE_MS) / share));
        write();
      }
      const { signal, stderr } = await dead;
      clearTimeout(timer);
      if (signal !== 'SIGKILL') throw new Error(`the watcher ended by itself: ${stderr}`);
    }
    for (const write of writes) write();
  }

  async judge({ id }: Agent): Promise<Pick<KillResult, 'faults' | 'runs'>> {
    const faults: string[] = [];
    for (const [args, state] of [
      [['watch', id, '--once'], this.#watched],
      [['import', id, '--all'], this.#imported],
    ] as const) {
      const { code, stderr } = await ended(this.#start(args, { TACHO_HOME: state }));
      if (code !== 0) faults.push(`tacho ${args.join(' ')}: exit code ${code}: ${stderr}`);
      // Secrets are replaced by the same marks.
      if (state === this.#watched) {
        mkdirSync(this.#imported, { mode: 0o700 });
        copyFileSync(join(state, 'redaction.key'), join(this.#imported, 'redaction.key'));
      }
    }
    const grown = await recordsIn(this.#watched, faults);
    const whole = await recordsIn(this.#imported, faults);
    for (const [run_id, { outcome }] of grown)
      if (!whole.has(run_id)) faults.push(`${run_id} (${outcome.session_id}) was not imported`);
    for (const [run_id, record] of whole) {
      const other = grown.get(run_id);
      if (other === undefined) faults.push(`${run_id} (${record.outcome.session_id}) is lost`);
      else faults.push(...differences(run_id, other, record));
    }
    return { faults: faults.slice(0, FAULTS_MAX), runs: whole.size };
  }

  close(): void {
    lived.delete(this);
    for (const child of this.#running) child.kill('SIGKILL');
    if (process.env.TACHO_KEEP_KILLS === undefined)
      rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function ended(child: ChildProcess) {
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on('close', resolve);
  const code = await promise;
  clearTimeout(timer);
  return { code, signal: child.signalCode, stderr };
}

interface Stored {
  outcome: RunOutcome;
  events: Event[];
}

async function recordsIn(folder: string, faults: string[]): Promise<Map<string, Stored>> {
  const state = openStateDir(folder);
  using index = openIndex(state);
  const records = new Map<string, Stored>();
  const sessions = new Set<string>();
  for (const { run_id, session_id } of [...index.listRuns({ limit: 10_000 })]) {
    const outcome = index.getRun(run_id) as RunOutcome;
    records.set(run_id, {
      outcome,
      events: await Array.fromAsync(journalledEvents(state, run_id, index)),
    });
    const verified = await verifyRun(state, run_id);
    if (!verified.ok) faults.push(`${run_id}: ${verified.faults.join('; ')}`);
    if (session_id !== null && sessions.has(session_id))
      faults.push(`${session_id} is there twice`);
    sessions.add(session_id ?? '');
  }
  return records;
}

function differences(run_id: string, grown: Stored, whole: Stored): string[] {
  const faults: string[] = [];
  const { agent, session_id } = whole.outcome;
  const about = `${agent} ${run_id} (${session_id})`;
  // Times of events never go back: what is seen late, in another file or row, has a later time.
  const timed = whole.events.every(({ raw }) => raw?.file === undefined) && !LATE.has(agent);
  const [a, b] = [outcomeFacts(grown.outcome, timed), outcomeFacts(whole.outcome, timed)];
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
    if (a[name] !== b[name])
      faults.push(`${about}: ${name} is ${a[name]}, imported at once ${b[name]}`);
  const [more, less] = [factsOf(grown.events, timed), factsOf(whole.events, timed)];
  for (const fact of less) {
    const at = more.indexOf(fact);
    if (at < 0) faults.push(`${about} lacks ${fact}`);
    else more.splice(at, 1);
  }
  for (const fact of more) faults.push(`${about} has ${fact}`);
  const order = grown.events.map(({ seq }) => seq);
  if (order.some((seq, n) => seq !== n + 1)) faults.push(`${about}: events are not numbered`);
  return faults.slice(0, FAULTS_OF_RUN_MAX);
}

const without =
  (timed: boolean) =>
  (name: string, value: unknown): unknown =>
    name === 'digest' || (!timed && TIMES.has(name)) ? undefined : value;

function outcomeFacts(outcome: RunOutcome, timed: boolean): Record<string, string> {
  const { warnings: _, tool_calls, ...rest } = outcome;
  const calls = tool_calls.map((call) => JSON.stringify(call, without(timed))).sort();
  return Object.fromEntries(
    Object.entries({ ...rest, calls }).map(([name, value]) => [
      name,
      JSON.stringify(value, without(timed)),
    ]),
  );
}

/** Events without their numbers and places, which depend on what was written when. */
function factsOf(events: readonly Event[], timed: boolean): string[] {
  return events
    .filter(({ kind }) => kind !== 'problem')
    .map(({ kind, at_ms, data }) => JSON.stringify({ kind, at_ms, data }, without(timed)));
}
