/** Sessions that tacho records itself while a watcher follows them: each turn counts once. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { linesOf, root, usePlace } from './cli.ts';
import { until } from './until.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const env = () => ({ TACHO_DEMO_SESSIONS: join(place.folder, 'sessions') });
/** A run in a store that the watcher does not know is a session that a user started by hand. */
const byHand = () => ({ ...env(), TACHO_HOME: join(place.folder, 'elsewhere') });
const FAST = ['--', '--speed', '0'];

function watching() {
  const command = [join(root, 'bin/tacho.cjs'), 'watch', 'demo', '--json'];
  const child = spawn(process.execPath, command, {
    env: { PATH: process.env.PATH, HOME: place.folder, TACHO_HOME: place.state, ...env() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  return { child, rows: () => linesOf(text.slice(0, text.lastIndexOf('\n') + 1)) };
}

const runs = async () => {
  const { stdout } = await place.tacho(['runs', 'list', '--json', '--limit', 'all']);
  return linesOf(stdout).sort((a, b) => a.started_ms - b.started_ms);
};
const callsOf = async () => (await runs()).map(({ tool_calls }) => tool_calls);

verifies(
  ['SE-5', 'WA-3'],
  'a session that is recorded while it is watched is one run',
  async () => {
    await place.tacho(['run', '--agent', 'demo', 'one', ...FAST], { env: byHand() });
    const { child, rows } = watching();
    await until('the watcher', () => rows().length > 0);
    await place.tacho(['run', '--agent', 'demo', 'two'], { env: env() });
    // The watcher had imported it before the end of the run.
    expect(rows().filter(({ state }) => state === 'imported')).toHaveLength(2);
    expect(await callsOf()).toEqual([5, 5]);
    child.kill('SIGKILL');
    await place.tacho(['import', 'demo', '--all'], { env: env() });
    expect(await callsOf()).toEqual([5, 5]);
  },
  120_000,
);

verifies(
  ['SE-5', 'WA-3'],
  'a session that was imported, resumed by tacho run, and resumed by hand has each turn once',
  async () => {
    await place.tacho(['run', '--agent', 'demo', 'one', ...FAST], { env: byHand() });
    const { child, rows } = watching();
    await until('the first turn', () => rows().length > 0);
    const [{ session_id }] = await runs();
    await place.tacho(['run', '--agent', 'demo', '--resume', session_id, 'two'], { env: env() });
    expect(await callsOf()).toEqual([5, 5]);
    const third = ['run', '--agent', 'demo', '--resume', session_id, 'three', ...FAST];
    await place.tacho(third, { env: byHand() });
    await until('the third turn', async () => (await runs()).length === 3);
    await until('all of it', async () => (await callsOf()).join() === '5,5,5');
    child.kill('SIGKILL');
    await place.tacho(['watch', '--once'], { env: env() });
    await place.tacho(['import', 'demo', '--all'], { env: env() });
    expect(await callsOf()).toEqual([5, 5, 5]);
    const usage = await place.tacho(['usage', '--by', 'agent', '--json']);
    const tokens = { input: 3 * 1500, output: 3 * 450 };
    expect(JSON.parse(usage.stdout)).toMatchObject({ total: { runs: 3, tokens } });
  },
  120_000,
);
