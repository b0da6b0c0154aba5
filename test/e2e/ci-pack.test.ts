/** `tacho run` in CI: JUnit XML, annotations, the step summary. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHAOS, played } from '../chaos-agent.ts';
import { demo, root, usePlace } from './cli.ts';

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
  expect(summary).toContain('## ✅ tacho run demo: ok\n');
  expect(summary).toContain('| task | please |');
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
  expect(bad).toMatch(/<failure message="agent_error: [^"]+" type="failure">/);
});

test('a file that cannot be written stops the run before it starts, and the message names its flag', async () => {
  const missing = join(place.folder, 'none', 'file');
  for (const flag of ['--junit', '--json-file', '--events', '--final-output']) {
    const { code, stderr, records } = await tacho(demo('fixed', flag, missing));
    expect([code, stderr, records.length]).toEqual([
      70,
      `error: ${flag} ${missing}: its folder does not exist: create it first\n`,
      1,
    ]);
  }
});

test('a report that cannot be written in the end is an error, and the run is still recorded', async () => {
  const { code, stderr, records } = await tacho(demo('fixed', '--junit', '/dev/full'));
  expect([code, stderr]).toEqual([
    70,
    expect.stringContaining('--junit /dev/full: the disk is full'),
  ]);
  expect(records.at(-1)?.data.ok).toBe(true);
});

test('a run that does not start is an error in Actions and in JUnit too', async () => {
  const env = { ...inActions(), PATH: '/nowhere' };
  const junit = join(place.folder, 'run.xml');
  const missing = await tacho(['run', '--agent', 'claude', '--junit', junit, 'go'], { env });
  const why = 'Claude Code is not installed: "claude" is not on the PATH';
  expect(missing.code).toBe(127);
  expect(missing.stderr).toMatch(
    new RegExp(`^::error title=tacho run claude::${why}.*\\nerror: ${why}.*\\n$`),
  );
  expect(readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8')).toMatch(
    /^## ❌ tacho run claude: not started\n\nClaude Code is not installed/,
  );
  expect(readFileSync(junit, 'utf8')).toContain('errors="1"');
  const wrong = await tacho(['run', '--agent', 'demo', '--fail-on', 'nothing', 'go'], { env });
  expect([wrong.code, wrong.stderr.split('\n')[0]]).toEqual([
    2,
    expect.stringContaining('::error title=tacho run demo::--fail-on'),
  ]);
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
    '::error title=tacho run demo%3A --fail-on denied::--fail-on denied: 1 call was denied',
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

test('the action passes quoted arguments whole, the prompt on stdin, and the exit code', () => {
  const { runs } = parse(readFileSync(join(root, 'action.yml'), 'utf8'));
  const script: string = runs.steps.at(-1).run;
  const bin = join(place.folder, 'bin');
  mkdirSync(bin);
  const program = '#!/bin/sh\nfor word; do echo "[$word]"; done\ncat\nexit 5\n';
  writeFileSync(join(bin, 'tacho'), program, { mode: 0o755 });
  const output = join(place.folder, 'output');
  const acted = (inputs: Record<string, string>) =>
    spawnSync('bash', ['-eo', 'pipefail', '-c', script], {
      cwd: place.folder,
      env: {
        PATH: `${bin}:/usr/bin:/bin`,
        RUNNER_TEMP: '/tmp/t',
        GITHUB_OUTPUT: output,
        ...{ AGENT: 'claude', PROMPT: '--fix $HOME *\n', FAIL_ON: '', ARGS: '' },
        ...inputs,
      },
      encoding: 'utf8',
    });
  const head = ['[run]', '[--agent]', '[claude]', '[--json-file]', '[/tmp/t/tacho-run.jsonl]'];
  const plain = acted({});
  expect([plain.status, plain.stdout]).toEqual([5, [...head, '[-]', '--fix $HOME *\n'].join('\n')]);
  expect(readFileSync(output, 'utf8')).toBe('record=/tmp/t/tacho-run.jsonl\n');
  const args = '--approve edits\n--label "a b=$HOME" -- --allowedTools "Bash(npm test)" *';
  const words = '[--fail-on] [denied] [-] [--approve] [edits] [--label]'.split(' ');
  const rest = ['[a b=$HOME]', '[--]', '[--allowedTools]', '[Bash(npm test)]', '[*]', ''];
  const full = acted({ FAIL_ON: 'denied', ARGS: args, PROMPT: '' });
  expect(full.stdout).toBe([...head, ...words, ...rest].join('\n'));
  const torn = acted({ ARGS: '--label "a' });
  expect([torn.status === 0, torn.stdout]).toEqual([false, '']);
});
