/**
 * Runs git read-only. Contract: nothing in the repository is written, nothing is fetched, and no program named in a
 * configuration is run, be it a hook, filter or transport. A repository from an archive brings its own `.git/config`.
 */
import { spawn } from 'node:child_process';

export interface GitRun {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Further options before the command. */
  settings?: readonly string[];
  /** Ends git when it fires. */
  signal: AbortSignal;
  output_bytes_max: number;
}

export type GitResult = { ok: true; output: Buffer } | { ok: false; why: GitFailure };
export type GitFailure = 'failed' | 'missing' | 'too_much' | 'timed_out';

/** Settings with fixed names that run programs, or that let an embedded folder pass for a repository. */
const SAFE = [
  '--no-pager',
  '--no-optional-locks',
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'core.sshCommand=false',
    'core.gitProxy=',
    'credential.helper=',
    'diff.external=',
    'protocol.allow=never',
    'safe.bareRepository=explicit',
  ].flatMap((setting) => ['-c', setting]),
];

/** Settings with names chosen by the repository that `status` would run. */
const PROGRAM_KEY = /^filter\..*\.(?:clean|smudge|process)$/s;
/** Names that fit unquoted on git's command line, which takes about 100 kB per argument and 1 MB in total. */
const SAYABLE = /^[\x20-\x3c\x3e-\x7e]{1,1000}$/;
const FILTERS_MAX = 100;

/** GIT_DIR, GIT_INDEX_FILE and similar variables would make git inspect another tree than the folder's. */
function cleanEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('GIT_'));
  const set = {
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    // A missing object would be fetched, using programs and places that the repository names.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    LC_ALL: 'C',
  };
  return { ...Object.fromEntries(kept), ...set };
}

/** The names of all settings. Null if they cannot be listed. */
export async function listConfig(run: GitRun): Promise<string[] | null> {
  const listed = await runGit(['config', '--list', '-z', '--name-only'], run);
  return listed.ok ? listed.output.toString('latin1').split('\0') : null;
}

/**
 * Options that disable the filters of the configuration, which git would run on files that look changed. Null if a
 * name cannot be passed on the command line or there are too many: such a tree is not inspected.
 */
export function withoutFilters(config: readonly string[]): string[] | null {
  const programs = new Set(config.filter((key) => PROGRAM_KEY.test(key)));
  const filters = new Set([...programs].map((key) => key.slice(0, key.lastIndexOf('.'))));
  if (filters.size > FILTERS_MAX || [...filters].some((name) => !SAYABLE.test(name))) return null;
  return [...filters].flatMap((name) => [
    ...['clean', 'smudge', 'process'].flatMap((what) => ['-c', `${name}.${what}=`]),
    '-c',
    `${name}.required=false`,
  ]);
}

export function runGit(args: readonly string[], run: GitRun): Promise<GitResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let why: GitFailure = 'failed';
    const child = spawn('git', [...SAFE, ...(run.settings ?? []), ...args], {
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
