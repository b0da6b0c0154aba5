/** How much does starting cost? `tacho --help` beside a bare `node -e 0`. */
import { join } from 'node:path';
import { bestCpu, type Row } from './measure.ts';

const TURNS = 15;
const MOST = 1.6;

export function run(): Row[] {
  const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
  const [help, bare] = bestCpu(
    TURNS,
    [process.execPath, tacho, '--help'],
    [process.execPath, '-e', '0'],
  );
  const ratio = help / bare;
  return [
    {
      name: '`tacho --help`, CPU, beside `node -e 0`',
      value: `${(help * 1000).toFixed(0)} ms`,
      reference: `${(bare * 1000).toFixed(0)} ms`,
      ratio,
      target: `≤ ${MOST} ×`,
      ok: ratio <= MOST,
    },
  ];
}
