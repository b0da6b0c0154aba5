import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { eventsOf, kindsOf, outcomeOf, recordingsIn, testAgent } from '../../../test/test-agent.ts';
import { atif } from './index.ts';

const testdata = join(import.meta.dirname, 'testdata');
testAgent(atif, testdata);

const problems = (text: string) =>
  kindsOf(eventsOf(atif, 'session', [Buffer.from(text)]), 'problem').map(
    ({ data }) => `${data.code} ${data.detail}`,
  );

describe('documents', () => {
  verifies('AG-15', 'a formatted document gives the same run as one on a single line', () => {
    for (const { bytes, scenario } of recordingsIn(testdata)) {
      const document: unknown = JSON.parse(bytes.toString('utf8'));
      const runs = [undefined, 1, 2, '\t'].map((indent) =>
        outcomeOf(eventsOf(atif, 'session', [Buffer.from(JSON.stringify(document, null, indent))])),
      );
      for (const run of runs) expect(run, scenario).toEqual(runs[0]);
    }
  });

  verifies(['AG-2', 'AG-14'], 'a cut document and a foreign one are reported', () => {
    const [first] = recordingsIn(testdata);
    const formatted = JSON.stringify(JSON.parse(`${first?.bytes}`), null, 2);
    const cut = formatted.slice(0, formatted.indexOf('"final_metrics"'));
    expect(problems(cut)).toContain('torn_line the document ends before its last bracket');
    expect(problems('{\n  "name": "package"\n}\n')).toContain(
      'not_json a record that cannot be parsed',
    );
  });
});

test('the name and version of the agent are recorded', () => {
  const [recording] = recordingsIn(testdata).filter(({ scenario }) => scenario === 'work');
  const [session] = kindsOf(
    eventsOf(atif, 'session', [recording?.bytes ?? Buffer.alloc(0)]),
    'session_started',
  );
  expect(session?.data).toMatchObject({
    agent_version: 'claude-code 2.1.325',
    model: 'claude-opus-5-5',
  });
});

verifies('AG-2', 'incomplete pieces are problems', () => {
  const document = {
    schema_version: 'ATIF-v2.0',
    steps: [5, { source: 'robot' }, { source: 'agent', tool_calls: [{}] }],
    subagent_trajectories: [{}],
  };
  expect(problems(JSON.stringify(document))).toEqual([
    'unknown_record schema_version ATIF-v2.0',
    'bad_record step is not an object',
    'unknown_record source robot',
    'bad_record tool call without id or name',
    'bad_record a sub-agent without steps',
  ]);
});
