/**
 * A sandbox for real agents: its own network with loopback only, its own processes, its own mounts that hide the
 * user's home and machine-wide settings for the agent, and an environment that starts empty.
 * Linux only; `enter.sh` does the inside part.
 */
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

interface Limits {
  limit_ms: number;
  /** Ends all processes inside. */
  stop: AbortSignal;
}

export interface Sandbox extends Limits {
  /** Mounted as /mnt/tacho, read-only. */
  project: string;
  /** The agent's installation, mounted as /mnt/cli, read-only; its program is linked into /mnt/bin. */
  cli: string;
  program: string;
  /** The only writable place, mounted as /mnt/room. */
  room: string;
  /** Paths of the machine that are hidden in addition to the home. */
  hide: readonly string[];
}

export interface Left {
  /** null: ended by the limit or by `stop`, or never started. */
  code: number | null;
  stderr: string;
}

/** The agent's user inside: not root, because some agents refuse to work as root without asking. */
export const INSIDE_UID = 1001;

const STDERR_CHARS_MAX = 16 * 1024;
const PROBE_LIMIT_MS = 10_000;
const IS_ROOT = process.getuid?.() === 0;
const NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
const AS_ROOT = IS_ROOT ? [] : ['--user', '--map-root-user'];
const BARE_ENV = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };

/** Why a sandbox is not possible here; null: it is. */
export async function whyNoSandbox(stop: AbortSignal): Promise<string | null> {
  if (process.platform !== 'linux') return `namespaces are Linux's, this is ${process.platform}`;
  const command = ['sh', '-c', 'mount -t tmpfs tmpfs /mnt'];
  const tried = await unshare(command, { limit_ms: PROBE_LIMIT_MS, stop });
  return tried.code === 0 ? null : tried.stderr || 'unshare failed';
}

/** Runs `command`, with paths as seen inside, until it ends or the time limit is reached. */
export function enter(sandbox: Sandbox, command: readonly string[]): Promise<Left> {
  const hide = [homedir(), ...sandbox.hide].filter((path) => path !== '/' && path !== '');
  const script = join(sandbox.project, 'rehearsal', 'enter.sh');
  const { project, cli, program, room } = sandbox;
  const drop = IS_ROOT ? 'setpriv' : 'unshare';
  const places = [project, process.execPath, cli, program, room, hide.join('\n'), drop];
  return unshare(['sh', script, ...places, ...command], sandbox);
}

function unshare(command: readonly string[], limits: Limits): Promise<Left> {
  return new Promise((resolve) => {
    // Killing `unshare` ends its pid 1 and everything inside. A gentler signal would be blocked.
    const child = spawn('unshare', [...AS_ROOT, ...NAMESPACES, '--', ...command], {
      env: BARE_ENV,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: limits.limit_ms,
      signal: limits.stop,
      killSignal: 'SIGKILL',
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_CHARS_MAX);
    });
    child.on('error', (cause) => {
      stderr += `unshare: ${cause.message}`;
    });
    child.on('close', (code) => resolve({ code, stderr: stderr.trim() }));
  });
}
