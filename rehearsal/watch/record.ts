/** The facts in the store about a run, and the comparison with a fresh import of the same files. */
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { createRunEventProjection } from '../../src/projections/run-event.ts';
import type { Event, Store } from '../../src/store.ts';
import { INSIDE } from '../agents/agent.ts';
import type { Line } from '../judge.ts';

export interface Facts {
  run_id: string;
  session_id: string | null;
  model: string | null;
  tokens: { input: number | null; output: number | null } | null;
  cost: number | null;
  steps: number;
  exit_reason: string;
  final_text: unknown;
  records: Line[];
  /** The internal events, one per line. */
  events: string;
  /** When the first message, step or call was made, by the agent's clock. */
  first_ms: number | null;
}

const SPEAKING = new Set<Event['kind']>(['step_started', 'message_finished', 'call_requested']);

const eventsOf = (store: Store, run_id: string) => Array.fromAsync(store.events(run_id));

const endOf = (records: readonly Line[]) =>
  records.findLast(({ type }) => type === 'run_finished')?.data;

export async function factsOf(store: Store, run_id: string): Promise<Facts> {
  const outcome = await store.outcome(run_id);
  const events = await eventsOf(store, run_id);
  const projection = createRunEventProjection({ stream: false });
  const records = events.flatMap((event) => (projection.project(event) ?? []) as Line);
  const { metrics, metadata } = outcome;
  return {
    run_id,
    session_id: metadata.session_id,
    model: metrics.model_name,
    tokens: metrics.tokens,
    cost: metrics.cost,
    steps: metrics.steps,
    exit_reason: outcome.exit_reason,
    final_text: endOf(records)?.final_output ?? null,
    records,
    events: events.map((event) => `${JSON.stringify(event)}\n`).join(''),
    first_ms: events.find(({ kind }) => SPEAKING.has(kind))?.at_ms ?? null,
  };
}

export function importFresh(env: NodeJS.ProcessEnv): Promise<void> {
  const out = openSync(`${INSIDE.out}/import`, 'w');
  const tacho = `${INSIDE.project}/bin/tacho.cjs`;
  const child = spawn(process.execPath, [tacho, 'watch', '--once', '--json'], {
    cwd: INSIDE.home,
    env,
    stdio: ['ignore', out, out],
  });
  return new Promise((resolve) => child.on('exit', () => resolve()));
}

/**
 * The events of a run, whatever the order in which its files were read: numbers, places and the digest depend on that
 * order.
 */
async function contentOf(store: Store, run_id: string): Promise<string[]> {
  const events = await eventsOf(store, run_id);
  // Output so far of a call that runs is only visible to those who look in time.
  const lasting = events.filter(({ kind }) => kind !== 'call_progress');
  const said = lasting.map(({ kind, data }) => {
    const { digest: _, ...kept } = data as { digest?: unknown };
    return JSON.stringify([kind, kept]);
  });
  return said.sort();
}

async function runIds(store: Store): Promise<string[]> {
  const rows = await Array.fromAsync(store.list());
  return rows.map(({ run_id }) => run_id);
}

/** Nothing is missing, and nothing is there twice. */
export async function compareStores(watched: Store, fresh: Store): Promise<string[]> {
  const [has, should] = [await runIds(watched), await runIds(fresh)];
  const bad = should.filter((id) => !has.includes(id)).map((id) => `run ${id} is missing`);
  for (const id of has) {
    if (!should.includes(id)) {
      bad.push(`run ${id} is not in a fresh import`);
      continue;
    }
    const [found, wanted] = [await contentOf(watched, id), await contentOf(fresh, id)];
    const [more, less] = [minus(found, wanted), minus(wanted, found)];
    if (more.length + less.length > 0)
      bad.push(`run ${id}, compared with a fresh import: more ${brief(more)}, less ${brief(less)}`);
  }
  return bad;
}

/** The texts of `all` that are not in `others`, as often as they are there. */
function minus(all: readonly string[], others: readonly string[]): string[] {
  const rest = [...others];
  return all.filter((text) => {
    const place = rest.indexOf(text);
    if (place >= 0) rest.splice(place, 1);
    return place < 0;
  });
}

const brief = (texts: readonly string[]) =>
  `${texts.length}: ${texts
    .map((text) => text.slice(0, 300))
    .slice(0, 3)
    .join(' ')}`;
