/** Runs git for looking only: nothing in the repository is written and none of its hooks is run. */
import { spawn } from 'node:child_process';

export interface GitRun {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Ends git when it fires. */
  signal: AbortSignal;
  output_bytes_max: number;
}

export type GitResult = { ok: true; output: Buffer } | { ok: false; why: GitFailure };
export type GitFailure = 'failed' | 'missing' | 'too_much' | 'timed_out';

/** A repository's own configuration may name programs to be run; these would be, by `status`. */
const SAFE = [
  '--no-optional-locks',
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.hooksPath=/dev/null',
];

/** GIT_DIR, GIT_INDEX_FILE and the like would make git look at another tree than the folder's. */
function cleanEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('GIT_'));
  const set = { GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
  return { ...Object.fromEntries(kept), ...set };
}

export function runGit(args: readonly string[], run: GitRun): Promise<GitResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let why: GitFailure = 'failed';
    const child = spawn('git', [...SAFE, ...args], {
      cwd: run.cwd,
      env: cleanEnv(run.env),
      stdio: ['ignore', 'pipe', 'ignore'],
      signal: run.signal,
      killSignal: 'SIGKILL',
    });
    child.on('error', (cause) => {
      why = run.signal.aborted ? 'timed_out' : 'missing';
      if ((cause as NodeJS.ErrnoException).syscall !== undefined) resolve({ ok: false, why });
    });
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= run.output_bytes_max) return chunks.push(chunk);
      why = 'too_much';
      return child.kill('SIGKILL');
    });
    child.on('close', (code) => {
      if (code === 0) resolve({ ok: true, output: Buffer.concat(chunks) });
      else resolve({ ok: false, why });
    });
  });
}
