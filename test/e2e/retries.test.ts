/** `--retries`: the agent is run again when that can help, and the record of each attempt has its number. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitBefore } from '../../src/app/run/retry.ts';
import { chaosAgent } from '../chaos-agent.ts';
import { demo, finished, linesOf, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace({ trust: true });
const { tacho } = place;

/** Fails twice with the model API's error, then works; the count is kept in the work folder. */
const FLAKY = `#!/bin/sh
echo x >> tries
if [ "$(wc -l < tries)" -lt 3 ]; then exec "$AGENT" "$@" --script provider-error; fi
exec "$AGENT" "$@" --script fixed
`;

const flaky = (...flags: string[]) => {
  writeFileSync(join(place.work, 'flaky'), FLAKY, { mode: 0o755 });
  writeFileSync(
    join(place.work, 'tacho.yaml'),
    'targets:\n  flaky:\n    agent: demo\n    command: [./flaky]\n    args: [--speed, "0"]\n',
  );
  return ['run', '--target', 'flaky', '--retry-wait', '0.2', ...flags, 'go'];
};
const env = { AGENT: chaosAgent };

const attempts = async () => {
  const { stdout } = await tacho(['runs', 'list', '--json']);
  return linesOf(stdout).reverse();
};

verifies('RO-9', 'a failing model API is retried, and stdout has only one run', async () => {
  const events = join(place.folder, 'events.jsonl');
  const records = join(place.folder, 'records.jsonl');
  const files = ['--events', events, '--json-file', records];
  const result = await tacho(flaky('--retries', '3', '--output', 'json', ...files), { env });
  expect(result.code).toBe(0);
  expect(readFileSync(records, 'utf8')).toBe(result.stdout);
  expect(finished(result)).toMatchObject({ exit_reason: 'ok', ok: true });
  expect(result.stderr).toMatch(/attempt 2 of 4 in \d+ms\n.*attempt 3 of 4 in \d+ms\n/s);
  const internal = linesOf(readFileSync(events, 'utf8'));
  expect(internal.map(({ seq }) => seq)).toEqual(internal.map((_, at) => at + 1));
  expect(new Set(internal.map(({ run_id }) => run_id))).toEqual(
    new Set([result.records[0].run_id]),
  );
  const shown = await Promise.all(
    (await attempts()).map(async ({ run_id }) =>
      JSON.parse((await tacho(['runs', 'show', run_id, '--json'])).stdout),
    ),
  );
  const took = shown.map(({ metrics }) => metrics.duration_ms as number);
  expect(
    shown.map(({ exit_reason, metadata }) => [
      exit_reason,
      metadata.attempt_number,
      metadata.retry_count,
      metadata.phase_total_duration_ms,
    ]),
  ).toEqual([
    ['provider_error', 1, 0, took[0]],
    ['provider_error', 2, 1, (took[0] ?? 0) + (took[1] ?? 0)],
    ['ok', 3, 2, (took[0] ?? 0) + (took[1] ?? 0) + (took[2] ?? 0)],
  ]);
});

verifies('RO-9', 'when all attempts fail, the last one is the record', async () => {
  const result = await tacho(flaky('--retries', '1', '--output', 'json'), { env });
  expect(result.code).toBe(3);
  expect(finished(result)).toMatchObject({ exit_reason: 'provider_error', ok: false });
  expect(await attempts()).toHaveLength(2);
});

verifies('RO-9', 'a failure that another attempt cannot fix is not retried', async () => {
  for (const [script, code] of [
    ['agent-error', 1],
    ['denied-end', 4],
    ['fixed', 0],
    ['crash', 1],
  ] as const) {
    const result = await tacho(demo(script, '--retries', '2', '--retry-wait', '0.1'));
    expect([script, result.code, result.stderr]).toEqual([
      script,
      code,
      expect.not.stringContaining('attempt'),
    ]);
    expect(result.records.at(-1)?.type).toBe('run_finished');
  }
  expect(await attempts()).toHaveLength(4);
});

test('human output shows every attempt as it happens', async () => {
  const result = await tacho(flaky('--retries', '2'), { env });
  expect(result.code).toBe(0);
  expect(result.stdout.match(/^run \w{10} - demo 1\.0\.0 - /gm)).toHaveLength(3);
});

test('a signal during a wait ends the run with the record of the last attempt', async () => {
  const started = place.start(flaky('--retries', '2', '--retry-wait', '60', '--output', 'json'), {
    env,
  });
  let stderr = '';
  await new Promise<void>((resolve) => {
    started.child.stderr?.on('data', (piece) => {
      stderr += piece;
      if (stderr.includes('attempt 2 of 3')) resolve();
    });
  });
  process.kill(started.pid, 'SIGINT');
  const result = await started.done;
  expect(result.code).toBe(3);
  expect(finished(result)).toMatchObject({ exit_reason: 'provider_error' });
  expect(await attempts()).toHaveLength(1);
});

test('waits double, vary by up to a quarter, and are limited', () => {
  const waits = (byte: number) =>
    [2, 3, 4, 5, 12].map((attempt) => waitBefore(attempt, 1000, () => new Uint8Array([byte])));
  expect(waits(0)).toEqual([750, 1500, 3000, 6000, 45_000]);
  expect(waits(255)).toEqual([1250, 2500, 5000, 10_000, 75_000]);
});
