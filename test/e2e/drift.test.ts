/** `tacho drift`: agent output that its adapter does not know. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { APP_LIMITS } from '../../src/app/limits.ts';
import type { Finding } from '../../src/app/sessions/drift.ts';
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

/** The recording with records of a future version after its first line. */
function changed(): { path: string; text: string } {
  const [first, ...rest] = readFileSync(join(recording, 'stdout.jsonl'), 'utf8').split('\n');
  const text = [first, ...CHANGES, ...rest].join('\n');
  const path = join(place.folder, 'changed.jsonl');
  writeFileSync(path, text);
  return { path, text };
}

verifies('AG-19', 'unknown and missing records are listed with counts and places', async () => {
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

verifies('AG-19', 'a recording of a known version has no drift, on either channel', async () => {
  const folder = join(place.folder, PROJECT);
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(recording, 'session', PROJECT, NAME), join(folder, NAME));
  const last = await place.tacho(['drift', 'claude', '--last', '--fail']);
  expect({ code: last.code, stdout: last.stdout }).toEqual({
    code: 0,
    stdout: `${join(folder, NAME)}: nothing unknown, nothing missing\n`,
  });
  const stream = await place.tacho(['drift', 'claude', join(recording, 'stdout.jsonl'), '--fail']);
  expect(stream.code).toBe(0);
});

test('each of several files has a report, followed by a total; an unreadable file fails', async () => {
  const known = join(recording, 'stdout.jsonl');
  const other = otherFields();
  const { code, stdout } = await place.tacho(['drift', 'claude', known, other]);
  expect(code).toBe(0);
  expect(stdout).toContain(`${known}: nothing unknown, nothing missing\n${other}:\n  new `);
  expect(stdout).toMatch(/\n2 files: 1 with something to report\n$/);
  const json = await place.tacho(['drift', 'claude', known, other, '/nowhere', '--json']);
  expect([json.code, json.stderr]).toEqual([1, 'error: /nowhere: no such file or folder\n']);
  expect(JSON.parse(json.stdout).map((report: { path: string }) => report.path)).toEqual([
    known,
    other,
  ]);
});

/** The recording with other fields: new ones at any depth, one removed from all records of its type, and a broken line. */
function otherFields(): string {
  const lines = readFileSync(join(recording, 'stdout.jsonl'), 'utf8').trimEnd().split('\n');
  const records = lines.map((line) => {
    const { ...record } = JSON.parse(line);
    if (record.type === 'result') delete record.total_cost_usd;
    if (record.type === 'assistant') {
      record.message.content[0].mood = { of: 'the model' };
      record.fällig = true;
      record.message.usage.output_tokens = undefined;
    }
    return JSON.stringify(record);
  });
  const path = join(place.folder, 'other.jsonl');
  writeFileSync(path, `${records.join('\n')}\nWarning: out of paper\n`);
  return path;
}

verifies(
  'AG-19',
  'new fields, removed fields and bad lines are listed with their places',
  async () => {
    const path = otherFields();
    const { code, stdout } = await place.tacho(['drift', 'claude', path, '--json', '--fail']);
    const { findings, left_out } = JSON.parse(stdout);
    const at = (line: number | null) => ({ count: 1, line, file: null });
    expect({ code, findings, left_out }).toEqual({
      code: 1,
      findings: [
        { code: 'new_field', what: 'assistant: message<message>.content<text>.mood', ...at(2) },
        { code: 'new_field', what: 'assistant: fällig', ...at(2) },
        {
          code: 'gone_field',
          what: 'assistant: message<message>.usage.output_tokens',
          ...at(null),
        },
        { code: 'gone_field', what: 'result/success: total_cost_usd', ...at(null) },
        { code: 'bad_line', what: 'a line that is not a JSON record', ...at(4) },
      ],
      left_out: 0,
    });
    expect((await place.tacho(['drift', 'claude', path])).stdout).toBe(
      [
        'new     1 × assistant: message<message>.content<text>.mood (first: line 2)',
        'new     1 × assistant: fällig (first: line 2)',
        'gone    1 × assistant: message<message>.usage.output_tokens',
        'gone    1 × result/success: total_cost_usd',
        'bad     1 × a line that is not a JSON record (first: line 4)',
        '',
      ].join('\n'),
    );
  },
);

verifies(
  'AG-19',
  'new fields in an exported document and in a database row are reported',
  async () => {
    const folder = join(root, 'src/agents/opencode/testdata/text/session');
    const exported = readdirSync(folder).find((name) => name.startsWith('export-')) as string;
    const document = JSON.parse(readFileSync(join(folder, exported), 'utf8'));
    for (const { parts } of document.messages) for (const part of parts) part.mood = 1;
    const path = join(place.folder, exported);
    writeFileSync(path, JSON.stringify(document, null, 2));
    const drift = ['drift', 'opencode', '--from', 'session', '--json'];
    const whats = async (file: string) =>
      JSON.parse((await place.tacho([...drift, file])).stdout).findings.map(
        ({ code, what }: Finding) => `${code} ${what}`,
      );
    expect((await whats(path)).sort()).toEqual([
      'new_field export/part: part<step-finish>.mood',
      'new_field export/part: part<step-start>.mood',
      'new_field export/part: part<text>.mood',
    ]);
    const [row = ''] = readFileSync(join(folder, 'db-part.jsonl'), 'utf8').split('\n');
    const { data, ...rest } = JSON.parse(row);
    const mooded = JSON.stringify({ ...data, mood: 1 });
    const rows = join(place.folder, 'rows.jsonl');
    writeFileSync(rows, `${JSON.stringify({ ...rest, data: mooded })}\n`);
    expect(await whats(rows)).toEqual(['new_field row/part: data<text>.mood']);
  },
);

verifies('AG-19', 'the list is limited, however many fields are new', async () => {
  const [first] = readFileSync(join(recording, 'stdout.jsonl'), 'utf8').split('\n');
  const names = Array.from({ length: 5_000 }, (_, n) => [`key_${n}`, n]);
  const path = join(place.folder, 'many.jsonl');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(first ?? ''), ...Object.fromEntries(names) }));
  const { stdout } = await place.tacho(['drift', 'claude', path]);
  const lines = stdout.trimEnd().split('\n');
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([
    APP_LIMITS.drift_findings_max + 1,
    'new     1 × system/init: key_0 (first: line 1)',
    `and at least ${APP_LIMITS.drift_findings_max} more kinds`,
  ]);
});

verifies(
  'AG-19',
  'drift never breaks a run: the rest of the recording is decoded as usual',
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

verifies('AG-19', 'no file and no --last, or both, is a usage error', async () => {
  for (const more of [[], ['x.jsonl', '--last'], ['--last', '--from', 'stdout']])
    expect((await place.tacho(['drift', 'claude', ...more])).code).toBe(2);
  expect((await place.tacho(['drift', 'claude', '--last'])).code).toBe(1);
  expect((await place.tacho(['drift', 'claude', 'missing.jsonl'])).code).toBe(1);
});
