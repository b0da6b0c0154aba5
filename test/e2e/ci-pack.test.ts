/** `tacho run` in CI: JUnit XML, annotations, the step summary. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHAOS, played } from '../chaos-agent.ts';
import { demo, usePlace } from './cli.ts';

const place = usePlace();
const { tacho } = place;
const inActions = () => ({
  GITHUB_ACTIONS: 'true',
  GITHUB_STEP_SUMMARY: join(place.folder, 'summary.md'),
});

test('in GitHub Actions a run writes annotations and a summary, and stdout keeps the contract', async () => {
  const env = inActions();
  writeFileSync(env.GITHUB_STEP_SUMMARY, 'before\n');
  const { code, stderr } = await tacho(demo('default'), { env });
  expect(code).toBe(0);
  expect(stderr).toBe(
    '::warning title=Bash failed::Bash: sh tacho-demo/greet.sh Ada Grace: failed, exit code 2: tacho-demo/greet.sh: 4: nam: parameter not set\n',
  );
  const summary = readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8');
  expect(summary).toMatch(/^before\n/);
  expect(summary).toContain('## tacho run demo: ok');
  expect(summary).toContain('| cost | $0.0149 |');
  expect(summary).toContain(
    '| ❌ | Bash: sh tacho\\-demo/greet.sh Ada Grace | failed, exit code 2 | tacho\\-demo/greet.sh: 4: nam: parameter not set |',
  );
  expect(summary).toContain('10 calls, 1 failed:');
});

test('a failed run is an error annotation, and foreign text cannot add commands', async () => {
  const env = inActions();
  writeFileSync(
    join(place.work, 'evil.yaml'),
    'about: evil\nsteps:\n  - say: "<script>x</script> | @everybody"\n  - exit: 1\n  - provider_error: { status: 500, message: "bad\\n::set-output name=a::b" }\n',
  );
  const script =
    'about: evil\nsteps:\n  - say: "<b>x</b> | @you"\n  - provider_error: { status: 500, message: "bad\\n::error::mine" }\n';
  writeFileSync(join(place.work, 'evil.yaml'), script);
  const { code, stderr } = await tacho(demo('./evil.yaml'), { env });
  expect(code).toBe(3);
  const lines = stderr.trimEnd().split('\n');
  expect(lines[0]).toBe(
    '::error title=tacho run demo%3A provider_error::bad%0A:\\u{3a}error::mine',
  );
  expect(lines.filter((line) => line.startsWith('::error'))).toHaveLength(1);
  const summary = readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8');
  expect(summary).not.toContain('<b>');
  expect(summary).not.toContain('@you');
});

test('human output cannot contain commands for GitHub Actions', async () => {
  writeFileSync(join(place.work, 'evil.yaml'), 'about: evil\nsteps:\n  - say: "::error::mine"\n');
  const args = ['run', ...CHAOS, 'go', '--', ...played('./evil.yaml')];
  const { stdout } = await tacho(args, { env: inActions() });
  expect(stdout).toContain(':\\u{3a}error::mine\n');
  expect(stdout).not.toMatch(/^\s*::/m);
  expect((await tacho(args)).stdout).toContain('::error::mine\n');
});

test('--no-github turns annotations off there, --github turns them on elsewhere', async () => {
  const env = inActions();
  expect((await tacho(demo('default', '--no-github'), { env })).stderr).toBe('');
  expect(existsSync(env.GITHUB_STEP_SUMMARY)).toBe(false);
  expect((await tacho(demo('default', '--github'))).stderr).toContain('::warning ');
});

test('--junit writes one test case, which fails when the run failed', async () => {
  const path = join(place.folder, 'run.xml');
  expect((await tacho(demo('default', '--junit', path))).code).toBe(0);
  const good = readFileSync(path, 'utf8');
  expect(good).toMatch(/<testsuites name="tacho run" tests="1" failures="0" errors="0"/);
  expect(good).toContain('<testcase name="please" classname="demo" time="');
  expect(good).toContain('<property name="tool_calls" value="10"/>');
  expect((await tacho(demo('agent-error', '--junit', path))).code).toBe(1);
  const bad = readFileSync(path, 'utf8');
  expect(bad).toMatch(/<testsuites name="tacho run" tests="1" failures="1" errors="0"/);
  expect(bad).toMatch(/<failure message="[^"]+" type="failure">/);
});

test('a report that cannot be written is an error, and the run is still recorded', async () => {
  mkdirSync(join(place.folder, 'folder'));
  const { code, stderr, records } = await tacho(
    demo('fixed', '--junit', join(place.folder, 'folder')),
  );
  expect([code, stderr]).toEqual([70, expect.stringContaining(join(place.folder, 'folder'))]);
  expect(records.at(-1)?.data.ok).toBe(true);
});

test('--fail-on fails a successful run with exit code 1, and stderr names the calls and the reason', async () => {
  const env = inActions();
  const [json, junit] = [join(place.folder, 'run.jsonl'), join(place.folder, 'run.xml')];
  const files = ['--json-file', json, '--junit', junit];
  const run = ['run', ...CHAOS, ...files, 'please', '--', ...played('denied')];
  const passed = await tacho(['run', '--fail-on', 'failed-call', ...run.slice(1)]);
  expect(passed.code).toBe(0);
  // Outside a git work tree, files changed by commands are not detected.
  const { stdout: outcome } = await tacho(['runs', 'show', 'last', '--json']);
  expect(JSON.parse(outcome).warnings).toContain(
    'there is no git work tree: files that commands changed are not listed',
  );
  const { code, stderr, stdout } = await tacho(['run', '--fail-on', 'denied', ...run.slice(1)], {
    env,
  });
  expect(code).toBe(1);
  expect(stderr).toContain(
    'error: --fail-on denied: 1 call was denied\n  Bash: rm -rf everything (deleting is not allowed here)\n',
  );
  expect(stderr.match(/^::(\w+) title=.*denied/gm)).toEqual([
    '::error title=tacho run demo%3A ok%2C but --fail-on::--fail-on denied: 1 call was denied',
    '::error title=Bash denied::Bash: rm -rf everything: denied',
  ]);
  expect(readFileSync(junit, 'utf8')).toContain('failures="1"');
  expect(readFileSync(junit, 'utf8')).toContain('Bash: rm -rf everything: denied');
  // Human text on stdout, the records of --output json in the file: the record itself says ok.
  expect(stdout).toContain('I was not allowed to tidy up.');
  const replayed = await tacho(['replay', 'last', '--output', 'json']);
  expect(readFileSync(json, 'utf8')).toBe(replayed.stdout);
  expect(replayed.records.at(-1)?.data).toMatchObject({ ok: true, exit_reason: 'ok' });
});

test('--json-file has the only record of a run that did not start; a wrong --fail-on is a usage error', async () => {
  const json = join(place.folder, 'run.jsonl');
  const files = ['--json-file', json];
  const missing = await tacho(['run', '--agent', 'claude', '--fail-on', 'denied', ...files, 'go'], {
    env: { PATH: '/nowhere' },
  });
  expect([missing.code, missing.stdout]).toEqual([127, '']);
  expect(JSON.parse(readFileSync(json, 'utf8'))).toMatchObject({
    type: 'run_finished',
    data: { exit_reason: 'pre_run_error' },
  });
  const wrong = await tacho(['run', '--agent', 'demo', '--fail-on', 'failed-cal', 'go']);
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    'error: --fail-on: unknown condition "failed-cal"; did you mean failed-call?\n',
  ]);
  const full = await tacho(demo('fixed', '--json-file', '/dev/full'));
  expect([full.code, full.stderr]).toEqual([70, expect.stringContaining('/dev/full')]);
  expect(full.records.at(-1)?.data.ok).toBe(true);
});
