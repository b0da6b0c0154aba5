/** Limits of a run: the run is stopped properly, its work is kept, and the record names the limit and the reason. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chaosAgent } from '../chaos-agent.ts';
import { demo, finished, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;

const LOOP = `
about: never stops
steps:
${'  - calls: [{ tool: run, input: { cmd: echo again } }]\n    usage: { input: 100, output: 10, cost: 0.01 }\n    sleep_ms: 100\n'.repeat(40)}`;

const looping = (...flags: string[]) => {
  writeFileSync(join(place.work, 'loop.yaml'), LOOP);
  return demo('./loop.yaml', ...flags);
};

test.each([
  ['--max-tool-calls', '3', /^\d+ tool calls, over --max-tool-calls 3$/],
  ['--max-steps', '2', /^\d+ steps, over --max-steps 2$/],
  ['--max-tokens', '250', /^\d+ tokens, over --max-tokens 250$/],
  ['--max-cost', '0.025', /^\$0\.\d+, over --max-cost 0\.025$/],
  ['--loop-guard', '3', /^Bash was called 3 times with the same input: --loop-guard 3$/],
])('%s %s stops the run as budget_exceeded and keeps its record', async (flag, most, error) => {
  const result = await tacho(looping(flag, most));
  const end = finished(result);
  expect(result.code).toBe(5);
  expect(end).toMatchObject({ exit_reason: 'budget_exceeded', ok: false });
  expect(end.error).toMatch(error);
  expect(end.tool_calls).toBeGreaterThan(0);
  expect(end.tool_calls).toBeLessThan(20);
  // The last call may be stopped before the agent reports that it is running.
  const count = (kind: string) => result.records.filter(({ type }) => type === kind).length;
  expect(count('tool_exec_finished')).toBe(count('tool_call_detected'));
});

const setPrices = (text: string) => {
  const folder = join(place.folder, 'config', 'tacho');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tacho.yaml'), text, { mode: 0o600 });
  return { env: { XDG_CONFIG_HOME: join(place.folder, 'config') } };
};

verifies('SE-6', '--max-cost counts the computed cost of an agent that reports none', async () => {
  writeFileSync(join(place.work, 'loop.yaml'), LOOP.replaceAll(', cost: 0.01', ''));
  const options = setPrices('prices: { "demo-*": { input: 100, output: 100 } }');
  const result = await tacho(demo('./loop.yaml', '--max-cost', '0.04'), options);
  expect(result.code).toBe(5);
  const end = finished(result);
  // 110 tokens in each step.
  expect(end.error).toMatch(/^\$0\.\d+, over --max-cost 0\.04$/);
  expect(end.tool_calls).toBeLessThan(30);
  const { stdout } = await tacho(['runs', 'show', 'last', '--json'], options);
  const { metrics } = JSON.parse(stdout);
  expect(metrics.cost_source).toBe('computed');
  expect(metrics.cost).toBeCloseTo((metrics.tokens_used * 100) / 1e6, 9);
  const shown = await Promise.all([
    tacho(['runs', 'list'], options),
    tacho(['show', 'last', '--summary'], options),
    tacho(['runs', 'stats'], options),
    tacho(['usage'], options),
    tacho(['replay', 'last'], options),
  ]);
  for (const { stdout: text } of shown) expect(text).toContain('~$0.0');
});

verifies('SE-6', 'an unknown price stops no run, and the warning names the model', async () => {
  const steps = '  - say: one\n    usage: { input: 1000000, output: 5 }\n';
  writeFileSync(join(place.work, 'free.yaml'), `about: free\nsteps:\n${steps}`);
  const result = await tacho(demo('./free.yaml', '--max-cost', '0.01'));
  expect(result.code).toBe(0);
  const { stdout } = await tacho(['runs', 'show', 'last', '--json']);
  const { warnings, metrics } = JSON.parse(stdout);
  expect([metrics.cost, metrics.cost_source]).toEqual([null, 'unknown']);
  expect(warnings.join('\n')).toMatch(
    /--max-cost could not be checked: the price of demo-1 is unknown; set it in your own tacho\.yaml/,
  );
});

test('limits that are not reached change nothing', async () => {
  const flags = ['--max-tool-calls', '10', '--max-steps', '7', '--max-cost', '1'];
  const { code, records } = await tacho(demo('default', ...flags));
  expect(code).toBe(0);
  expect(finished({ records } as never)).toMatchObject({ exit_reason: 'ok', error: null });
});

test('a figure known only at the end still counts', async () => {
  writeFileSync(
    join(place.work, 'late.yaml'),
    'about: late\nsteps:\n  - say: done\n    usage: { input: 10, output: 5, cost: 2 }\n',
  );
  const result = await tacho(demo('./late.yaml', '--max-cost', '1'));
  expect(result.code).toBe(5);
  expect(finished(result)).toMatchObject({
    exit_reason: 'budget_exceeded',
    error: '$2, over --max-cost 1',
    final_output: 'done',
  });
});

test('a limit that could not be checked gives a warning', async () => {
  writeFileSync(join(place.work, 'quiet.yaml'), 'about: quiet\nsteps:\n  - say: done\n');
  const flags = ['--max-cost', '1', '--max-tokens', '10'];
  const result = await tacho(demo('./quiet.yaml', ...flags));
  expect(result.code).toBe(0);
  const { stdout } = await tacho(['runs', 'show', 'last', '--json']);
  const warnings = JSON.parse(stdout).warnings as string[];
  expect(warnings.filter((text) => text.includes('could not be checked'))).toHaveLength(2);
});

test('tacho.yaml sets the limits of a target, and a flag overrides them', async () => {
  writeFileSync(join(place.work, 'loop.yaml'), LOOP);
  writeFileSync(
    join(place.work, 'tacho.yaml'),
    `targets:\n  careful:\n    agent: demo\n    command: ${chaosAgent}\n    args: [--script, ./loop.yaml]\n    max_tool_calls: 2\n`,
  );
  const careful = ['run', '--target', 'careful', '--output', 'json', 'go'];
  expect(finished(await tacho(careful)).error).toMatch(/^\d+ tool calls, over --max-tool-calls 2$/);
  const less = ['run', '--target', 'careful', '--max-tool-calls', '4', '--output', 'json', 'go'];
  expect(finished(await tacho(less)).error).toMatch(/^\d+ tool calls, over --max-tool-calls 4$/);
  writeFileSync(
    join(place.work, 'tacho.yaml'),
    'targets:\n  careful:\n    agent: demo\n    loop_guard: 1\n',
  );
  const wrong = await tacho(careful);
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining(
      'tacho.yaml:4:5: targets.careful.loop_guard must be a whole number of at least 2',
    ),
  ]);
});

test.each([
  ['--max-cost', 'much'],
  ['--max-tokens', '0'],
  ['--loop-guard', '1'],
  ['--max-steps', '1.5'],
])('%s %s is a usage error', async (flag, value) => {
  const { code, stdout } = await tacho(['run', '--agent', 'demo', flag, value, 'go']);
  expect([code, stdout]).toEqual([2, '']);
});

test('a negative figure is unknown and reported, and does not hide a reached limit', async () => {
  writeFileSync(
    join(place.work, 'negative.yaml'),
    `about: negative
steps:
  - say: one
    raw: { t: usage, input: -100, output: 1, cost: -5 }
  - say: two
    usage: { input: 10, output: 5, cost: 2 }
`,
  );
  const result = await tacho(demo('./negative.yaml', '--max-cost', '1'));
  expect(result.code).toBe(5);
  const { error, cost_usd, completeness } = finished(result);
  expect([error, cost_usd]).toEqual(['$2, over --max-cost 1', 2]);
  expect(completeness.gaps).toContain('figure_invalid:1');
});

test('a limit that the agent reports too late is refused before anything starts', async () => {
  const late = ['--agent', 'claude', '--max-cost', '1'];
  const refused = await tacho(['run', ...late, '--output', 'json', 'go']);
  expect([refused.code, refused.stdout, existsSync(place.state)]).toEqual([2, '', false]);
  expect(refused.stderr).toBe(
    'error: --max-cost cannot stop a run of claude in time: Claude Code reports its cost only at the end.\nUse --max-tool-calls, --max-steps or --timeout, or add --best-effort-limits to check it when the run has ended.\n',
  );
  writeFileSync(
    join(place.work, 'eval.yaml'),
    'tests:\n  - { id: a, input: go, assertions: [{ type: contains, value: x }] }\n',
  );
  const graded = await tacho(['eval', 'eval.yaml', ...late]);
  expect([graded.code, graded.stderr]).toEqual([2, expect.stringContaining('--max-cost cannot')]);
});

test('--best-effort-limits accepts it, on the command line or in a target; it counts after the run', async () => {
  const records = [
    { type: 'system', subtype: 'init', session_id: 's', model: 'm', cwd: place.work, tools: [] },
    { type: 'result', subtype: 'success', is_error: false, result: 'done', total_cost_usd: 2 },
  ];
  const script = records.map((record) => `echo '${JSON.stringify(record)}'\n`).join('');
  writeFileSync(join(place.work, 'stand-in'), `#!/bin/sh\n${script}`, { mode: 0o755 });
  writeFileSync(
    join(place.work, 'tacho.yaml'),
    'targets:\n  late: { agent: claude, command: ./stand-in, max_cost: 1, best_effort_limits: true }\n',
  );
  for (const asked of [
    ['--target', 'late'],
    ['--agent', 'claude', '--command', './stand-in', '--max-cost', '1', '--best-effort-limits'],
  ]) {
    const result = await tacho(['run', ...asked, '--output', 'json', 'go']);
    expect([result.code, finished(result).error]).toEqual([5, '$2, over --max-cost 1']);
  }
});
