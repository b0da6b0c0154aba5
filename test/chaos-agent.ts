/**
 * The chaos agent (test/fixtures/agent) replaces the demo agent's own program: it uses the same format and
 * plays scripts in which everything can go wrong.
 */
import { chmodSync, renameSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = join(import.meta.dirname, 'fixtures/agent');

/** The built program. */
export const chaosAgent = join(folder, 'dist/agent.mjs');

/** Flags of `tacho run`. */
export const CHAOS: readonly string[] = ['--agent', 'demo', '--command', chaosAgent];

/** Arguments of the agent: a script by its name or path, without pauses. */
export const played = (script: string): string[] => ['--speed', '0', '--script', script];

/** Options for a library run. */
export const chaosRun = ({ work, state }: { work: string; state: string }, script: string) => ({
  agent: 'demo',
  prompt: 'please',
  cwd: work,
  stateDir: state,
  env: { TACHO_HOME: state },
  command: [chaosAgent],
  args: played(script),
});

/** System tests start it hundreds of times, and a bundle starts in less than half the time of the sources. */
export default async function buildChaosAgent(): Promise<void> {
  const { build } = await import('esbuild');
  const made = `${chaosAgent}.${process.pid}`;
  await build({
    entryPoints: [join(folder, 'main.ts')],
    outfile: made,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    logLevel: 'warning',
    // Its CommonJS form requires `process`, which is not possible in a module.
    alias: { yaml: join(root, 'node_modules/yaml/browser/index.js') },
  });
  chmodSync(made, 0o755);
  renameSync(made, chaosAgent);
}
