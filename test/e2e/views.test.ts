/** Failing views: each is dropped and reported, and the run is still recorded. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { demo as demoAgent } from '../../src/agents/demo/index.ts';
import type { AgentRunOptions } from '../../src/app/run/options.ts';
import type { View } from '../../src/app/run/recorder.ts';
import { openRecording } from '../../src/app/run/recording.ts';
import { prepareRun } from '../../src/app/run/request.ts';
import { startRun } from '../../src/app/run/run.ts';
import { journalledEvents } from '../../src/app/runs/replay.ts';
import { verifyRun } from '../../src/app/runs/verify.ts';
import type { Event } from '../../src/model/event.ts';
import { stateDirAt } from '../../src/store/state-dir.ts';
import { createMaker } from '../build-events.ts';
import { chaosRun } from '../chaos-agent.ts';
import { demo, finished, spools, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const { tacho } = place;

async function runWith(views: readonly View[], more: Partial<AgentRunOptions> = {}) {
  const request = await prepareRun({ ...chaosRun(place, 'default'), ...more });
  return (await startRun(request, views)).result;
}

const FAILING: [string, () => View['take']][] = [
  [
    'throws at its first event',
    () => () => {
      throw new TypeError('broken\nview');
    },
  ],
  [
    'rejects later',
    () => {
      let batches = 0;
      return async () => {
        batches += 1;
        if (batches > 1) throw new Error('broken');
      };
    },
  ],
  [
    'throws a value that is not an error',
    () => () => {
      throw null;
    },
  ],
];

for (const [what, make] of FAILING) {
  verifies(
    ['RE-20', 'ST-2'],
    `a view that ${what} is dropped and reported once; the others see everything`,
    async () => {
      const seen: Event[] = [];
      const after = {
        name: 'after',
        take: (events: readonly Event[]) => void seen.push(...events),
      };
      const result = await runWith([{ name: 'the broken one', take: make() }, after]);
      expect([result.exit_reason, result.unlisted]).toEqual(['ok', null]);
      expect(result.failed_views.map(({ view }) => view)).toEqual(['the broken one']);
      const state = stateDirAt(place.state);
      const journalled: Event[] = [];
      for await (const event of journalledEvents(state, result.run_id)) journalled.push(event);
      expect(journalled).toEqual(seen);
      const said = journalled.filter(
        ({ kind, data }) => kind === 'problem' && (data as { code: string }).code === 'view_failed',
      );
      expect(said).toHaveLength(1);
      expect(result.outcome.completeness.grade).toBe('complete');
      expect(await verifyRun(state, result.run_id)).toMatchObject({ ok: true, faults: [] });
      expect(spools(place)).toEqual([]);
    },
  );
}

verifies(
  ['RE-20', 'ST-2'],
  'an outcome that fails halfway says so, and how the run ended',
  async () => {
    const options = { agent: demoAgent, env: {}, redact: [], state_dir: place.state };
    const recording = openRecording(options, 'r_1', []);
    const make = createMaker();
    const broken = { ...make('call_requested'), data: null } as unknown as Event;
    for (const event of [make('run_started'), broken, make('run_finished')])
      await recording.recorder.resume([{ event, body: JSON.stringify(event) }]);
    expect(recording.recorder.failed.map(({ view }) => view)).toEqual([
      'the outcome',
      'the transcript',
    ]);
    const { exit_reason, warnings } = recording.measured().outcome;
    const gap = 'gap: calls, files and warnings could not be listed: ';
    expect([exit_reason, warnings]).toEqual(['ok', [expect.stringContaining(gap)]]);
    expect(recording.transcript()).toBeNull();
    await recording.close();
  },
);

verifies(
  ['ST-9', 'TR-1'],
  'a transcript that cannot be written is reported; the run is listed, and a recovery writes it',
  async () => {
    expect((await tacho(demo('fixed'))).code).toBe(0);
    const folder = join(place.state, 'transcripts', 'demo');
    rmSync(folder, { recursive: true });
    writeFileSync(folder, 'in the way');
    const result = await tacho(demo('fixed'));
    expect([result.code, finished(result).exit_reason]).toEqual([0, 'ok']);
    expect(result.stderr).toMatch(/^warning: the transcript failed: .*transcripts\/demo.*\n$/);
    const { run_id } = result.records[0];
    expect((await tacho(['runs', 'show', run_id])).code).toBe(0);
    expect(spools(place)).toEqual([run_id]);
    rmSync(folder);
    expect((await tacho(['runs', 'recover'])).stdout).toContain(`${run_id}: recovered, ok`);
    expect((await tacho(['runs', 'verify', run_id])).code).toBe(0);
    expect(spools(place)).toEqual([]);
  },
);

verifies(
  ['ST-9', 'TR-1'],
  'a state folder without space for long transcripts does not stop the run, which is recorded',
  async () => {
    expect((await tacho(demo('fixed'))).code).toBe(0);
    const tmp = join(place.state, 'tmp');
    writeFileSync(tmp, 'in the way');
    const script = join(place.folder, 'long.yaml');
    const call =
      '      - { tool: run, input: { cmd: "head -c 300000 /dev/zero | tr \'\\\\0\' z" } }\n';
    writeFileSync(script, `steps:\n  - say: begin\n    calls:\n${call.repeat(20)}  - say: after\n`);
    const result = await tacho(demo(script));
    expect([result.code, finished(result).exit_reason]).toEqual([0, 'ok']);
    expect(finished(result).final_output).toBe('after');
    expect(result.stderr).toMatch(/^warning: the transcript failed: .*\n$/);
    const { run_id } = result.records[0];
    rmSync(tmp);
    expect((await tacho(['runs', 'recover'])).stdout).toContain(`${run_id}: recovered, ok`);
    expect((await tacho(['runs', 'verify', run_id])).code).toBe(0);
    expect(readdirSync(tmp)).toEqual([]);
  },
);

verifies(
  ['ST-9', 'TR-2'],
  'a log that cannot be written is reported, and a recovery writes it',
  async () => {
    expect((await tacho(demo('fixed'))).code).toBe(0);
    writeFileSync(join(place.state, 'logs'), 'in the way');
    const { run_id, exit_reason, failed_views } = await runWith([], { streamLog: 'raw' });
    expect([exit_reason, failed_views.map(({ view }) => view)]).toEqual(['ok', ['the log']]);
    rmSync(join(place.state, 'logs'));
    expect(spools(place)).toEqual([run_id]);
    // As if the process of this test had exited. It has its own home, so that the folder is not the command's.
    const meta = join(place.state, 'spool', run_id, 'meta.json');
    const { owner, ...rest } = JSON.parse(readFileSync(meta, 'utf8'));
    const dead = { ...owner, pid: 2 ** 22 + 1, life: null };
    writeFileSync(meta, JSON.stringify({ ...rest, owner: dead }));
    expect((await tacho(['runs', 'recover', '--trust'])).code).toBe(0);
    expect(existsSync(join(place.state, 'logs', 'demo', `${run_id}.log`))).toBe(true);
    expect(spools(place)).toEqual([]);
  },
);
