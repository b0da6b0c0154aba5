/** What the store has of a run, and the comparison with a fresh import of the same files. */
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

export function importAnew(env: NodeJS.ProcessEnv): Promise<void> {
  const out = openSync(`${INSIDE.out}/import`, 'w');
  const tacho = `${INSIDE.project}/bin/tacho.cjs`;
  const child = spawn(process.execPath, [tacho, 'watch', '--once', '--json'], {
    cwd: INSIDE.home,
    env,
    stdio: ['ignore', out, out],
  });
  return new Promise((resolve) => child.on('exit', () => resolve()));
}

/** What does not depend on when a record was read. */
async function contentOf(store: Store): Promise<Map<string, string[]>> {
  const content = new Map<string, string[]>();
  for await (const { run_id } of store.list()) {
    const events = await eventsOf(store, run_id);
    content.set(
      run_id,
      events.map((event) => JSON.stringify(event)),
    );
  }
  return content;
}

export async function compareStores(watched: Store, fresh: Store): Promise<string[]> {
  const [has, should] = [await contentOf(watched), await contentOf(fresh)];
  const bad: string[] = [];
  for (const id of should.keys()) if (!has.has(id)) bad.push(`${id} is missing`);
  for (const [id, events] of has) {
    const wanted = should.get(id);
    if (wanted === undefined) bad.push(`${id} is not in a fresh import`);
    else if (events.join('\n') !== wanted.join('\n')) {
      const at = events.findIndex((event, i) => event !== wanted[i]);
      const { agent } = await watched.outcome(id);
      bad.push(
        `${agent} ${id} differs from a fresh import at event ${at + 1} of ${wanted.length}: ${events[at]?.slice(0, 400)} instead of ${wanted[at]?.slice(0, 400)}`,
      );
    }
  }
  return bad;
}
