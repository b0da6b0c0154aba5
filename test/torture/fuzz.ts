/**
 * Tries fuzz inputs in a separate process, which can be killed when an input hangs or exhausts memory:
 *   node test/torture/fuzz.ts --seed N [--from I] [--count N] [--seconds S] [--progress FILE] [--target NAME]
 * Prints one line of JSON per finding, and the number of inputs at the end.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { captureTarget } from './fuzz-capture.ts';
import { fileTargets } from './fuzz-files.ts';
import type { FuzzInput, FuzzTarget } from './fuzz-target.ts';
import { TORTURE_FOLDER } from './inject.ts';
import { DEFAULT_SEED, Random, seedOf } from './random.ts';

/** Most inputs are for capture; the others need files and take longer. */
const CAPTURE_SHARE = 0.9;
/** CPU time: the machine may have other work. */
const LIMIT_MS = 1_500;
const LIMIT_MS_PER_KB = 15;
const SMALLER_TRIES = 150;
const SMALLER_MS = 4_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(DEFAULT_SEED) },
    from: { type: 'string', default: '0' },
    count: { type: 'string', default: '1000000000' },
    seconds: { type: 'string', default: '1000000000' },
    progress: { type: 'string' },
    target: { type: 'string' },
  },
});
const seed = Number(values.seed);

async function faultsOf(input: FuzzInput, bytes: Buffer): Promise<string[]> {
  const before = process.cpuUsage();
  try {
    const faults = await input.check(bytes);
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1000;
    if (ms > LIMIT_MS + (bytes.length / 1024) * LIMIT_MS_PER_KB)
      faults.push(`takes ${Math.round(ms)} ms for ${bytes.length} bytes`);
    return faults;
  } catch (error) {
    return [`throws ${(error as Error).stack ?? error}`];
  }
}

/** Without numbers and ids, to recognise the same fault in another input. */
const kindOf = (fault: string | undefined) =>
  (fault ?? '').replaceAll(/[\d.:]+/g, '#').slice(0, 60);

/** A smaller input with the same first fault, found by removing lines. */
async function smaller(input: FuzzInput, faults: readonly string[]): Promise<Buffer> {
  const kind = kindOf(faults[0]);
  const end = performance.now() + SMALLER_MS;
  let lines = input.bytes.toString('latin1').split(/(?<=\n)/);
  let tries = 0;
  for (let size = lines.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < lines.length; ) {
      if (tries++ > SMALLER_TRIES || performance.now() > end)
        return Buffer.from(lines.join(''), 'latin1');
      const fewer = [...lines.slice(0, at), ...lines.slice(at + size)];
      const [fault] = await faultsOf(input, Buffer.from(fewer.join(''), 'latin1'));
      if (kindOf(fault) === kind) lines = fewer;
      else at += size;
    }
  }
  return Buffer.from(lines.join(''), 'latin1');
}

async function report(index: number, target: string, input: FuzzInput, faults: string[]) {
  const bytes = await smaller(input, faults);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  const folder = join(TORTURE_FOLDER, 'findings');
  mkdirSync(folder, { recursive: true });
  const saved = join(folder, `${target}-${input.about.replaceAll(/\W+/g, '-')}-${hash}`);
  writeFileSync(saved, bytes);
  const name = `fuzz:${seed}:${index}`;
  console.log(JSON.stringify({ name, target, about: input.about, faults, saved }));
}

const all: FuzzTarget[] = [await captureTarget(), ...(await fileTargets())];
const targets = all.filter(({ name }) => values.target === undefined || name === values.target);
const progress = values.progress === undefined ? null : openSync(values.progress, 'w');
const counts = new Map<string, number>();
let last_fault: unknown = null;
// A Node warning would go to stderr, with foreign text in it.
process.removeAllListeners('warning');
for (const event of ['uncaughtException', 'unhandledRejection', 'warning'])
  process.on(event, (error: Error) => {
    if (error?.name !== 'ExperimentalWarning') last_fault = error;
  });

/** Errors and warnings in the background have been reported after it. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

const end = performance.now() + Number(values.seconds) * 1000;
const from = Number(values.from);
for (let index = from; index < from + Number(values.count) && performance.now() < end; index++) {
  if (progress !== null) writeSync(progress, String(index).padEnd(12), 0);
  const random = new Random(seedOf(seed, index));
  const others = targets.slice(1);
  const first = targets[0] as FuzzTarget;
  const target = others.length === 0 || random.is(CAPTURE_SHARE) ? first : random.pick(others);
  const input = target.make(random);
  await turn();
  last_fault = null;
  const faults = await faultsOf(input, input.bytes);
  await turn();
  if (last_fault !== null) faults.push(`throws later: ${(last_fault as Error).stack}`);
  counts.set(target.name, (counts.get(target.name) ?? 0) + 1);
  if (faults.length > 0) await report(index, target.name, input, faults);
}
for (const target of all) await target.close();
console.log(JSON.stringify({ inputs: Object.fromEntries(counts) }));
