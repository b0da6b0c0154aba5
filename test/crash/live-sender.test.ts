/** kill -9 of a sender at random moments: everything in its outbox arrives, once and in order (LP-8). */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { seededRandom } from '../../src/lib/ids.ts';
import { ChaosProxy } from '../chaos-proxy.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { Writers } from '../live-writers.ts';
import { startServe, storedIn } from '../serve-process.ts';

const CYCLES = 50;

verifies(
  ['LP-7', 'LP-8'],
  'a sender killed a hundred times at random moments loses nothing and delivers nothing twice',
  async () => {
    const folder = testFolder();
    const state = join(folder, 'state');
    const serving = await startServe(state);
    // Connections are lost as well, so resent messages are not only those of a predecessor.
    const proxy = new ChaosProxy({
      ...{ seed: 'live-sender', to: serving.url.replace('unix:', ''), fates: ['close'] },
      ...{ bytes_max: 400_000, delay_ms_max: 0 },
    });
    const url = await proxy.listen(join(folder, 'p'));
    const random = seededRandom('live-sender');
    const chains = ['one', 'two'].map((name) => new Writers(name, folder, url));
    await Promise.all(chains.map((chain) => chain.killed(CYCLES, random)));
    expect(await serving.end('SIGTERM')).toBe(0);
    const stored = await storedIn(state);
    for (const chain of chains) chain.compareWith(stored);
    expect(readdirSync(join(folder, 'outbox'))).toEqual([]);
  },
);
