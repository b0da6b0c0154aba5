/** `tacho usage`: runs of the chaos agent as a table, as JSON, explained, and as a status line. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { chaosAgent } from '../chaos-agent.ts';
import { demo, type Row, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;

const usage = async (...args: string[]): Promise<Row> =>
  JSON.parse((await tacho(['usage', '--json', ...args])).stdout);

/** Records a run that uses this: the figures are exact. */
async function record(name: string, figures: string, ...args: string[]): Promise<string> {
  const script = `steps:\n  - say: Done.\n    usage: { ${figures} }\n`;
  writeFileSync(join(place.work, `${name}.yaml`), script);
  const { records, stderr } = await tacho(['run', ...args, ...demo(`${name}.yaml`).slice(1)]);
  expect(stderr).toBe('');
  return records[0].run_id;
}

verifies(['SE-5', 'SE-7'], 'runs are summed up, listed, and explained line by line', async () => {
  const run_id = await record(
    'a',
    'input: 1234567, output: 89, cache_read: 500, cost: 1.25',
    '--label',
    'build=7',
  );
  await record('b', 'input: 10, output: 1, cost: 0.5');
  const report = await usage('--by', 'label:build,agent');
  expect(report.groups).toMatchObject([
    {
      keys: { 'label:build': '7', agent: 'demo' },
      runs: 1,
      ok: 1,
      cost: 1.25,
      tokens_total: 1235156,
    },
    { keys: { 'label:build': null, agent: 'demo' }, runs: 1, cost: 0.5, tokens: { input: 10 } },
  ]);
  expect(report.total).toMatchObject({
    runs: 2,
    success_rate: 1,
    cost: 1.75,
    cost_unknown_runs: 0,
  });
  const table = await tacho(['usage', '--by', 'label:build']);
  expect([table.code, table.stderr]).toEqual([0, '']);
  expect(table.stdout).toMatch(
    /^BUILD +RUNS +OK +INPUT .* COST +BY COST\n7 +1 +100% +1\.2M .* \$1\.25 +#{20}\n/,
  );
  expect(table.stdout).toMatch(/\ntotal +2 +100% +1\.2M .* \$1\.75\n/);
  expect(table.stdout).not.toContain('\u001b');
  const explained = await usage('--by', 'label:build', '--explain', '7');
  expect(explained.runs).toMatchObject([
    { run_id, file: null, costs: [{ source: 'agent', cost: 1.25 }] },
  ]);
  const [line] = explained.runs[0].lines;
  expect(line).toMatchObject({
    mode: 'add',
    raw: { channel: 'stdout' },
    added: { tokens: { input: 1234567, output: 89 } },
  });
  const { stdout } = await tacho(['usage', '--by', 'label:build', '--explain', '7']);
  expect(stdout).toContain(
    `stdout line ${line.raw.line}, byte ${line.raw.offset} (event ${line.seq})`,
  );
  expect(stdout).toContain('1,234,567 in, 89 out, 500 cache read');
  const keys = await tacho(['__complete', 'bash', '--', 'usage', '--by', 'm']);
  expect(keys.stdout).toBe('month\nmodel\n');
  const labels = await tacho(['__complete', 'fish', '--', 'usage', '--by=label']);
  expect(labels.stdout).toContain('--by=label:build\n');
  const none = await tacho(['usage', '--until', '2020-01-01']);
  expect(none.stdout).toContain('No usage to 2020-01-01.');
  const mistake = await tacho(['usage', '--by', 'hour']);
  expect([mistake.code, mistake.stderr]).toEqual([
    2,
    expect.stringContaining('Give one or two of day,'),
  ]);
});

/** Fails once with the model API's error, then works. */
const FLAKY = `#!/bin/sh
if [ ! -e tried ]; then touch tried; exec "$AGENT" "$@" --script provider-error; fi
exec "$AGENT" "$@" --script fixed
`;

verifies('SE-5', 'every attempt of a run is a run, as in other sums', async () => {
  writeFileSync(join(place.work, 'flaky'), FLAKY, { mode: 0o755 });
  const target =
    'targets:\n  flaky:\n    agent: demo\n    command: [./flaky]\n    args: [--speed, "0"]\n';
  writeFileSync(join(place.work, 'tacho.yaml'), target);
  const args = ['run', '--target', 'flaky', '--retry-wait', '0.1', '--retries', '1', 'go'];
  expect((await tacho(args, { env: { AGENT: chaosAgent } })).code).toBe(0);
  const stats = JSON.parse((await tacho(['runs', 'stats', '--json'])).stdout).total;
  const { total } = await usage();
  expect([stats.runs, stats.ok, stats.tokens]).toEqual([2, 1, total.tokens_total]);
  expect(total).toMatchObject({ runs: 2, ok: 1, unfinished: 0, success_rate: 0.5 });
});

verifies('SE-5', 'the status line is one line, whatever its input and the store are', async () => {
  const line = async (input: string, options = {}) => {
    const { stdout, stderr, code } = await tacho(['usage', '--statusline'], { input, ...options });
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  expect(await line('')).toBe('');
  const run_id = await record('a', 'input: 1000, output: 200, cost: 1.5');
  const { session_id } = JSON.parse((await tacho(['runs', 'show', run_id, '--json'])).stdout);
  expect(await line('')).toBe('today $1.50, 1.2k tokens\n');
  expect(await line(JSON.stringify({ session_id }))).toBe(
    'today $1.50, 1.2k tokens | session $1.50, 1.2k tokens\n',
  );
  const given = { session_id: 'not stored yet', cost: { total_cost_usd: 0.25 } };
  expect(await line(JSON.stringify(given))).toBe('today $1.50, 1.2k tokens | session $0.2500\n');
  for (const input of ['{', '[]', 'null', '{"session_id":7,"cost":"1"}'])
    expect(await line(input)).toBe('today $1.50, 1.2k tokens\n');
  // A pipe that stays open without input.
  const under = ['bash', '-c', 'exec 3< <(exec sleep 60 2> /dev/null); "$@" <&3', 'open'];
  expect(await line('', { under })).toBe('today $1.50, 1.2k tokens\n');
  writeFileSync(join(place.state, 'tacho.db'), 'x'.repeat(5000));
  expect(await line('')).toMatch(/^tacho: .+\n$/);
  const folder = join(place.folder, 'folder');
  mkdirSync(join(folder, 'tacho.db'), { recursive: true });
  expect(await line('', { env: { TACHO_HOME: folder } })).toBe('');
});
