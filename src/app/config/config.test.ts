import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/fixtures/folder.ts';
import type { TachoError } from '../../lib/errors.ts';
import { loadConfig } from './config.ts';

async function mistakesIn(text: string): Promise<string[]> {
  const path = join(testFolder(), 'tacho.yaml');
  writeFileSync(path, text);
  const error = await loadConfig(path, ['demo', 'acp']).then(
    () => null,
    (thrown: TachoError) => thrown,
  );
  expect(error?.code).toBe('config_invalid');
  return (error?.message ?? '').replaceAll(path, 'tacho.yaml').split('\n');
}

test('all mistakes of a tacho.yaml are reported together, with line, column and field', async () => {
  const text = `default_target: none
targets:
  a:
    agent: dmo
    modle: big
    model: -x
    timeout: .inf
    env: { A: 1, B: [] }
    command: [""]
  "b c":
    args: [1, x]
    max_tokens: 0
    approve: some
    stream_log: raw
    log_format: json
  d: demo
  __proto__: {}
redact: ["(", fine, 7, "["]
retention:
  - max_age: soon
    status: bogus
  - name: x
  - 3
colour: red
`;
  const [first, ...others] = await mistakesIn(text);
  expect([first, ...others.slice(0, 19)]).toEqual([
    'tacho.yaml:4:5: targets.a.agent: unknown agent "dmo"; did you mean demo?',
    'tacho.yaml:5:5: targets.a.modle: unknown field; did you mean model?',
    'tacho.yaml:6:5: targets.a.model must not begin with "-": the agent would take it for a flag',
    'tacho.yaml:7:5: targets.a.timeout must be a number of seconds greater than 0',
    'tacho.yaml:8:18: targets.a.env.B must be a string',
    'tacho.yaml:9:5: targets.a.command must be a string or a list of strings',
    'tacho.yaml:11:12: targets["b c"].args[0] must be a string',
    'tacho.yaml:12:5: targets["b c"].max_tokens must be a whole number of at least 1',
    'tacho.yaml:13:5: targets["b c"].approve must be one of default, edits, all',
    'tacho.yaml:10:3: targets["b c"] lacks the field agent',
    'tacho.yaml:15:5: targets["b c"].log_format is the old name of stream_log: give stream_log alone',
    'tacho.yaml:16:3: targets.d must be a map',
    'tacho.yaml:17:3: targets.__proto__ lacks the field agent',
    expect.stringMatching(
      /^tacho\.yaml:18:10: redact\[0\] redaction pattern "\(" is not a valid regular/,
    ),
    'tacho.yaml:18:21: redact[2] must be a string',
    expect.stringMatching(
      /^tacho\.yaml:18:24: redact\[3\] redaction pattern "\[" is not a valid regular/,
    ),
    'tacho.yaml:20:5: retention[0].max_age must be a time like 12h, 30d or 8w',
    expect.stringMatching(
      /^tacho\.yaml:21:5: retention\[0\]\.status must be one of ok, failed, agent_error, /,
    ),
    'tacho.yaml:22:5: retention[1] needs one of max_age, max_runs, max_size',
    'tacho.yaml:23:5: retention[2] must be a map',
  ]);
  expect(others.at(-1)).toBe('and 2 more');
});
