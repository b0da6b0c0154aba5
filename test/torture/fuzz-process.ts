/** Runs the fuzzer in a separate process, and kills it when an input hangs. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FUZZ = join(import.meta.dirname, 'fuzz.ts');
/** An input takes milliseconds; reducing it takes seconds. */
const HANG_MS = 60_000;
const MEMORY_MB = 1_500;

export interface Finding {
  /** To repeat it: `npm run torture -- --case NAME`. */
  name: string;
  about: string;
  faults: string[];
}

export interface Fuzzed {
  findings: Finding[];
  /** Number of inputs per target. */
  inputs: Record<string, number>;
}

const running = new Set<() => void>();

/** When the whole program is stopped. */
export function endFuzzers(): void {
  for (const stop of running) stop();
}

export interface FuzzOptions {
  seed: number;
  from?: number;
  count?: number;
  seconds?: number;
}

export async function fuzz({ seed, from = 0, ...options }: FuzzOptions): Promise<Fuzzed> {
  const folder = mkdtempSync(join(tmpdir(), 'tacho-torture-'));
  const progress = join(folder, 'progress');
  const limits = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const args = ['--seed', String(seed), '--from', String(from), '--progress', progress, ...limits];
  const child = spawn(process.execPath, [`--max-old-space-size=${MEMORY_MB}`, FUZZ, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Files written outside its own folder are removed with this one.
    env: { ...process.env, TMPDIR: folder },
  });
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  const end = () => void child.kill('SIGKILL');
  const stop = () => {
    end();
    remove();
  };
  running.add(stop);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const read = () => {
    try {
      return readFileSync(progress, 'utf8').trim();
    } catch {
      return '';
    }
  };
  let [last, since, hung] = ['', performance.now(), false];
  const watch = setInterval(() => {
    const now = read();
    if (now !== last) [last, since] = [now, performance.now()];
    else if (performance.now() - since > HANG_MS) {
      hung = true;
      end();
    }
  }, 500);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearInterval(watch);
  running.delete(stop);
  const index = read() || String(from);
  remove();
  const fuzzed = readOutput(stdout);
  if (code !== 0) {
    const why = hung ? `hangs for ${HANG_MS} ms` : `crashes the process (${code}): ${stderr}`;
    fuzzed.findings.push({ name: `fuzz:${seed}:${index}`, about: 'process', faults: [why] });
  }
  return fuzzed;
}

function readOutput(stdout: string): Fuzzed {
  const fuzzed: Fuzzed = { findings: [], inputs: {} };
  for (const line of stdout.split('\n').filter((text) => text.startsWith('{'))) {
    const value = JSON.parse(line);
    if (value.inputs !== undefined) fuzzed.inputs = value.inputs;
    else fuzzed.findings.push({ ...value, about: `${value.about}, saved as ${value.saved}` });
  }
  return fuzzed;
}
