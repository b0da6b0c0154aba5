import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import type { Event } from '../../model/event.ts';
import type { OutboxEntry } from '../../store/outbox/lines.ts';
import { openOutbox } from '../../store/outbox/outbox.ts';
import { agentOf } from '../config/agent-of.ts';
import { eventsOf } from '../sessions/convert.ts';
import { livePaths } from './paths.ts';
import { resumeLiveRun } from './recover.ts';

const CONFIG = {
  url: 'unix:/nowhere',
  token_file: null,
  ca: null,
  call_timeout_ms: null,
  trace: null,
};
const RECORDING = join(import.meta.dirname, '../../agents/claude/testdata/write-edit/stdout.jsonl');

async function recorded(): Promise<Event[]> {
  const agent = await agentOf('claude');
  const events: Event[] = [];
  for await (const batch of eventsOf({ agent, from: 'stdout', input: RECORDING }))
    events.push(...batch);
  return events;
}

async function outboxOf(state: string, events: readonly Event[]): Promise<OutboxEntry[]> {
  const run_id = events[0]?.run_id as string;
  {
    using live = resumeLiveRun(state, run_id, CONFIG);
    await live.sink(events);
  }
  const outbox = openOutbox(livePaths(state).outbox, { ...CONFIG, session_id: run_id });
  const entries: OutboxEntry[] = [];
  for (
    let some = await outbox?.read(1);
    some?.length;
    some = await outbox?.read(entries.length + 1)
  )
    entries.push(...some);
  outbox?.close();
  return entries;
}

verifies(
  'LP-8',
  'a session cut off after any message is finished as if it had not been cut off',
  async () => {
    const events = await recorded();
    const whole = await outboxOf(testFolder(), events);
    expect(whole.length).toBeGreaterThan(10);
    expect(whole.at(-1)?.type).toBe('session_end');
    for (let cut = 0; cut <= whole.length; cut++) {
      const state = testFolder();
      const session_id = events[0]?.run_id as string;
      const outbox = openOutbox(livePaths(state).outbox, { ...CONFIG, session_id });
      outbox?.append(whole.slice(0, cut));
      outbox?.close();
      expect(await outboxOf(state, events)).toEqual(whole);
    }
  },
);
