/** Every recording of every agent as a live protocol session: valid, in order, paired, and with every call complete. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allAgents } from '../../src/agents/registry.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import type { Agent } from '../../src/model/agent.ts';
import type { Event } from '../../src/model/event.ts';
import type { LiveMessage } from '../../src/model/live.ts';
import { LiveProjector } from '../../src/projections/live/live.ts';
import { verifies } from '../e2e/verifies.ts';
import { type Data, faultsOf, inputOf, outputOf, same, textsOf } from '../live-stream.ts';
import { kindsOf, recordingsIn, wholeRun } from '../test-agent.ts';

const root = join(import.meta.dirname, '../..');
const session_id = 'r_1';

function projected(events: readonly Event[]): LiveMessage[] {
  const projector = new LiveProjector({
    session_id,
    call_timeout_ms: null,
    trace: null,
    abandoned_ms: null,
  });
  return events.flatMap((event) => projector.push(event));
}

const ofType = (messages: readonly LiveMessage[], type: string) =>
  messages.filter((message) => message.type === type);

function lostOf(events: readonly Event[], messages: readonly LiveMessage[]): string[] {
  const lost: string[] = [];
  const by = (type: string) =>
    new Map(ofType(messages, type).map((message) => [(message.data as Data).call_id, message]));
  const requests = by('tool_call_request');
  const responses = by('tool_call_response');
  for (const { data, at_ms } of kindsOf(events, 'call_requested')) {
    const request = requests.get(data.call_id);
    if (request === undefined) lost.push(`request of ${data.call_id}`);
    else if (!same(inputOf(request, messages), data.input)) lost.push(`input of ${data.call_id}`);
    else if ((request.data as Data).native_name !== data.native_tool) lost.push('a native name');
    else if (Date.parse(request.timestamp) !== at_ms) lost.push(`time of ${data.call_id}`);
  }
  for (const { data } of kindsOf(events, 'call_finished')) {
    const response = responses.get(data.call_id);
    const outcome = response && ((response.data as Data).result ?? (response.data as Data).error);
    if (response === undefined) lost.push(`response of ${data.call_id}`);
    else if (outputOf(response, messages) !== data.output) lost.push(`output of ${data.call_id}`);
    else if (outcome.exit_code !== data.exit_code || outcome.status !== data.status)
      lost.push(`end of ${data.call_id}`);
  }
  return lost;
}

/** Texts in the order in which they end; an empty text needs no block. */
function textsIn(events: readonly Event[]): string[] {
  return [...kindsOf(events, 'message_finished'), ...kindsOf(events, 'thinking_finished')]
    .map(({ data }) => data.text)
    .filter((text) => text !== '')
    .sort();
}

/** Criterion 3.4, measured by the message timestamps. */
function silences(messages: readonly LiveMessage[]): string[] {
  const heard = new Map<string, { since: number; limit: number }>();
  const wrong: string[] = [];
  for (const { type, timestamp, data } of messages) {
    const { call_id } = data as Data;
    const at = Date.parse(timestamp);
    if (type === 'tool_call_request')
      heard.set(call_id, { since: at, limit: LIMITS.live_status_first_ms });
    const call = heard.get(call_id);
    if (call === undefined || !/^tool_(execution_status|call_response)$/.test(type)) continue;
    if (at - call.since > call.limit) wrong.push(`${call_id}: ${at - call.since} ms`);
    heard.set(call_id, { since: at, limit: LIMITS.live_status_every_ms });
  }
  return wrong;
}

async function eachRecording(
  agent: Agent,
  look: (events: Event[], messages: LiveMessage[]) => string[],
): Promise<void> {
  const dir = join(root, 'src/agents', agent.id, 'testdata');
  const wrong: string[] = [];
  let seen = 0;
  for (const recording of existsSync(dir) ? recordingsIn(dir) : []) {
    const events = await wholeRun(agent, recording);
    seen += 1;
    for (const what of look(events, projected(events)))
      wrong.push(`${recording.scenario} ${recording.channel}: ${what}`);
  }
  expect(wrong).toEqual([]);
  expect(seen).toBeGreaterThan(0);
}

for (const agent of await allAgents()) {
  verifies(['LP-3', 'LP-4'], `${agent.id}: every recording makes a valid session`, () =>
    eachRecording(agent, (_, messages) => faultsOf(messages, session_id)),
  );
  verifies('LP-2', `${agent.id}: inputs, outputs and texts are those of the agent`, () =>
    eachRecording(agent, (events, messages) => {
      const sent = textsOf(messages).map(({ text }) => text);
      const missing = textsIn(events).filter((text) => !sent.includes(text));
      return [...lostOf(events, messages), ...missing.map((text) => `text ${text.slice(0, 60)}`)];
    }),
  );
  verifies('LP-6', `${agent.id}: every long call in a recording reports its status`, () =>
    eachRecording(agent, (_, messages) => silences(messages)),
  );
}

test('the recordings include a long call, so statuses are covered', async () => {
  let made = 0;
  for (const agent of await allAgents()) {
    for (const recording of recordingsIn(join(root, 'src/agents', agent.id, 'testdata'))) {
      const messages = projected(await wholeRun(agent, recording));
      made += messages.filter(({ data }) => (data as Data).details?.made_by === 'tacho').length;
    }
  }
  expect(made).toBeGreaterThan(0);
});
