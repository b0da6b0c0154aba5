/** Every recording's run, exported as an ATIF trajectory and read again, has the facts that the format can carry. */
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { findAgent } from '../../src/agents/registry.ts';
import { convertTo } from '../../src/app/sessions/convert.ts';
import type { Agent } from '../../src/model/agent.ts';
import type { RunOutcome } from '../../src/model/outcome.ts';
import { createRedactor } from '../../src/redact/gate.ts';
import { verifies } from '../e2e/verifies.ts';
import { eventsOf, outcomeOf, type Recording, recordingsIn, wholeRun } from '../test-agent.ts';

const root = join(import.meta.dirname, '../..');
const atif = (await findAgent('atif')) as Agent;
const IDS = [
  'acp',
  'claude',
  'codex',
  'copilot',
  'demo',
  'gemini',
  'kimi',
  'opencode',
  'pi',
  'qwen',
];
const SMALL_BYTES = 400_000;

async function exported(agent: Agent, { path, channel }: Recording): Promise<string> {
  const redactor = createRedactor({ env: {}, secret_env: [], hash: () => 'x' });
  const options = { agent, from: channel, input: path, redactor };
  const pieces = await Array.fromAsync(convertTo(options, 'atif'), (piece) => `${piece}`);
  return pieces.join('');
}

/** The format requires a session id and arguments. An unfinished message is a step like any other. */
const factsOf = ({ tool_calls, metrics, ...outcome }: RunOutcome) => ({
  session_id: outcome.session_id?.startsWith('r_') ? null : outcome.session_id,
  message: outcome.success ? outcome.message : null,
  success: outcome.success,
  exit_reason: outcome.exit_reason,
  model: metrics.model_name,
  tokens: metrics.tokens,
  cost: metrics.cost,
  calls: tool_calls
    .map(({ id, name, native_name, status, exit_code, inputs, outputs, parent_id }) => ({
      // An id that the agent used twice has a suffix in the run.
      id: id.replace(/#\d+$/, ''),
      inputs: inputs ?? {},
      ...{ name, native_name, status, exit_code, outputs, parent_id },
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1)),
});

describe.each(IDS)('%s', (id) => {
  verifies('TR-5', `${id}: a trajectory has the facts of the run`, async () => {
    const agent = (await findAgent(id)) as Agent;
    const all = recordingsIn(join(root, 'src/agents', id, 'testdata'));
    for (const recording of all.filter(({ bytes }) => bytes.length < SMALL_BYTES)) {
      const text = await exported(agent, recording);
      const run = outcomeOf(await wholeRun(agent, recording));
      const wanted = factsOf(run);
      const formatted = JSON.stringify(JSON.parse(text), null, 2);
      for (const form of [text, formatted]) {
        const events = eventsOf(atif, 'session', [Buffer.from(form)]);
        const got = factsOf(outcomeOf(events));
        const what = `${id} ${recording.scenario} ${recording.channel}`;
        expect(got, what).toEqual(wanted);
      }
    }
  });
});
