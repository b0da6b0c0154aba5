/** kill -9 of a sender at any moment: what was in its outbox arrives, once and in order (LP-8). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { seededRandom } from '../../src/lib/ids.ts';
import { until } from '../e2e/cli.ts';
import { verifies } from '../e2e/verifies.ts';
import { testFolder } from '../fixtures/folder.ts';
import { ToyCollector } from '../toy-collector.ts';

const WRITER = join(import.meta.dirname, '..', 'fixtures', 'live-writer.ts');
const CYCLES = 50;

verifies(
  ['LP-7', 'LP-8'],
  'a sender killed a hundred times at random moments loses nothing, and nothing comes twice',
  async () => {
    const folder = testFolder();
    const toy = new ToyCollector();
    toy.behaviour.cut_after = 400;
    const url = await toy.listen(join(folder, 'c'));
    const outbox = join(folder, 'outbox');
    const random = seededRandom('live-sender');

    async function chain(session: string): Promise<void> {
      const answers = join(folder, session);
      const start = (...more: string[]) => {
        const out = openSync(answers, 'a');
        const child = spawn(process.execPath, [WRITER, url, outbox, session, ...more], {
          stdio: ['ignore', out, 'inherit'],
          // Compiled once for all of them.
          env: { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') },
        });
        closeSync(out);
        return { child, ended: once(child, 'exit') };
      };
      const said = () => readFileSync(answers, 'utf8').length;
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        const { child, ended } = start();
        const [wait = 0, early = 0] = random(2);
        const before = said();
        // One in four at any moment since its start, the others in the middle of their work.
        if (early >= 64) await until(() => said() > before, 'its first words');
        await sleep(wait / 10);
        child.kill('SIGKILL');
        expect((await ended)[1]).toBe('SIGKILL');
      }
      const [code] = await start('1').ended;
      expect(code).toBe(0);
      const numbers = readFileSync(answers, 'utf8').trim().split('\n').map(Number);
      // A number that is given twice would be one whose first message is lost.
      expect(numbers.filter((seq, i) => seq <= (numbers[i - 1] ?? 0))).toEqual([]);
      const stored = toy.messages(session);
      expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, i) => i + 1));
      expect(stored.length).toBe((numbers.at(-1) ?? 0) + 1);
      expect(stored.at(-1).type).toBe('session_end');
      const wrong = stored
        .slice(0, -1)
        .filter(({ seq, data }) => data.delta.length !== (seq * 37) % 500);
      expect(wrong).toEqual([]);
    }

    await Promise.all(['one', 'two'].map(chain));
    expect(readdirSync(outbox)).toEqual([]);
  },
);
