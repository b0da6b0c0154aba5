/**
 * Time from an agent's write to the record on stdout, compared with the minimum: a process that watches the file of the
 * agent, reads new bytes, writes them to a file, makes them durable and writes them to its stdout.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLines } from '../src/lib/lines.ts';
import type { Row } from './measure.ts';

// The target in tacho.yaml is written by this benchmark, so it can be trusted.
process.env.TACHO_TRUST = '1';

const CALLS = 300;
const PAUSE_MS = 10;
const TURNS = 3;
const OVER_MOST_MS = 0.6;

/** Prints calls of the demo dialect that contain the time at which they were written. */
const TALKER = `
const say = (record) => process.stdout.write(JSON.stringify(record) + '\\n');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
say({ t: 'hello', session: 'demo-latency', version: '1.0.0', model: 'demo-1' });
say({ t: 'turn', id: 'turn-1' });
for (let i = 0; i < ${CALLS}; i++) {
  await sleep(${PAUSE_MS});
  say({ t: 'call', id: 'c' + i, tool: 'run', input: { cmd: 'true', at: performance.timeOrigin + performance.now() } });
}
say({ t: 'end', reason: 'ok' });
`;

/** Starts the talker with a file as its stdout, and forwards its output once it is durable. */
const PASSER = `
import { spawn } from 'node:child_process';
import { closeSync, fdatasync, openSync, read, watch, write } from 'node:fs';
import { promisify } from 'node:util';
const [talker, path] = process.argv.slice(2);
const [readSome, writeSome, sync] = [promisify(read), promisify(write), promisify(fdatasync)];
const out = openSync(path, 'a');
const [from, to] = [openSync(path, 'r'), openSync(path + '.copy', 'a')];
const bytes = Buffer.allocUnsafe(65536);
let [position, ended, wake] = [0, false, () => {}];
watch(path, { persistent: false }, () => wake());
spawn(process.execPath, [talker], { stdio: ['ignore', out, 'inherit'] }).on('exit', () => {
  ended = true;
  wake();
});
closeSync(out);
for (;;) {
  const changed = new Promise((resolve) => (wake = resolve));
  const { bytesRead } = await readSome(from, bytes, 0, bytes.length, position);
  if (bytesRead === 0 && ended) break;
  if (bytesRead === 0) {
    await changed;
    continue;
  }
  position += bytesRead;
  await writeSome(to, bytes, 0, bytesRead);
  await sync(to);
  await writeSome(1, bytes, 0, bytesRead);
}
`;

function delays(child: ChildProcess, timeOf: (line: string) => number | null): Promise<number[]> {
  const found: number[] = [];
  const lines = createLines({
    line(bytes, start, end) {
      const now = performance.timeOrigin + performance.now();
      const at = timeOf(bytes.toString('utf8', start, end));
      if (at !== null) found.push(now - at);
    },
    oversize() {},
  });
  child.stdout?.on('data', (chunk: Buffer) => lines.push(chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => {
      if (found.length !== CALLS) reject(new Error(`${found.length} of ${CALLS} calls arrived`));
      else resolve(found.sort((a, b) => a - b));
    });
  });
}

const at = (sorted: number[], share: number) =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN;

/** The quietest of several rounds. */
const least = (turns: readonly number[][], share: number) =>
  Math.min(...turns.map((turn) => at(turn, share)));

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-bench-'));
  try {
    const [talker, passer] = [join(folder, 'talker.mjs'), join(folder, 'passer.mjs')];
    writeFileSync(talker, TALKER);
    writeFileSync(passer, PASSER);
    writeFileSync(
      join(folder, 'tacho.yaml'),
      `targets: { talker: { agent: demo, command: ["${process.execPath}", "${talker}"] } }\n`,
    );
    const tacho = join(import.meta.dirname, '..', 'bin', 'tacho.cjs');
    const start = (...args: string[]) =>
      spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
    const passed: number[][] = [];
    const recorded: number[][] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const copy = start(passer, talker, join(folder, `passed-${turn}`));
      passed.push(await delays(copy, (line) => JSON.parse(line).input?.at ?? null));
      const run = start(tacho, 'run', '--target', 'talker', '--output', 'json', 'go');
      recorded.push(
        await delays(run, (line) => {
          const { type, data } = JSON.parse(line);
          return type === 'tool_call_detected' ? JSON.parse(data.input_preview).at : null;
        }),
      );
    }
    const [p50, p95] = [least(recorded, 0.5), least(recorded, 0.95)];
    const [bare50, bare95] = [least(passed, 0.5), least(passed, 0.95)];
    const over = p95 - bare95;
    return [
      {
        name: `agent's write → durable → record on stdout, p95 of ${CALLS}, best of ${TURNS} (p50 ${p50.toFixed(2)} ms, ${bare50.toFixed(2)} ms), vs. watch + write + fdatasync + pipe: ${over.toFixed(2)} ms more`,
        value: `${p95.toFixed(2)} ms`,
        reference: `${bare95.toFixed(2)} ms`,
        ratio: p95 / bare95,
        target: `≤ ${OVER_MOST_MS} ms more`,
        ok: over <= OVER_MOST_MS,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
