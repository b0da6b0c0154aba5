/** `tacho eval` as people and CI use it. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Transcript } from '../../src/model/transcript.ts';
import { call, transcript } from '../build-transcript.ts';
import { chaosAgent } from '../chaos-agent.ts';
import { bin, filesBelow, linesOf, spools, until, usePlace } from './cli.ts';
import { openPty, type Pty } from './pty.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const write = (name: string, text: string) => writeFileSync(join(place.work, name), text);
const read = (name: string) => readFileSync(join(place.work, name), 'utf8');
const rows = (name: string) => linesOf(read(name));

const used = (skill: string, more: Partial<Transcript> = {}) =>
  transcript([call('Skill', { skill })], more);
const transcripts = (name: string, ...all: Transcript[]) =>
  write(name, all.map((one) => `${JSON.stringify(one)}\n`).join(''));

const SKILLS = `description: skills
tests:
  - id: greets
    input: Say hello in the house style
    criteria: uses the skill
    assertions:
      - type: skill-trigger
        skill: greeting-style
`;
const TWO = `${SKILLS}  - id: deploys
    input: Deploy
    assertions: [{ type: skill-trigger, skill: deploy-helper }]
`;

describe('transcripts', () => {
  verifies(
    ['EV-9', 'EV-11'],
    'json mode prints one object, which includes the exit code',
    async () => {
      write('skills.yaml', SKILLS);
      transcripts('a.jsonl', used('greeting-style', { run_id: 'r_9' }));
      const args = ['eval', 'skills.yaml', '--transcript', 'a.jsonl', '--output', 'json'];
      const { code, stdout, stderr } = await place.tacho(args);
      expect({ code, stderr, report: JSON.parse(stdout) }).toEqual({
        code: 0,
        stderr: '',
        report: {
          tests: [
            {
              id: 'greets',
              eval: 'skills.yaml',
              line: 3,
              target: null,
              transcript: 'a.jsonl',
              transcript_line: 1,
              verdict: 'pass',
              score: 1,
              pass_rate: 1,
              runs: [{ run_id: 'r_9', verdict: 'pass', score: 1 }],
              repeats: null,
              assertions: [
                {
                  type: 'skill-trigger',
                  name: 'skill-trigger',
                  verdict: 'pass',
                  score: 1,
                  reason: 'the skill "greeting-style" was used',
                  evidence: [{ text: 'Skill greeting-style', passed: true, call_id: 'c1' }],
                  weight: 1,
                  required: false,
                },
              ],
              error: null,
              threshold: 0.8,
              duration_ms: 2000,
              cost_usd: 0.02,
              tokens: 125,
            },
          ],
          passed: 1,
          failed: 0,
          totals: {
            runs: 1,
            cost_usd: { sum: 0.02, unknown: 0 },
            tokens: { sum: 125, unknown: 0 },
            duration_ms: { sum: 2000, unknown: 0 },
          },
          exit_code: 0,
        },
      });
    },
  );

  const graded = async (...args: string[]) => {
    const { code, stdout, stderr } = await place.tacho(['eval', ...args, '--output', 'json']);
    const { tests, exit_code } = JSON.parse(stdout);
    expect(exit_code).toBe(code);
    const found = tests.map((one: Record<string, unknown>) =>
      [one.id, one.transcript_line, one.verdict].join(' '),
    );
    return { code, found, stderr };
  };

  verifies('EV-9', 'a line is graded by the test named in it', async () => {
    write('two.yaml', TWO);
    transcripts(
      'a.jsonl',
      used('greeting-style', { test_id: 'greets' }),
      used('deploy-helper', { test_id: 'deploys' }),
      used('other', { test_id: 'deploys' }),
    );
    expect(await graded('two.yaml', '--transcript', 'a.jsonl')).toEqual({
      code: 1,
      found: ['greets 1 pass', 'deploys 2 pass', 'deploys 3 fail'],
      stderr: '',
    });
  });

  test('with one test, or --each, every line is graded by every test', async () => {
    write('one.yaml', SKILLS);
    write('two.yaml', TWO);
    transcripts('a.jsonl', used('greeting-style'), used('x', { test_id: 'elsewhere' }));
    expect((await graded('one.yaml', '--transcript', 'a.jsonl')).found).toEqual([
      'greets 1 pass',
      'greets 2 fail',
    ]);
    expect((await graded('two.yaml', '--transcript', 'a.jsonl', '--each')).found).toEqual([
      'greets 1 pass',
      'deploys 1 fail',
      'greets 2 fail',
      'deploys 2 fail',
    ]);
  });

  verifies(
    'EV-9',
    'a test without a transcript fails, a line without a test is a bad file',
    async () => {
      write('two.yaml', TWO);
      transcripts('a.jsonl', used('greeting-style', { test_id: 'greets' }));
      expect(await graded('two.yaml', '--transcript', 'a.jsonl')).toEqual({
        code: 1,
        found: ['greets 1 pass', 'deploys  fail'],
        stderr: '',
      });
      transcripts('a.jsonl', used('greeting-style', { test_id: 'greets' }), used('x'));
      const stray = await graded('two.yaml', '--transcript', 'a.jsonl');
      expect([stray.code, stray.stderr]).toEqual([
        2,
        'error: a.jsonl:2: has no test_id, and there are several tests: use --each to grade it by every test\n',
      ]);
    },
  );

  verifies(
    'EV-9',
    'a line that is not a transcript is reported with its field, and the others are graded',
    async () => {
      write('skills.yaml', SKILLS);
      transcripts('a.jsonl', used('greeting-style'));
      const torn = JSON.stringify(used('x')).slice(0, 100);
      const wrong = { ...used('x'), messages: [{ ...used('x').messages[0], role: 'robot' }] };
      write('a.jsonl', `${read('a.jsonl')}\n${JSON.stringify(wrong)}\n{"a":1}\n${torn}`);
      const { code, found, stderr } = await graded('skills.yaml', '--transcript', 'a.jsonl');
      expect({ code, found }).toEqual({ code: 2, found: ['greets 1 pass'] });
      expect(stderr.split('\n')).toEqual([
        'error: a.jsonl:3: not a transcript: messages[0].role must be one of user, assistant, system',
        'error: a.jsonl:4: not a transcript: lacks the field schema_version',
        expect.stringMatching(/^error: a\.jsonl:5: not JSON: /),
        '',
      ]);
    },
  );

  verifies('EV-9', 'bad eval files and flags exit with 2 before anything is graded', async () => {
    write('bad.yaml', 'tests:\n  - id: a\n    assertions:\n      - type: skill-trigger\n');
    write('good.yaml', SKILLS);
    transcripts('a.jsonl', used('x'));
    execFileSync('mkfifo', [join(place.work, 'pipe.yaml')]);
    write('large.yaml', '');
    truncateSync(join(place.work, 'large.yaml'), 16 * 1024 * 1024 + 1);
    const wrong: [string[], string][] = [
      [['bad.yaml'], 'bad.yaml:4:9: tests[0].assertions[0] lacks the field skill'],
      [['nowhere.yaml'], 'nowhere.yaml: there is no such file'],
      [['.'], '.: is a folder, not a file'],
      [['pipe.yaml'], 'pipe.yaml: is not a regular file'],
      [['large.yaml'], 'large.yaml: is larger than 16777216 bytes'],
      [[], 'name at least one eval file'],
      [['good.yaml', '--transcript', 'no.jsonl'], 'no.jsonl: there is no such file'],
      [['good.yaml', '--transcript', 'a.jsonl', '--target', 't'], 'give one of --target'],
      [['good.yaml', '--each'], '--each goes with'],
      [['good.yaml', '--threshold', '80'], 'Give a number from 0 to 1'],
      [['good.yaml', '--target', 'nope'], 'unknown target "nope"'],
    ];
    for (const [args, want] of wrong) {
      const { code, stdout, stderr } = await place.tacho(['eval', ...args]);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toContain(want);
    }
  });

  verifies(
    'EV-10',
    'the terminal shows a table, --junit writes JUnit, and a results file has one row per result',
    async () => {
      write('two.yaml', TWO);
      transcripts('a.jsonl', used('greeting-style'));
      const flags = ['--each', '--junit', 'j.xml', '--results', 'r.jsonl'];
      const { code, stdout } = await place.tacho([
        'eval',
        'two.yaml',
        '--transcript',
        'a.jsonl',
        ...flags,
      ]);
      expect({ code, stdout: stdout.replace(/time \w+\n$/, 'time TIME\n') }).toEqual({
        code: 1,
        stdout: `pass  greets   1.00  a.jsonl:1
FAIL  deploys  0.00 < 0.80  a.jsonl:1
      fail  skill-trigger (0.00): the skill "deploy-helper" was not used, but should have been
2 tests: 1 passed, 1 failed
1 run, cost $0.0200, tokens 125, agent time 2.0s, total time TIME
`,
      });
      expect(read('j.xml')).toContain(
        '<testsuite name="two.yaml" tests="2" failures="1" errors="0"',
      );
      expect(read('j.xml')).toContain(
        '<testcase name="greets [a.jsonl:1]" classname="two.yaml" time="2.000"/>',
      );
      expect(
        rows('r.jsonl').map(({ schema_version, id, verdict }) => [schema_version, id, verdict]),
      ).toEqual([
        ['tacho.eval_result.v1', 'greets', 'pass'],
        ['tacho.eval_result.v1', 'deploys', 'fail'],
      ]);
    },
  );

  verifies('EV-10', 'in GitHub Actions failures are annotated and summarised', async () => {
    write('two.yaml', TWO);
    transcripts('a.jsonl', used('greeting-style'));
    write('summary.md', 'before\n');
    const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: join(place.work, 'summary.md') };
    const args = ['eval', 'two.yaml', '--transcript', 'a.jsonl', '--each'];
    const line =
      '::error file=two.yaml,line=9,title=eval deploys failed::skill-trigger: the skill "deploy-helper" was not used, but should have been%0Aa.jsonl:1\n';
    const human = await place.tacho(args, { env });
    expect(human.stdout.endsWith(line)).toBe(true);
    expect(read('summary.md')).toBe(`before
## Evals failed

2 tests: 1 passed, 1 failed. 1 run, cost $0.0200, tokens 125, agent time 2.0s.

|  | test | score | pass rate | cost | duration | why |
| --- | --- | --- | --- | --- | --- | --- |
| ✅ | greets | 1.00 |  | $0.0200 | 2.0s |  |
| ❌ | deploys | 0.00 < 0.80 |  | $0.0200 | 2.0s | skill\\-trigger: the skill "deploy\\-helper" was not used, but should have been |
`);
    const json = await place.tacho([...args, '--output', 'json'], { env });
    expect([JSON.parse(json.stdout).failed, json.stderr]).toEqual([1, line]);
    const off = await place.tacho([...args, '--no-github'], { env });
    expect(off.stdout).not.toContain('::error');
    const asked = await place.tacho([...args, '--github']);
    expect(asked.stdout).toContain(line);
  });

  test('a threshold on the command line overrides the file', async () => {
    write(
      'half.yaml',
      'tests: [{id: a, assert: [{type: contains, value: Done}, {type: is-json}]}]',
    );
    transcripts('a.jsonl', transcript());
    const args = ['eval', 'half.yaml', '--transcript', 'a.jsonl'];
    expect((await place.tacho(args)).code).toBe(1);
    expect((await place.tacho([...args, '--threshold', '0.5'])).code).toBe(0);
  });

  test('--fail-fast stops at the first failure', async () => {
    write('two.yaml', TWO);
    transcripts('a.jsonl', used('x'), used('x'));
    const args = ['eval', 'two.yaml', '--transcript', 'a.jsonl', '--each', '--fail-fast'];
    const { code, stdout } = await place.tacho([...args, '--workers', '1']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^1 test: 0 passed, 1 failed; stopped before the others$/m);
  });
});

const TARGETS = `targets:
  quick: { agent: demo, command: ${chaosAgent}, args: [--speed, "0", --script, default] }
  tools: { agent: demo, command: ${chaosAgent}, args: [--speed, "0", --script, tools] }
  broken: { agent: demo, command: ${chaosAgent}, args: [--speed, "0", --script, provider-error] }
  endless: { agent: demo, command: ${chaosAgent}, args: [--speed, "0", --script, hang] }
`;
const MENDS = `tests:
  - id: mends
    input: mend it
    assertions:
      - { type: tool-trajectory, mode: in_order, expected: [{ tool: Write }, { tool: Bash, status: error }, { tool: Edit }] }
      - { type: contains, value: Done }
`;

/** Whether an unfinished run has printed something. */
const spoolHas = (word: string) =>
  spools(place).some((id) => {
    try {
      return readFileSync(join(place.state, 'spool', id, 'stdout')).includes(word);
    } catch {
      return false;
    }
  });

describe('runs made for tests', () => {
  verifies(
    ['EV-8', 'TR-1'],
    'a target runs each test, repeated on request, and the runs are recorded',
    async () => {
      write('tacho.yaml', TARGETS);
      mkdirSync(join(place.work, 'seed'));
      write('seed/a.txt', 'a');
      write('mends.yaml', `workspace: seed\n${MENDS}`);
      const args = ['eval', 'mends.yaml', '--target', 'quick', '--repeat', '3', '--workers', '3'];
      const { code, stdout, stderr } = await place.tacho([
        ...args,
        '--output',
        'json',
        '--results',
        'r.jsonl',
      ]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const [one] = JSON.parse(stdout).tests;
      expect(one).toMatchObject({ id: 'mends', target: 'quick', verdict: 'pass', pass_rate: 1 });
      expect(new Set(one.runs.map(({ run_id }: { run_id: string }) => run_id)).size).toBe(3);
      expect(
        rows('r.jsonl')
          .map(({ repeat, repeats }) => [repeat, repeats])
          .sort(),
      ).toEqual([
        [1, 3],
        [2, 3],
        [3, 3],
      ]);
      const written = filesBelow(join(place.state, 'transcripts')).map(({ bytes }) =>
        JSON.parse(bytes.toString()),
      );
      expect(written.map(({ test_id, target, source }) => [test_id, target, source.kind])).toEqual(
        Array(3).fill(['mends', 'quick', 'eval']),
      );
      expect([readdirSync(join(place.work, 'seed')), existsSync(written[0].source.cwd)]).toEqual([
        ['a.txt'],
        false,
      ]);
      const ids = one.runs.map(({ run_id }: { run_id: string }) => run_id);
      const again = await place.tacho(['eval', 'mends.yaml', '--run', 'last', ...ids]);
      expect([again.code, again.stdout.split('\n').at(-3)]).toEqual([
        0,
        '3 tests: 3 passed, 0 failed',
      ]);
    },
  );

  test('a run that broke down never passes, whatever is asserted', async () => {
    write('tacho.yaml', TARGETS);
    write(
      'a.yaml',
      'tests: [{id: a, input: x, assert: [{type: skill-trigger, skill: s, should_trigger: false}]}]',
    );
    const { code, stdout } = await place.tacho(['eval', 'a.yaml', '--target', 'broken']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAIL {2}a .*\n {6}the run ended with provider_error/);
  });

  test('an agent can be given instead of a target', async () => {
    write('mends.yaml', `input: Go.\n${MENDS}`);
    const { code, stdout } = await place.tacho([
      'eval',
      './mends.yaml',
      '--agent',
      'demo',
      '--output',
      'json',
    ]);
    expect([code, JSON.parse(stdout).tests[0].eval]).toEqual([0, 'mends.yaml']);
    const none = await place.tacho(['eval', 'mends.yaml']);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('name the agent to run')]);
  });

  test('a missing agent fails its tests', async () => {
    write('tacho.yaml', 'targets: {gone: {agent: demo, command: [/nowhere/agent]}}');
    write('mends.yaml', MENDS);
    const { code, stdout } = await place.tacho(['eval', 'mends.yaml', '--target', 'gone']);
    expect(code).toBe(1);
    expect(stdout).toContain('the command "/nowhere/agent" does not exist');
  });

  verifies('EV-10', 'a killed eval is resumed: finished tests are not run again', async () => {
    write('tacho.yaml', TARGETS);
    const test_of = (id: string, target: string) =>
      `  - { id: ${id}, input: go, target: ${target}, assert: [{ type: contains, value: "" , negate: true }] }\n`;
    const file = (target: string) =>
      `tests:\n${test_of('one', 'quick')}${test_of('two', target)}`.replaceAll(
        'value: "" , negate: true',
        'value: ne',
      );
    write('a.yaml', file('endless'));
    const started = place.start(['eval', 'a.yaml', '--results', 'r.jsonl'], { contract: 'none' });
    const results = join(place.work, 'r.jsonl');
    await until(() => existsSync(results) && rows('r.jsonl').length === 1, 'the first result');
    started.child.kill('SIGKILL');
    await started.done;
    write('r.jsonl', `${read('r.jsonl')}{"schema_version":"tacho.eval_res`);
    const [first] = rows('r.jsonl');
    write('a.yaml', file('tools'));
    const { code, stdout } = await place.tacho([
      'eval',
      'a.yaml',
      '--resume',
      'r.jsonl',
      '--output',
      'json',
    ]);
    expect(code).toBe(0);
    expect(
      JSON.parse(stdout).tests.map(({ id, runs }: never) => [
        id,
        (runs as { run_id: string }[])[0]?.run_id,
      ]),
    ).toEqual([
      ['one', first.run_id],
      ['two', expect.not.stringMatching(first.run_id)],
    ]);
    expect(rows('r.jsonl').map(({ id }) => id)).toEqual(['one', 'two']);
  });

  test('an interrupt stops the running agent and keeps the graded results', async () => {
    write('tacho.yaml', TARGETS);
    write(
      'a.yaml',
      'tests:\n  - { id: a, input: x, target: quick, assert: [{ type: contains, value: Done }] }\n  - { id: b, input: x, target: endless, assert: [{ type: is-json }] }\n',
    );
    const started = place.start(['eval', 'a.yaml', '--results', 'r.jsonl'], { contract: 'none' });
    const results = join(place.work, 'r.jsonl');
    await until(
      () => existsSync(results) && rows('r.jsonl').length === 1 && spoolHas('never'),
      'the second run',
    );
    started.child.kill('SIGINT');
    const { code, stdout } = await started.done;
    expect([code, place.left()]).toEqual([130, []]);
    expect(stdout).toMatch(/^1 test: 1 passed, 0 failed; stopped before the others$/m);
    expect(rows('r.jsonl').map(({ id }) => id)).toEqual(['a']);
  });
});

describe('compare', () => {
  test('shows what got worse, and fails on request', async () => {
    write('two.yaml', TWO);
    const results = async (name: string, ...all: Transcript[]) => {
      transcripts('t.jsonl', ...all);
      await place.tacho(['eval', 'two.yaml', '--transcript', 't.jsonl', '--results', name]);
    };
    await results(
      'a.jsonl',
      used('greeting-style', { test_id: 'greets' }),
      used('x', { test_id: 'deploys' }),
    );
    await results(
      'b.jsonl',
      used('x', { test_id: 'greets', cost_usd: 0.5 }),
      used('deploy-helper', { test_id: 'deploys' }),
    );
    const { code, stdout } = await place.tacho(['eval', 'compare', 'a.jsonl', 'b.jsonl']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `change           test     verdict      score        cost               duration
worse, costlier  greets   pass → fail  1.00 → 0.00  $0.0200 → $0.5000  2.0s
better           deploys  fail → pass  0.00 → 1.00  $0.0200            2.0s

1 worse, 1 better, 1 costlier
`,
    });
    const args = ['eval', 'compare', 'a.jsonl', 'b.jsonl', '--fail-on-regression'];
    expect((await place.tacho(args)).code).toBe(1);
    const json = await place.tacho([...args, '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ regression: true, counts: { worse: 1 } });
    expect(
      (await place.tacho(['eval', 'compare', 'a.jsonl', 'a.jsonl', '--fail-on-regression'])).code,
    ).toBe(0);
    write('c.jsonl', 'x\ny\n');
    expect(await place.tacho(['eval', 'compare', 'a.jsonl', 'c.jsonl'])).toMatchObject({
      code: 2,
      stderr: 'error: c.jsonl:1: not a result of an eval\n',
    });
    // An eval without a result gates nothing.
    write('d.jsonl', '');
    expect(
      await place.tacho(['eval', 'compare', 'a.jsonl', 'd.jsonl', '--fail-on-regression']),
    ).toMatchObject({ code: 2, stderr: 'error: d.jsonl: contains no results of an eval\n' });
  });

  verifies('EV-9', 'too many workers are refused', async () => {
    const many = ['eval', 'skills.yaml', '--run', 'last', '--workers', '1000000000'];
    const { code, stderr } = await place.tacho(many);
    expect({ code, said: stderr.includes('Give at most 256.') }).toEqual({ code: 2, said: true });
  });
});

describe('on a terminal', () => {
  let pty: Pty | null = null;
  afterEach(() => {
    pty?.close();
    pty = null;
  });

  test('a progress line is shown, and removed at the end', async () => {
    write('tacho.yaml', TARGETS);
    write(
      'a.yaml',
      'tests:\n  - { id: slow, input: x, timeout_seconds: 3, assert: [{ type: is-json }] }\n',
    );
    const words = ['eval', 'a.yaml', '--target', 'endless', '--state-dir', place.state];
    pty = openPty([
      'sh',
      '-c',
      'cd "$0" && TACHO_TRUST=1 exec "$@"',
      place.work,
      process.execPath,
      bin,
      ...words,
    ]);
    await pty.until('the progress', (lines) =>
      lines.some((line) => /^0 of 1 done; slow \ds$/.test(line)),
    );
    const { code } = await pty.ended;
    expect(code).toBe(1);
    const lines = pty.lines().filter((line) => line !== '');
    expect(lines.filter((line) => /^FAIL {2}slow/.test(line))).toHaveLength(1);
    expect(lines.slice(-3)).toEqual([
      '1 test: 0 passed, 1 failed',
      expect.stringMatching(/^1 run, cost unknown, tokens unknown, agent time .*, total time .*s$/),
      expect.stringMatching(/^To read a run that failed: tacho show r_\w+$/),
    ]);
    expect(lines.some((line) => line.includes('done;'))).toBe(false);
  });
});
