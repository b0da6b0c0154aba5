/** `tacho drift`: what an agent says that its adapter does not know. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const NAME = '43900e1a-be17-4ee4-82d0-9293a5d8142f.jsonl';
const PROJECT = '.claude/projects/-home-user-project';
const recording = join(root, 'src/agents/claude/testdata/text');

const CHANGES = [
  '{"type":"hologram","uuid":"1"}',
  '{"type":"hologram","uuid":"2"}',
  '{"uuid":"3"}',
  '{"type":"system","subtype":"teleported","uuid":"4"}',
];

/** The recording with records of a version to come behind its first line. */
function changed(): { path: string; text: string } {
  const [first, ...rest] = readFileSync(join(recording, 'stdout.jsonl'), 'utf8').split('\n');
  const text = [first, ...CHANGES, ...rest].join('\n');
  const path = join(place.folder, 'changed.jsonl');
  writeFileSync(path, text);
  return { path, text };
}

verifies('AG-19', 'unknown and lacking records are listed with counts and places', async () => {
  const { path, text } = changed();
  const { code, stdout } = await place.tacho(['drift', 'claude', path, '--json']);
  const report = JSON.parse(stdout);
  expect({ code, report }).toEqual({
    code: 0,
    report: {
      agent: 'claude',
      checked_versions: report.checked_versions,
      from: 'stdout',
      path,
      findings: [
        { code: 'unknown_record', what: 'hologram', count: 2, line: 2, file: null },
        { code: 'unknown_record', what: 'system/teleported', count: 1, line: 5, file: null },
        { code: 'bad_record', what: 'no type', count: 1, line: 4, file: null },
      ],
      left_out: 0,
    },
  });
  const piped = await place.tacho(['drift', 'claude', '-', '--fail'], { input: text });
  expect({ code: piped.code, stdout: piped.stdout }).toEqual({
    code: 1,
    stdout:
      'unknown 2 × hologram (first: line 2)\nunknown 1 × system/teleported (first: line 5)\nlacking 1 × no type (first: line 4)\n',
  });
});

verifies(
  'AG-19',
  'a recording that the adapter knows has no drift, on either channel',
  async () => {
    const folder = join(place.folder, PROJECT);
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(recording, 'session', PROJECT, NAME), join(folder, NAME));
    const last = await place.tacho(['drift', 'claude', '--last', '--fail']);
    expect({ code: last.code, stdout: last.stdout }).toEqual({
      code: 0,
      stdout: `${join(folder, NAME)}: nothing that tacho does not know.\n`,
    });
    const stream = await place.tacho([
      'drift',
      'claude',
      join(recording, 'stdout.jsonl'),
      '--fail',
    ]);
    expect(stream.code).toBe(0);
  },
);

verifies(
  'AG-19',
  'drift never breaks a run: the rest of the recording is told as ever',
  async () => {
    const { path } = changed();
    const outcomeOf = async (file: string) =>
      JSON.parse((await place.tacho(['convert', '--agent', 'claude', file])).stdout);
    const { success, message, tool_calls } = await outcomeOf(join(recording, 'stdout.jsonl'));
    const drifted = await outcomeOf(path);
    expect(drifted).toMatchObject({ success, message, tool_calls });
    expect(drifted.completeness.gaps).toEqual(['bad_record:1', 'unknown_record:3']);
  },
);

verifies('AG-19', 'without a file or --last, or with both, it is a usage error', async () => {
  for (const more of [[], ['x.jsonl', '--last'], ['--last', '--from', 'stdout']])
    expect((await place.tacho(['drift', 'claude', ...more])).code).toBe(2);
  expect((await place.tacho(['drift', 'claude', '--last'])).code).toBe(1);
  expect((await place.tacho(['drift', 'claude', 'missing.jsonl'])).code).toBe(1);
});
