/** Sessions with impossible times: their runs have an unknown time, and every list can show them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const LISTINGS = [
  ['runs', 'list'],
  ['runs', 'stats'],
  ['runs', 'show', 'last'],
  ['show', 'last', '--no-pager'],
  ['replay', 'last', '--output', 'json'],
];

const iso = (at_ms: number) => (at_ms === 9e15 ? '+275760-09-13T00:00:00.000Z' : at_ms);
/** One session per agent, by its name and its only time. */
const SESSIONS: Record<string, (id: string, at_ms: number) => unknown> = {
  opencode: (id, timestamp) => {
    const part = { id: 'p', messageID: 'm', sessionID: id, type: 'step-start' };
    return { type: 'step_start', timestamp, sessionID: id, part };
  },
  pi: (id, timestamp) => {
    const message = { role: 'user', content: id, timestamp };
    return { type: 'message', id, parentId: null, timestamp: iso(timestamp), message };
  },
  claude: (id, at_ms) => {
    const message = { role: 'user', content: id };
    return { type: 'user', sessionId: id, timestamp: iso(at_ms), message };
  },
};
const TIMES = [9e15, 8.64e15, -1, Date.UTC(9999, 0, 1)];

async function listed(): Promise<void> {
  for (const args of LISTINGS) {
    const { code, stderr } = await place.tacho(args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  }
}

verifies(
  ['AG-2', 'AG-15'],
  'sessions with impossible times are imported, and the last run is the last one with a real time',
  async () => {
    await place.tacho(['run', '--agent', 'demo', 'try it', '--', '--speed', '0']);
    const real = (await place.tacho(['runs', 'list', '--json'])).records;
    for (const [agent, session] of Object.entries(SESSIONS)) {
      const files = TIMES.map((at_ms, n) => {
        const path = join(place.folder, `${agent}-${n}.jsonl`);
        writeFileSync(path, `${JSON.stringify(session(`${agent}-${n}`, at_ms))}\n`);
        return path;
      });
      const { code, records } = await place.tacho(['import', agent, ...files, '--json']);
      expect([code, ...records.map((row) => row.state)]).toEqual([
        0,
        ...TIMES.map(() => 'imported'),
      ]);
      for (const { run_id } of records) {
        const { stdout } = await place.tacho(['runs', 'show', run_id, '--json']);
        const { metrics, completeness } = JSON.parse(stdout);
        expect([metrics.start_time_ms, completeness.gaps]).toEqual([
          null,
          expect.arrayContaining([expect.stringMatching(/^figure_invalid:/)]),
        ]);
      }
    }
    const rows = (await place.tacho(['runs', 'list', '--json'])).records;
    expect(rows.length).toBe(1 + Object.keys(SESSIONS).length * TIMES.length);
    expect(rows[0]).toEqual(real[0]);
    await listed();
  },
  120_000,
);

verifies('ST-1', 'stored times outside every calendar are shown as unknown', async () => {
  await place.tacho(['run', '--agent', 'demo', 'try it', '--', '--speed', '0']);
  const index = new DatabaseSync(join(place.state, 'tacho.db'));
  index.exec('UPDATE runs SET started_ms = 9000000000000000');
  index.close();
  await listed();
  expect((await place.tacho(['runs', 'list'])).stdout).toMatch(/^\w{10} {2}- +demo .* - +\$/m);
  const [{ run_id }] = (await place.tacho(['runs', 'list', '--json'])).records;
  const path = join(place.state, 'transcripts/demo', `${run_id}.transcript.jsonl`);
  const kept = readFileSync(path, 'utf8');
  writeFileSync(path, kept.replaceAll(/("\w+_time_ms":)\d+/g, '$19000000000000000'));
  expect(readFileSync(path, 'utf8')).not.toBe(kept);
  expect((await place.tacho(['show', path, '--no-pager'])).code).toBe(0);
});
