import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Compile } from 'typebox/compile';
import { expect } from 'vitest';
import { createMaker, EVENT_KINDS } from '../../../test/build-events.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { outcomeOf, recordingsIn, wholeRun } from '../../../test/test-agent.ts';
import { allAgents } from '../../agents/registry.ts';
import { type Event, EventData } from '../../model/event.ts';
import { checkOutcome, checkTranscript } from '../../model/generated/checks.ts';
import { transcriptOf } from '../../projections/transcript.ts';
import { metadataOnly } from './metadata-only.ts';

/** Shorter texts may also be names: of tools, models, skills. */
const NAME_CHARS_MAX = 16;

/** Fields of events, and of what is nested in them, that contain what people, models and tools wrote. */
const CONTENT = new Set(
  `prompt text input reads output diff final_output error message detail excerpt reason args`.split(
    ' ',
  ),
);

/** All strings inside a value. */
function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) yield* stringsIn(item);
}

function* contentOf(event: Event): Generator<string> {
  for (const [name, value] of Object.entries(event.data))
    if (CONTENT.has(name)) yield* stringsIn(value);
  if (event.kind === 'file_changed') yield event.data.path;
}

const root = join(import.meta.dirname, '../../..');

for (const agent of await allAgents()) {
  const dir = join(root, 'src/agents', agent.id, 'testdata');
  if (!existsSync(dir)) continue;
  verifies(
    'WA-12',
    `${agent.id}: metadata-only events of all recordings contain nothing that was said, run, read or written`,
    async () => {
      const left: string[] = [];
      let removed = 0;
      for (const recording of recordingsIn(dir)) {
        const whole = await wholeRun(agent, recording);
        const kept = whole.map((event) => metadataOnly(event));
        const names = new Set(kept.flatMap((event) => [...stringsIn(event.data)]));
        const folders = whole.flatMap(({ data }) =>
          'cwd' in data && data.cwd !== null ? [data.cwd] : [],
        );
        const all = [...names].join('\n');
        for (const text of new Set(whole.flatMap((event) => [...contentOf(event)]))) {
          if (text.length <= NAME_CHARS_MAX || folders.includes(text)) continue;
          removed += 1;
          if (all.includes(text)) left.push(`${recording.scenario}: ${text.slice(0, 80)}`);
        }
        // Only the name and version of a program may have several words.
        for (const name of names)
          if (/\s.*\s/.test(name) || (/\s/.test(name) && name.length > 64))
            left.push(`${recording.scenario}: ${name.slice(0, 80)}`);
      }
      expect(left).toEqual([]);
      expect(removed).toBeGreaterThan(3);
    },
  );

  verifies(
    'WA-12',
    `${agent.id}: metadata-only runs have the same figures, statuses and names`,
    async () => {
      for (const recording of recordingsIn(dir)) {
        const whole = await wholeRun(agent, recording);
        const before = outcomeOf(whole);
        const kept = whole.map((event) => metadataOnly(event, (path) => `#${path}`));
        const after = outcomeOf(kept);
        expect(checkOutcome(after)).toBe(true);
        expect(checkTranscript(transcriptOf(kept))).toBe(true);
        expect(after.metrics).toEqual(before.metrics);
        expect([after.exit_reason, after.success]).toEqual([before.exit_reason, before.success]);
        expect(after.completeness).toEqual(before.completeness);
        expect(after.artifacts).toHaveLength(before.artifacts.length);
        const calls = ({ tool_calls }: typeof before) =>
          tool_calls.map(({ id, name, status, exit_code, duration_ms }) => [
            ...[id, name, status, exit_code, duration_ms],
          ]);
        expect(calls(after)).toEqual(calls(before));
      }
    },
  );
}

verifies('WA-12', 'every kind of event is still valid, and the run is labelled', () => {
  const make = createMaker();
  for (const kind of EVENT_KINDS) {
    const { data } = metadataOnly(make(kind));
    expect({ kind, valid: Compile(EventData[kind]).Check(data) }).toEqual({ kind, valid: true });
  }
  const { data } = metadataOnly(make('run_started'));
  expect(data).toMatchObject({
    prompt: null,
    cwd: '/home/user/project',
    config: { labels: { metadata_only: 'true' } },
  });
});

verifies('WA-12', 'a field for words keeps words, and loses anything else', () => {
  const make = createMaker();
  const reason = (reason: string) => metadataOnly(make('step_finished', { reason })).data;
  expect(reason('end_turn')).toMatchObject({ reason: 'end_turn' });
  expect(reason('the user said: rm -rf ~')).toMatchObject({ reason: null });
  expect(reason('/home/user/secret.txt')).toMatchObject({ reason: null });
  const tool = (tool: string) => metadataOnly(make('call_started', { tool })).data;
  expect(tool('mcp__a-b__c/d')).toMatchObject({ tool: 'mcp__a-b__c/d' });
  for (const name of ['rm -rf ~', '/home/user/x', `x${'y'.repeat(128)}`, ''])
    expect(tool(name)).toMatchObject({ tool: 'unknown' });
  const input = { skill: 'greeting-style', args: 'for the secret project' };
  const call = metadataOnly(make('call_requested', { tool: 'Skill', input }));
  expect(call.data).toMatchObject({ tool: 'Skill', input: { skill: 'greeting-style' } });
});
