/**
 * Runs an agent through tacho's library, sends it input once its call has started, and prints the same as
 * `tacho run --output json`.
 * Reads `talk` of /mnt/room/job.json.
 */
import { appendFileSync, existsSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodeOf } from '../src/app/run/exit-codes.ts';
import type { Event, Run } from '../src/index.ts';
import { createRunEventProjection, serialiseRunEvent } from '../src/projections/run-event.ts';
import { INSIDE } from './agents/agent.ts';
import type { Scenario } from './scenarios.ts';

export interface Talk {
  agent: string;
  prompt: string;
  approve: Scenario['approve'];
  args: readonly string[];
  talk: readonly (string | null)[];
}

const POLL_MS = 25;

async function talkTo(run: Run, talk: Talk['talk']): Promise<void> {
  while (!existsSync(`${INSIDE.work}/started`)) await sleep(POLL_MS, null, { ref: false });
  for (const text of talk) {
    const answer = text === null ? run.interrupt('rehearsed') : run.say(text);
    if (!answer.taken) process.stderr.write(`not taken: ${answer.why}\n`);
  }
}

async function main(): Promise<number> {
  const job = JSON.parse(readFileSync(`${INSIDE.room}/job.json`, 'utf8')) as { talk: Talk };
  const { talk, ...options } = job.talk;
  const built = `${INSIDE.project}/dist/index.js`;
  const library = (await import(built)) as typeof import('../src/index.ts');
  const run = library.run({ ...options, acceptInput: true });
  const projection = createRunEventProjection({ stream: false });
  const show = (event: Event) => {
    appendFileSync(`${INSIDE.out}/events.jsonl`, `${JSON.stringify(event)}\n`);
    const record = projection.project(event);
    if (record !== null) writeSync(1, serialiseRunEvent(record));
    if (event.kind === 'call_requested') void talkTo(run, talk);
  };
  for await (const event of run) show(event);
  return exitCodeOf((await run.outcome).exit_reason, null);
}

if (import.meta.main) process.exitCode = await main();
