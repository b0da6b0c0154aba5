/** kill -9 of the collector at random moments, with a client that resends unacknowledged messages (LP-9). */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { seededRandom } from '../../src/lib/ids.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { connectSocket, isType, type LiveClient, request } from '../live-client.ts';
import { startServe, storedIn } from '../serve-process.ts';

const CYCLES = 100;
const SESSIONS = ['a', 'b', 'c'];
const BURST = 200;

/** The same bytes each time it is sent. */
const line = (session: string, seq: number) =>
  JSON.stringify({ ...request(session, seq), timestamp: '2026-03-03T10:00:00.000Z' });

/** Resumes every session and sends a burst for each, interleaved; returns where each began. */
async function sendBurst(client: LiveClient): Promise<Map<string, number>> {
  const begun = new Map<string, number>();
  for (const session_id of SESSIONS) {
    const { data } = await client.handshake({ resume: { session_id, last_seq: 0 } });
    begun.set(session_id, data.resume_from_seq);
  }
  for (let i = 0; i < BURST; i++) {
    client.send(SESSIONS.map((id) => `${line(id, (begun.get(id) as number) + i)}\n`).join(''));
    if (i % 20 === 19) await new Promise((done) => setImmediate(done));
  }
  return begun;
}

function noteAcks(client: LiveClient, acked: Map<string, number>): void {
  for (const { data } of client.received.filter(isType('ack')))
    for (const { session_id, seq } of data.acked)
      acked.set(session_id, Math.max(seq, acked.get(session_id) as number));
}

verifies(
  ['LP-9', 'LP-7'],
  `${CYCLES} kills of the collector lose no acknowledged message, store none twice and none out of order`,
  async () => {
    const folder = testFolder();
    const state = join(folder, 'state');
    const socket = join(state, 'live/collector.sock');
    const random = seededRandom('collector');
    const acked = new Map(SESSIONS.map((id) => [id, 0]));
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      const serving = await startServe(state);
      const client = await connectSocket({ path: socket });
      const early = cycle % 5 === 0;
      const work = sendBurst(client).then((begun) => {
        for (const [id, seq] of begun) expect(seq).toBeGreaterThan(acked.get(id) as number);
      });
      // Some are killed during the handshake, the others later.
      if (!early) await Promise.all([work, client.wait(isType('ack'))]);
      await sleep((random(1)[0] as number) / 12);
      const gone = serving.end('SIGKILL');
      await Promise.all([gone, client.closed, early ? work.catch(lostConnection) : null]);
      noteAcks(client, acked);
      client.destroy();
    }
    const stored = await storedIn(state);
    expect([...stored.keys()].sort()).toEqual(SESSIONS);
    for (const [id, bodies] of stored) {
      expect(bodies.length).toBeGreaterThanOrEqual(acked.get(id) as number);
      expect(bodies).toEqual(bodies.map((_, i) => line(id, i + 1)));
    }
    expect(Math.min(...acked.values())).toBeGreaterThan(CYCLES * 5);
  },
  600_000,
);

/** The only failure that a kill may cause. */
function lostConnection(error: Error): void {
  expect(error.message).toMatch(/timed out waiting for the answer to the handshake/);
}
