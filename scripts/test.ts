// Run by `npm test` after the set-up: lint and format, types, unused code, unit tests, system tests; then a summary.
// Arguments are passed to vitest: `npm test -- src/store`.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules', '.bin');
const folder = mkdtempSync(join(tmpdir(), 'tacho-test-'));
/** Tests append a line here when this machine lacks something they need. */
const notes = join(folder, 'notes');
const args = process.argv.slice(2);
type Step = [command: string, parameters: string[]];
const vitest = (project: string): Step => [
  'vitest',
  ['run', '--project', project, ...(args.length > 0 ? ['--passWithNoTests', ...args] : [])],
];

const STEPS: Record<string, Step> = {
  'lint and format': ['biome', ['ci']],
  types: ['tsc', ['--noEmit']],
  'unused code': ['knip', ['--no-progress']],
  'unit tests': vitest('unit'),
  'system tests': vitest('system'),
};

const env = {
  ...process.env,
  PATH: `${bin}${delimiter}${process.env.PATH}`,
  TACHO_TEST_NOTES: notes,
};
let running: ChildProcess | null = null;
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stopped = true;
    running?.kill(signal);
  });
}

/** The reason for the failure; null when the step passed. */
function run([command, parameters]: Step): Promise<string | null> {
  return new Promise((resolve) => {
    running = spawn(join(bin, command), parameters, { cwd: root, stdio: 'inherit', env });
    running.on('error', (error) => resolve(`cannot run ${command}: ${error.message}`));
    running.on('exit', (code, signal) =>
      resolve(code === 0 ? null : (signal ?? `exit code ${code}`)),
    );
  });
}

const lines: string[] = [];
let failed = 0;
for (const [name, step] of Object.entries(STEPS)) {
  if (stopped) break;
  process.stdout.write(`\n── ${name}\n`);
  const start = performance.now();
  const reason = await run(step);
  const seconds = ((performance.now() - start) / 1000).toFixed(1).padStart(6);
  if (reason !== null) failed += 1;
  lines.push(
    `  ${reason === null ? 'passed' : 'FAILED'}  ${name.padEnd(16)} ${seconds} s${reason === null ? '' : `  (${reason})`}`,
  );
}

const skipped = existsSync(notes)
  ? [...new Set(readFileSync(notes, 'utf8').split('\n').filter(Boolean))]
  : [];
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`\n── summary\n${lines.join('\n')}\n`);
if (skipped.length > 0) {
  process.stdout.write(
    `\n  Skipped on this machine:\n${skipped.map((line) => `  - ${line}\n`).join('')}`,
  );
}
if (stopped) process.stdout.write('\n  Stopped before all steps had run.\n');
process.exitCode = failed > 0 || stopped ? 1 : 0;
