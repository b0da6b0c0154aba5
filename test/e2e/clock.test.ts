/** A clock that is set during a run. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startRecord } from '../../src/app/run/record.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { demo, finished, fixture, usePlace } from './cli.ts';

const place = usePlace();
const { tacho } = place;

test('a clock that jumps by an hour during a run does not change the durations of the run and its calls', async () => {
  const script = join(place.work, 'slow.yaml');
  writeFileSync(
    script,
    'about: slow\nsteps:\n  - calls: [{ tool: run, input: { cmd: sleep 1.5 } }]\n  - say: done\n',
  );
  const env = { NODE_OPTIONS: `--require ${fixture('moves-clock.cjs')}` };
  const result = await tacho(demo(script), { env });
  expect(result.code).toBe(0);
  const { duration_ms } = finished(result);
  expect(duration_ms).toBeGreaterThanOrEqual(1_400);
  expect(duration_ms).toBeLessThan(600_000);
  const calls = result.records.filter((record) => record.type === 'tool_exec_finished');
  expect(calls.length).toBe(1);
  expect(calls[0].data.duration_ms).toBeGreaterThanOrEqual(1_000);
  expect(calls[0].data.duration_ms).toBeLessThan(600_000);
  const { stdout } = await tacho(['runs', 'show', 'last', '--json']);
  expect(JSON.parse(stdout).metrics.duration_ms).toBe(duration_ms);
});

test('a clock that jumps while messages are recorded does not change the duration', async () => {
  let hours = 0;
  const now = () => Date.now() + 3_600_000 * hours++;
  const clock = { ...systemClock, now };
  const messages = [
    { t: 'hello', session: 's', version: '1', model: 'm' },
    { t: 'text', id: 'm1', text: 'done' },
    { t: 'end', reason: 'ok' },
  ];
  const options = { agent: 'demo', messages, cwd: place.work, stateDir: place.state, clock };
  const { outcome } = await startRecord(options, []).result;
  expect(hours).toBeGreaterThan(1);
  expect(outcome.metrics.duration_ms).toBeLessThan(600_000);
});
